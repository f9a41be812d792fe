import { expect, test } from "vitest";
import { duration, folded, money, pretty } from "../../../src/console/text.ts";

test.each([
  [0, "0 ms"],
  [999.6, "1.00 s"],
  [9_996, "10.0 s"],
  [59_960, "1 min 0 s"],
  [119_600, "2 min 0 s"],
  [3_599_600, "1 h 0 min"],
  [7_199_000, "2 h 0 min"],
  [null, "–"],
])("%s ms are shown as %s", (ms, shown) => expect(duration(ms)).toBe(shown));

test.each([
  [0, "$0"],
  [0.000_01, "< $0.0001"],
  [0.000_05, "$0.0001"],
  [0.25, "$0.2500"],
  [12.345, "$12.35"],
])("%s US dollars are shown as %s", (usd, shown) => expect(money(usd)).toBe(shown));

test.each([
  [{ name: "invoice\u202efdp.exe" }, '{\n  "name": "invoice\\u202efdp.exe"\n}'],
  [["a\u200bb", "\u{e0041}"], '[\n  "a\\u200bb",\n  "\\udb40\\udc41"\n]'],
  [{ ok: "שלום 👩‍👧 می‌روم" }, '{\n  "ok": "שלום 👩‍👧 می‌روم"\n}'],
  ["text\u202e", "text\u202e"],
])("JSON shows the characters of %j that change or hide text as escapes", (value, shown) => {
  expect(pretty(value)).toBe(shown);
  if (typeof value !== "string") expect(JSON.parse(shown)).toEqual(value);
});

test("a folded text may read from right to left, JSON never", () => {
  expect(String(folded("a", "text"))).toContain('<pre tabindex="0" dir="auto">text</pre>');
  expect(String(folded("a", { b: 1 }))).toContain('<pre tabindex="0">{');
});
