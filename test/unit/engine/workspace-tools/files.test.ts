/** What the file tools make of texts and listings: numbered lines, replacements, globs, matches. */
import { expect, test } from "vitest";
import { edited } from "../../../../src/engine/workspace-tools/edit.ts";
import { astray, locateFile } from "../../../../src/engine/workspace-tools/file-location.ts";
import { numberedLines, shownOutput } from "../../../../src/engine/workspace-tools/lines.ts";
import {
  expandBraces,
  type GrepOptions,
  GrepSearch,
  globbed,
  globFilter,
  globOfType,
} from "../../../../src/engine/workspace-tools/listing.ts";

const FOLDERS = { work: "/s/workspaces/1/files", skills: "/s/skills/k" };

test.each([
  ["a.txt", "", { in: "work", path: "a.txt" }],
  ["./a/../b.txt", "", { in: "work", path: "b.txt" }],
  ["b.txt", "sub", { in: "work", path: "sub/b.txt" }],
  ["cafe\u0301/e\u0301", "", { in: "work", path: "caf\u00e9/\u00e9" }],
  ["../b.txt", "sub", { in: "work", path: "b.txt" }],
  [".", "", { in: "work", path: "" }],
  ["/s/workspaces/1/files/x", "", { in: "work", path: "x" }],
  ["/s/skills/k/pdf/forms.md", "", { in: "skills", skill: "pdf", path: "forms.md" }],
  ["../../other/x.md", "/s/skills/k/pdf/refs", { in: "skills", skill: "other", path: "x.md" }],
  ["/s/skills/k", "", { in: "skills", skill: null, path: "" }],
])("the path %s, relative to %j", (given, cwd, location) => {
  expect(locateFile(given, FOLDERS, cwd)).toEqual(location);
});

test.each([
  "../x",
  "../../../etc/passwd",
  "/etc/passwd",
  "/proc/self/environ",
  "/s/workspaces/2/files/x",
  "/s/workspaces/1/files/../../2/files/x",
  "/s/skills/other/pdf/x",
  "/s/skills/k/../../journal",
  "a\0b",
])("R10: %j is not a file of the run", (given) => {
  expect(locateFile(given, FOLDERS, "")).toHaveProperty("fault");
});

test.each([
  [
    "a.txt",
    "/s/skills/k/pdf",
    ": the last command ended in /s/skills/k/pdf. The work folder is /s/workspaces/1/files",
  ],
  ["a.txt", "sub", ""],
  ["/s/skills/k/pdf/a.txt", "/s/skills/k/pdf", ""],
])("content that misleads %s after a command that ended in %j", (given, cwd, told) => {
  expect(astray(given, FOLDERS, cwd)).toBe(told);
});

test("lines have numbers, and a note says what is left out", () => {
  expect(numberedLines("a\r\nb\n", 1, 2000)).toBe("     1\ta\n     2\tb");
  const text = Array.from({ length: 2500 }, (_, i) => `line ${i + 1}`).join("\n");
  const shown = numberedLines(text, 1, 9999);
  expect(shown.split("\n")).toHaveLength(2001);
  expect(shown).toContain("[hull: lines 1 to 2000 of 2500; go on with offset 2001]");
  expect(numberedLines(text, 2499, 10)).toBe("  2499\tline 2499\n  2500\tline 2500");
  expect(numberedLines(text, 3000, 10)).toBe("[hull: the file has 2500 lines; line 3000 is behind its end]");
  expect(numberedLines("", 1, 10)).toBe("[hull: the file is empty]");
});

test("a long output keeps its ends, and names the file with the whole", () => {
  const whole = `${"a".repeat(30_000)}${"b".repeat(30_000)}`;
  const ends = { head: whole.slice(0, 30_000), tail: whole.slice(30_000), length: whole.length };
  const shown = shownOutput(ends, "out.txt");
  expect(shown.length).toBeLessThanOrEqual(30_000);
  expect(shown).toMatch(
    /^a+\n\[hull: \d+ of 60000 characters left out; the whole output is in out.txt\]\nb+$/,
  );
  expect(shownOutput({ head: "short", tail: "", length: 5 }, null)).toBe("short");
});

test.each([
  ["one two", "two", "2", false, { text: "one 2", count: 1 }],
  ["a a a", "a", "b", true, { text: "b b b", count: 3 }],
  ["$1 x", "x", "$&", false, { text: "$1 $&", count: 1 }],
  ["a\r\nb\r\nc", "a\nb", "1\n2\n3", false, { text: "1\r\n2\r\n3\r\nc", count: 1 }],
  ["a\r\nb\nc", "b\nc", "2", false, { text: "a\r\n2", count: 1 }],
])("Edit of %j", (text, from, to, all, result) => {
  expect(edited(text, from, to, all)).toEqual(result);
});

test("Edit reports how often the text occurs, and in which lines", () => {
  const fault = (from: string) => edited("x\ny x\n\n  indented\nx", from, "z", false);
  expect(fault("x")).toEqual({ fault: expect.stringContaining("3 times, in the lines 1, 2, 5") });
  expect(fault("nowhere")).toEqual({ fault: expect.stringContaining("0 times") });
  expect(fault("\tindented\n\n")).toEqual({ fault: expect.stringContaining("line 4") });
  expect(fault("")).toEqual({ fault: expect.stringContaining("empty") });
});

test("Glob: newest first, braces, at most 1,000", () => {
  expect(expandBraces("a{b,c{d,e}}.x")?.sort()).toEqual(["ab.x", "acd.x", "ace.x"]);
  expect(expandBraces("{a,b}".repeat(10))).toBe(null);
  expect(expandBraces(`{${",".repeat(200_000)}}`)).toBe(null);
  const files = ["a.ts", "b/c.tsx", "b/d.py"].map((path, index) => ({
    path,
    shown: path,
    modified_at: index,
  }));
  const found = (glob: string): string => {
    const filter = globFilter(glob, false);
    return filter.ok ? globbed(files, filter.matches) : filter.reason;
  };
  expect(found("**/*.{ts,tsx}")).toBe("b/c.tsx\na.ts");
  expect(found("*.py")).toBe("[hull: no file matches]");
  expect(found("**/a.ts")).toBe("a.ts");
  expect(found("**/.ts")).toBe("[hull: no file matches]");
  expect(found("b/[c-d].*")).toBe("b/d.py\nb/c.tsx");
  expect(found("b/[!c].*")).toBe("b/d.py");
  expect(found("**")).toBe("b/d.py\nb/c.tsx\na.ts");
  const many = Array.from({ length: 1200 }, (_, i) => ({ path: `${i}`, shown: `${i}`, modified_at: i }));
  expect(
    globbed(many, () => true)
      .split("\n")
      .slice(-1),
  ).toEqual(["[hull: 200 more files match]"]);
});

function searchFor(pattern: string, options: Partial<GrepOptions>): GrepSearch {
  const usual = { mode: "count", ignoreCase: false, before: 0, after: 0, limit: 0, offset: 0 } as const;
  const made = GrepSearch.of(pattern, { ...usual, ...options });
  return made.ok ? made.search : expect.fail(made.reason);
}

test.each([
  ["content", false, [0, 0], "foo", "f:1:foo bar\nf:4:foo"],
  ["content", true, [0, 0], "foo", "f:1:foo bar\nf:2:Foo\nf:4:foo"],
  ["content", false, [1, 1], "^foo$", "f-3-x\nf:4:foo"],
  ["content", false, [0, 1], "bar", "f:1:foo bar\nf-2-Foo"],
  ["content", false, [1, 0], "x", "f-2-Foo\nf:3:x"],
  ["content", false, [0, 1], "foo", "f:1:foo bar\nf-2-Foo\n--\nf:4:foo"],
  ["files_with_matches", false, [0, 0], "ba[rz]", "f"],
  ["count", true, [0, 0], "fo+", "f:3"],
  ["content", false, [0, 0], "(?i)FOO B", "f:1:foo bar"],
  ["content", false, [0, 0], "F\\w", "f:2:Foo"],
  ["content", false, [0, 0], "nothing", "[hull: nothing matches]"],
] as const)(
  "Grep: %s, ignoring case %s, context %j, /%s/",
  (mode, ignoreCase, [before, after], pattern, text) => {
    const search = searchFor(pattern, { mode, before, after, ignoreCase });
    search.look("f", "foo bar\nFoo\r\nx\nfoo\n");
    expect(search.text()).toBe(text);
  },
);

const LINES = Array.from({ length: 1200 }, (_, i) => `f:${i + 1}:x`);
const shownOf = (from: number, to: number) => LINES.slice(from, to).join("\n");
const more = (offset: number) => `\n[hull: there is more; narrow the search, or go on with offset ${offset}]`;

test.each([
  ["as many lines as possible", {}, shownOf(0, 1000) + more(1000)],
  ["the rest of them", { offset: 1000 }, shownOf(1000, 1200)],
  ["a few", { limit: 2 }, shownOf(0, 2) + more(2)],
  ["the next ones", { limit: 2, offset: 2 }, shownOf(2, 4) + more(4)],
  ["the last ones, which are exactly as many", { limit: 2, offset: 1198 }, shownOf(1198, 1200)],
  ["no more than is possible", { limit: 5000 }, shownOf(0, 1000) + more(1000)],
  ["none behind the last", { offset: 1200 }, "[hull: offset leaves out all 1200 lines]"],
])("an answer of Grep shows %s", (_, options, text) => {
  const search = searchFor("x", { mode: "content", ...options });
  search.look("f", "x\n".repeat(1200));
  expect(search.text()).toBe(text);
  expect(search.full).toBe(text.includes("there is more"));
});

test("lines around matches count like any others in what Grep shows", () => {
  const search = searchFor("x", { mode: "content", before: 50, after: 50 });
  search.look("f", `${"\n".repeat(40)}x\n${"\n".repeat(200)}`.repeat(100));
  expect(search.text().split("\n")).toHaveLength(1001);
  const files = searchFor("x", { mode: "files_with_matches", limit: 1, offset: 1 });
  for (const name of ["a", "b", "c"]) files.look(name, "x");
  expect(files.text()).toBe(`b${more(2)}`);
});

test.each([
  ["ts", ["a.ts", "b/c.tsx"]],
  ["py", ["b/d.py"]],
  ["csharp", ["e.cs"]],
  ["tsx", ["b/c.tsx"]],
  ["constructor", []],
])("the type %s", (type, found) => {
  const filter = globFilter(globOfType(type), true);
  const files = ["a.ts", "b/c.tsx", "b/d.py", "e.cs", "ts"];
  expect(filter.ok && files.filter(filter.matches)).toEqual(found);
});

test("Grep refuses patterns that need more than linear time, and stops a search that costs too much", () => {
  expect(() => searchFor("(?=x)", {})).toThrow();
  const search = searchFor("(a+)+$", {});
  search.look("f", `${"a".repeat(100_000)}b`);
  expect(search.text()).toBe("[hull: nothing matches]");
});
