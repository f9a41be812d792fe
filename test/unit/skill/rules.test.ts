import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matches } from "../../../src/skill/glob.ts";
import { isIgnored, parseIgnore } from "../../../src/skill/ignore.ts";
import { nearest } from "../../../src/skill/match.ts";
import { isMediaType, isTextType, mediaTypeOf } from "../../../src/skill/media.ts";
import { byteOrder, insidePath } from "../../../src/skill/path.ts";
import { parseTemplate } from "../../../src/skill/placeholder.ts";
import { slugify } from "../../../src/skill/slug.ts";

describe("ignore rules", () => {
  test.each([
    [".git", true],
    ["a/node_modules", true],
    ["x/__pycache__", true],
    ["m.pyc", true],
    [".env", true],
    [".env.local", true],
    [".dev.vars", true],
    ["notes.txt~", true],
    [".SKILL.md.swp", true],
    ["environment.py", false],
    ["git/config", false],
  ])("%s is never bundled: %s", (path, expected) => {
    expect(isIgnored(path, false, [{ base: "", rules: parseIgnore(`!${path}`) }])).toBe(expected);
  });

  test.each<[string, string, boolean, boolean]>([
    ["*.log", "a/b.log", false, true],
    ["*.log", "a/b.logs", false, false],
    ["/*.log", "a/b.log", false, false],
    ["a/*.log", "a/b.log", false, true],
    ["a/*.log", "x/a/b.log", false, false],
    ["**/tmp", "x/y/tmp", true, true],
    ["a/**/z", "a/z", false, true],
    ["a/**/z", "a/b/c/z", false, true],
    ["a/**", "a/b/c", false, true],
    ["tmp/", "tmp", true, true],
    ["tmp/", "tmp", false, false],
    ["?.txt", "a.txt", false, true],
    ["?.txt", "ab.txt", false, false],
    ["[a-c].txt", "b.txt", false, true],
    ["[!a-c].txt", "b.txt", false, false],
    ["*.log\n!keep.log", "keep.log", false, false],
    ["!keep.log\n*.log", "keep.log", false, true],
    ["# comment\n\n", "# comment", false, false],
    ["\\#literal", "#literal", false, true],
    ["a.c", "abc", false, false],
    ["x  ", "x", false, true],
  ])("%j on %s (folder: %s) → %s", (rules, path, folder, expected) => {
    expect(isIgnored(path, folder, [{ base: "", rules: parseIgnore(rules) }])).toBe(expected);
  });

  test("levels: paths are relative to the ignore file, the innermost decides", () => {
    const outer = { base: "skills/a", rules: parseIgnore("skills/*/data\nold.txt") };
    const inner = { base: "", rules: parseIgnore("!old.txt") };
    expect(isIgnored("data", true, [outer, inner])).toBe(true);
    expect(isIgnored("old.txt", false, [outer])).toBe(true);
    expect(isIgnored("old.txt", false, [outer, inner])).toBe(false);
  });
});

test.each([
  ["timout_ms", ["timeout_ms", "idle_timeout_ms"], ["timeout_ms"]],
  ["Timeout-Ms", ["timeout_ms", "tools"], ["timeout_ms"]],
  ["dscription", ["description", "provider"], ["description"]],
  ["colour", ["route", "input"], []],
  ["helo", ["hello", "assistant"], ["hello"]],
  ["weather", ["weather-report", "web"], ["weather-report"]],
  ["", ["a"], []],
])("nearest(%j)", (name, candidates, expected) => {
  expect(nearest(name, candidates)).toEqual(expected);
});

test.each([
  ["  My Skill! ", "my-skill"],
  ["a__b--c", "a-b-c"],
  ["-Ünï-", "n"],
  ["天気", ""],
])("slug of %j", (name, slug) => {
  expect(slugify(name)).toBe(slug);
});

test.each([
  ["a/./b", "a/b"],
  ["a/../b", "b"],
  ["a/../../b", null],
  ["/a", null],
  [".", null],
  ["a\0", null],
])("inside path %j", (path, expected) => {
  expect(insidePath(path)).toBe(expected);
});

test("byte order is the order of UTF-8", () => {
  const names = ["\u{1F600}", "\uFFFD", "a", "B", "ab", ""];
  const bytes = (text: string) => Buffer.from(text);
  expect([...names].sort(byteOrder)).toEqual([...names].sort((a, b) => Buffer.compare(bytes(a), bytes(b))));
});

test("templates", () => {
  const open = "${";
  expect(parseTemplate(`a=${open}K_1}&b=$${open}x}$`)).toEqual({
    pieces: [{ text: "a=" }, { variable: "K_1" }, { text: `&b=${open}x}$` }],
  });
  expect(parseTemplate(`${open}a-b}`).problem).toBe(`${open}a-b}`);
});

test("media types", () => {
  expect(["text/csv", "application/ld+json; charset=utf-8", "application/x-yaml"].every(isTextType)).toBe(
    true,
  );
  expect(["image/svg+xml", "application/pdf"].some(isTextType)).toBe(false);
  expect(["text/html; charset=utf-8", 'a/b; c="d e"'].every(isMediaType)).toBe(true);
  expect(["html", "text/", "a/b;"].some(isMediaType)).toBe(false);
  expect([mediaTypeOf("a/b.PNG"), mediaTypeOf("Makefile")]).toEqual([
    "image/png",
    "application/octet-stream",
  ]);
});

test("a line of .hullignore says of a path what its glob says", () => {
  const of = (...parts: string[]) =>
    fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 4 }).map((found) => found.join(""));
  const line = of("a", "b.txt", "*", ".txt", "/", "?", "[ab]", "\\*", "**", " ", "é");
  const path = of("a", "b.txt", "ab.txt", "/", "*", "é", ".txt");
  fc.assert(
    fc.property(line, path, (text, file) => {
      for (const { pattern, fits } of parseIgnore(text))
        expect(fits(file, file.slice(file.lastIndexOf("/") + 1))).toBe(matches(pattern, file));
    }),
    { numRuns: 3000 },
  );
});
