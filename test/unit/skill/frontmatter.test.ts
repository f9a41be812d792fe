import { describe, expect, test } from "vitest";
import { parseManifest } from "../../../src/skill/parse.ts";
import { parseSkill } from "../../../src/skill/parse-skill.ts";

const parse = (text: string) => parseManifest(text, { folder: "f", file: "f/SKILL.md" });
const HEAD = "name: a\ndescription: d\nmode: llm\n";

describe("splitting", () => {
  test("a byte order mark and CRLF are accepted, and lines still count", () => {
    const { manifest, body } = parse(
      "\uFEFF---\r\nname: a\r\ndescription: d\r\n--- \r\nOne\r\n---\r\nTwo\r\n",
    );
    expect(manifest?.name).toBe("a");
    expect(body).toBe("One\n---\nTwo");
    expect(parse("\uFEFF---\r\nname: a\r\ndescription: d\r\nmode: x\r\n---\r\n").diagnostics[0]?.line).toBe(
      4,
    );
  });

  test.each([
    ["", "frontmatter_missing"],
    ["name: a\n", "frontmatter_missing"],
    [`---\n${HEAD}`, "frontmatter_unclosed"],
    ["---\n- a\n---\n", "frontmatter_not_mapping"],
    ["---\n---\nb", "frontmatter_not_mapping"],
    [`---\n${HEAD}---\n${"x".repeat(1024 * 1024)}`, "file_too_large"],
    [`---\n${HEAD}#${"x".repeat(64 * 1024)}\n---\nb`, "frontmatter_too_large"],
  ])("case %#", (text, code) => {
    expect(parse(text).diagnostics.map((d) => d.code)).toEqual([code]);
  });
});

describe("YAML", () => {
  test.each([
    [`${HEAD}name: b`, "duplicate_key", 5],
    [`${HEAD}metadata:\n  k: 1\n  k: 2`, "duplicate_key", 7],
    [`${HEAD}x: y: z`, "frontmatter_yaml", 5],
    [`${HEAD}x: [`, "frontmatter_yaml", 5],
    [`${HEAD}x: !tag y`, "frontmatter_yaml", 5],
    [`${HEAD}x: *nowhere`, "frontmatter_yaml", 5],
    [`${HEAD}x: &x [*x]`, "frontmatter_yaml", 5],
    [`${HEAD}__proto__: {polluted: true}`, "frontmatter_yaml", 5],
    [`${HEAD}metadata: {a: {__proto__: {b: 1}}}`, "frontmatter_yaml", 5],
    [`${HEAD}? [a]\n: b`, "frontmatter_yaml", 5],
    [`${HEAD}x: ${"[".repeat(100)}${"]".repeat(100)}`, "frontmatter_yaml", 5],
    [`${HEAD}x: ${"[".repeat(30_000)}`, "frontmatter_yaml", 5],
  ])("case %#", (yaml, code, line) => {
    const [found, ...others] = parse(`---\n${yaml}\n---\nb`).diagnostics;
    expect(found).toMatchObject({ level: "error", code, line });
    expect(others).toEqual([]);
  });

  test("anchors may be used, bombs of them may not", () => {
    const { manifest } = parse(`---\n${HEAD}metadata: {a: &v [1, 2], b: *v}\n---\nb`);
    expect(manifest?.metadata).toEqual({ a: [1, 2], b: [1, 2] });
    const levels = Array.from(
      { length: 9 },
      (_, i) =>
        `k${i}: &k${i} [${Array(10)
          .fill(i === 0 ? "x" : `*k${i - 1}`)
          .join(", ")}]`,
    );
    expect(parse(`---\n${HEAD}${levels.join("\n")}\n---\nb`).diagnostics[0]).toMatchObject({
      code: "frontmatter_yaml",
      message: expect.stringContaining("expands"),
    });
  });

  test.each([
    ["mode\uff1allm", "U+FF1A"],
    ["mode:\u00a0llm", "U+00A0"],
  ])("a character that only looks like a colon or a space is named: %#", (fields, code) => {
    const [found] = parse(`---\n${HEAD}run: ./a.sh\n${fields}\n---\nb`).diagnostics;
    expect(found).toMatchObject({ code: "frontmatter_yaml", hint: expect.stringContaining(code) });
  });

  test("scalars follow the core schema of YAML 1.2", () => {
    const { manifest } = parse(`---\n${HEAD}metadata: {a: yes, b: 0o17, c: 1e3, d: ~, e: 012}\n---\nb`);
    expect(manifest?.metadata).toEqual({ a: "yes", b: 15, c: 1000, d: null, e: 12 });
  });

  // With 64 KiB of any of these, `yaml` makes tens of thousands of errors, or recurs until there is no stack left.
  test.each([
    ["x: [", ","],
    ["x:\n  ", "{}"],
    ["x: {", "a: "],
    ["x: {", ": "],
    ["", "`\n"],
    ["x: ", "}"],
    ["", "]\n"],
    ["", "- a\n"],
    ["x: ", "'' "],
    ["x: [", "!a b,"],
    ["x: [", "? "],
    ["", "a:\n"],
  ])("%j and 64 KiB of %j are refused as no frontmatter, also in strict mode", (start, unit) => {
    const fields = `${HEAD}${start}${unit.repeat(Math.floor(65_000 / unit.length))}`;
    const [found, ...others] = parse(`---\n${fields}\n---\nb`).diagnostics;
    expect(found?.message).toMatch(/more than 20000 tokens|nested too deeply/);
    expect(found?.code).toBe("frontmatter_yaml");
    expect(others).toEqual([]);
    const { strict } = parseSkill(`---\n${fields}\n---\nb`).verdicts;
    expect(strict.diagnostics.map(({ code }) => code)).toEqual(["frontmatter_yaml"]);
  });

  test("long frontmatter of honest kinds loads, and keys that repeat are found among thousands", () => {
    const list = `tags:\n${"  - a-tag-of-some-length\n".repeat(2500)}`;
    const text = `metadata:\n  notes: >-\n${"    One line of a text that goes on for long.\n".repeat(1300)}`;
    const keys = Array.from({ length: 2400 }, (_, i) => `  key_${i}: the value`).join("\n");
    for (const fields of [list, text, `metadata:\n${keys}`])
      expect(parseSkill(`---\n${HEAD}${fields}\n---\nb`).record).toMatchObject({ name: "a" });
    const { strict, lenient } = parseSkill(`---\n${HEAD}metadata:\n${keys}\n  key_7: b\n---\nb`).verdicts;
    expect(strict.diagnostics.map(({ code }) => code)).toEqual(["frontmatter_yaml"]);
    expect(lenient.diagnostics.map(({ code }) => code)).toContain("duplicate_key");
  });
});
