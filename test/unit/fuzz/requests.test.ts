/** Paths, conditions and ranges of any kind (RFC 9110 §13, §14). */

import { expect, test } from "vitest";
import { noneMatch, requestedRange, sliceStream } from "../../../src/http/conditional.ts";
import { NO_PATH, routePath } from "../../../src/http/path.ts";
import { join } from "../../support/chunks.ts";
import { anyText, fc, webPath } from "../../support/property.ts";

const ORIGIN = "http://localhost:3000";
const path = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "/",
        "//",
        "%",
        "%2",
        "%2f",
        "%2F",
        "%25",
        "%41",
        "%7e",
        "%%34%31",
        ".",
        "..",
        "%2e%2E",
        ";",
      ),
      fc.constantFrom("?", "#", "a", "skills", "@", ":", "\\", "é", "%C3%A9", "%ff", "%00", "+", " "),
      webPath,
      anyText({ maxLength: 4 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => `/${parts.join("")}`);

test("a path is normalised once and for all, and // matches nothing", () => {
  const seen = { none: 0, path: 0 };
  fc.assert(
    fc.property(path, (text) => {
      fc.pre(URL.canParse(text, ORIGIN));
      const { href } = new URL(ORIGIN + text);
      const route = routePath(href);
      expect(route.startsWith("/")).toBe(true);
      expect(route).not.toMatch(/[?#]/);
      expect(routePath(ORIGIN + route)).toBe(route);
      seen[route === NO_PATH ? "none" : "path"]++;
      if (route === NO_PATH) return;
      expect(route).not.toContain("//");
      expect(route === "/" || !route.endsWith("/")).toBe(true);
      expect(routePath(`${ORIGIN}${route}?x=/#/`)).toBe(route);
    }),
    { numRuns: 2000 },
  );
  expect(Math.min(seen.none, seen.path)).toBeGreaterThan(100);
});

test("unreserved characters mean the same encoded and plain, reserved ones do not", () => {
  const unreserved = [..."abcXYZ019-._~"];
  const reserved = [..."/?#%:;=&+ "];
  const hex = (c: string, upper: boolean) => {
    const text = `%${c.charCodeAt(0).toString(16).padStart(2, "0")}`;
    return upper ? text.toUpperCase() : text;
  };
  const characters = fc.array(fc.tuple(fc.constantFrom(...unreserved), fc.boolean(), fc.boolean()), {
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(characters, fc.constantFrom(...reserved), (picked, other) => {
      const plain = picked.map(([c]) => c).join("");
      const mixed = picked.map(([c, encode, upper]) => (encode ? hex(c, upper) : c)).join("");
      expect(routePath(`${ORIGIN}/skills/s${mixed}`)).toBe(`/skills/s${plain}`);
      expect(routePath(`${ORIGIN}/skills/s${hex(other, true)}${plain}`)).toContain(hex(other, true));
    }),
    { numRuns: 300 },
  );
});

const request = (name: string, text: string): Request => {
  const sent = new Request(ORIGIN);
  // A server may get any visible ASCII, blanks and bytes above.
  sent.headers.set(name, text);
  return sent;
};
const headerText = (words: string[]) =>
  fc
    .array(fc.oneof(fc.constantFrom(...words), fc.stringMatching(/^[\x20-\x7e]{0,4}$/)), { maxLength: 6 })
    .map((parts) => parts.join(""));

test("a range within the file is sent; anything else is the whole file or 416", async () => {
  const words = ["bytes=", "bytes", "=", "-", ",", "0", "1", "99", "9".repeat(30), "1e3", " "];
  const spec = fc.oneof(
    headerText(words),
    fc
      .tuple(
        fc.constantFrom("", "0", "3", "9", "10", "9".repeat(20)),
        fc.constantFrom("", "0", "5", "9", "99"),
      )
      .map(([first, last]) => `bytes=${first}-${last}`),
  );
  const seen = { whole: 0, unsatisfiable: 0, part: 0 };
  await fc.assert(
    fc.asyncProperty(spec, fc.uint8Array({ maxLength: 12 }), async (text, bytes) => {
      const range = requestedRange(request("range", text), bytes.length, '"e"');
      seen[range === null ? "whole" : range === "unsatisfiable" ? range : "part"]++;
      if (range === null || range === "unsatisfiable") return;
      const { start, end } = range;
      expect(Number.isInteger(start) && Number.isInteger(end)).toBe(true);
      expect(0 <= start && start < end && end <= bytes.length).toBe(true);
      const body = new Blob([bytes]).stream().pipeThrough(sliceStream(range));
      const parts: Uint8Array[] = [];
      for await (const part of body) parts.push(part);
      expect(join(parts)).toEqual(bytes.slice(start, end));
    }),
    { numRuns: 500 },
  );
  expect(Math.min(seen.whole, seen.unsatisfiable, seen.part)).toBeGreaterThan(10);
});

test("If-None-Match matches exactly if it contains the tag or is *", () => {
  const tag = `"${"0".repeat(64)}"`;
  fc.assert(
    fc.property(
      headerText(["W/", '"', ",", " ", "*", '"other"', "0".repeat(63)]),
      fc.boolean(),
      (text, named) => {
        const sent = named ? `${text}, W/${tag} , "z"` : text;
        if (named) expect(noneMatch(request("if-none-match", sent), tag)).toBe(true);
        else
          expect(noneMatch(request("if-none-match", sent), tag)).toBe(
            sent.trim() === "*" || sent.includes(tag),
          );
      },
    ),
    { numRuns: 300 },
  );
});
