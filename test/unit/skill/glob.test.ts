/** Globs: what they match, against regular expressions that mean the same, and what they cost at the worst. */
import { describe, expect, it, test } from "vitest";
import { ArchiveRefused } from "../../../src/skill/archive-paths.ts";
import {
  globMatches,
  ignoreGlob,
  matches,
  modelMatches,
  nameMatches,
  starMatches,
} from "../../../src/skill/glob.ts";
import { isIgnored, parseIgnore } from "../../../src/skill/ignore.ts";
import { skillFiles } from "../../../src/skill/uploaded.ts";
import { fc } from "../../support/property.ts";

const escaped = (text: string): string => text.replace(/[^\w]/g, "\\$&");
const translated = (glob: string, piece: RegExp, meanings: Record<string, string>): RegExp => {
  const source = Array.from(glob.matchAll(piece), ([found]) => meanings[found] ?? escaped(found)).join("");
  return new RegExp(`^${source}$`, "s");
};
const text = fc.string({ unit: fc.constantFrom(..."aab/.-"), maxLength: 12 });
const glob = fc.string({ unit: fc.constantFrom(..."aab/.-", "*", "*", "**", "**/", "?"), maxLength: 8 });

test("paths, names and model ids match as their expressions do", () => {
  fc.assert(
    fc.property(glob, text, (pattern, sample) => {
      const path = translated(pattern, /\*\*\/?|\*|[^*]/g, {
        "**/": ".*",
        "**": ".*",
        "*": "[^/]*",
        "?": "[^/]",
      });
      expect([pattern, sample, globMatches(pattern, sample)]).toEqual([pattern, sample, path.test(sample)]);
      const name = translated(pattern, /\*\*\/?|\*|[^*]/g, { "**/": ".*", "**": ".*", "*": ".*", "?": "." });
      expect([pattern, sample, nameMatches(pattern, sample)]).toEqual([pattern, sample, name.test(sample)]);
    }),
    { numRuns: 3000 },
  );
  expect(["A-*-B", "a*b*", "*", "*x*", "a?b"].map((one) => modelMatches(one, "a-x-b"))).toEqual([
    true,
    false,
    true,
    true,
    false,
  ]);
});

test.each<[pattern: string, text: string, fits: boolean]>([
  ["exact", "exact", true],
  ["exact", "exactly", false],
  ["Exact", "exact", false],
  ["", "", true],
  ["", "a", false],
  ["*", "", true],
  ["*unknown", "this is unknown", true],
  ["*unknown", "unknown this is", false],
  ["pre*", "prefix", true],
  ["*mid*", "a mid b", true],
  ["a*b*c", "a-b-b-c", true],
  ["a*b*c", "a-c-b", false],
  ["ab*ba", "aba", false],
  ["**a**", "bab", true],
  ["a?c", "abc", false],
  ["a.c*", "abc", false],
  ["*a*a*", "a", false],
])("the pattern %j and %j: %s", (pattern, text, fits) => {
  expect(starMatches(pattern, text)).toBe(fits);
});

test("a hostile pattern takes no more time than a plain one", () => {
  const text = "a".repeat(2_000_000);
  expect(starMatches(`${"*a".repeat(5000)}*b`, text)).toBe(false);
  expect(starMatches(`*${"a".repeat(4000)}b*`, text)).toBe(false);
});

test("lines of an ignore file match as their expressions do", () => {
  const line = fc.string({
    unit: fc.constantFrom(..."aab/", "*", "**", "**/", "/**", "?", "[ab]", "[!a]"),
    maxLength: 6,
  });
  fc.assert(
    fc.property(
      line.filter((one) => !/\*{3}|^\/*$/.test(one)),
      text,
      (pattern, sample) => {
        const bare = pattern.replace(/^\//, "");
        const body = Array.from(bare.matchAll(/\[!?[ab]+\]|\*+|[^*]/g), ({ 0: found, index }) => {
          const begins = index === 0 || bare[index - 1] === "/";
          if (found === "**" && begins && bare[index + 2] === "/") return "(?:.*/)?";
          if (found === "**" && begins && index > 0 && index + 2 === bare.length) return ".*";
          if (found.startsWith("*")) return "[^/]*";
          return { "?": "[^/]", "[ab]": "[ab]", "[!a]": "[^/a]" }[found] ?? escaped(found);
        }).join("");
        const source = body.replaceAll("(?:.*/)?\\/", "(?:.*/)?");
        const expected = new RegExp(`^${pattern.includes("/") ? "" : "(?:.*/)?"}${source}$`, "s");
        expect([pattern, sample, matches(ignoreGlob(pattern), sample)]).toEqual([
          pattern,
          sample,
          expected.test(sample),
        ]);
      },
    ),
    { numRuns: 3000 },
  );
});

describe("attack: a glob that takes a backtracking matcher forever", () => {
  const long = "a".repeat(20_000);
  it.each(["*a".repeat(30), "a*".repeat(30), "*?".repeat(30), "**a".repeat(30), "**/".repeat(30)])(
    "%s",
    (pattern) => {
      expect(globMatches(`${pattern}b`, long)).toBe(false);
      expect(nameMatches(`${pattern}b`, long)).toBe(false);
      expect(isIgnored(long, false, [{ base: "", rules: parseIgnore(`${pattern}b`) }])).toBe(false);
    },
  );

  it("blanks without end in a line of .hullignore", () => {
    expect(parseIgnore(`${" ".repeat(200_000)}x`)).toHaveLength(1);
  });

  it("an upload with more lines and files than can be matched is refused", () => {
    const bytes = (content: string) => new Uint8Array(new TextEncoder().encode(content));
    const file = (path: string, content = "") => ({ path, mode: 0o644 as const, bytes: bytes(content) });
    const files = Array.from({ length: 2000 }, (_, i) => file(`folder/${"a".repeat(60)}${i}`));
    const upload = (ignore: string) => [file("SKILL.md"), file(".hullignore", ignore), ...files];
    expect(skillFiles(upload("*.log\ndist/\n"))).toHaveLength(2001);
    expect(() => skillFiles(upload("*a*b*c*d\n".repeat(10_000)))).toThrow(ArchiveRefused);
  });
});
