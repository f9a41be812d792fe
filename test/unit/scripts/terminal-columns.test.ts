/** Wide characters in tables and lines. */
import { expect, test } from "vitest";
import { table } from "../../../scripts/table.ts";
import { fitting } from "../../../scripts/terminal-columns.ts";

test.each([
  ["天気", 4, "天…"],
  ["ﾃﾝｷ", 3, "ﾃﾝｷ"],
  ["e\u0301te\u0301 long", 8, "e\u0301t…"],
  ["👩‍👩‍👧👍", 4, "👩‍👩‍👧…"],
  ["한국어", 6, "한…"],
])("%s takes as many columns as a terminal gives it", (text, columns, cut) => {
  expect(
    table([
      ["X", "Y"],
      [text, "c"],
    ]).split("\n")[0],
  ).toBe(`X${" ".repeat(columns + 1)}Y`);
  expect(fitting(text, 3)).toBe(cut);
});
