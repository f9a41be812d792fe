/** SKILL.md by the rules of the Agent Skills format: the strict verdict and the lenient reading. */
import { describe, expect, test } from "vitest";
import { brokenUploadRules } from "../../../src/skill/field-rules.ts";
import { skillFileName } from "../../../src/skill/file-text.ts";
import { lintDescription, missingFiles, missingReferences, secretIn } from "../../../src/skill/lint.ts";
import { parseSkill } from "../../../src/skill/parse-skill.ts";
import { FIXTURES, type Fixture, file, HEAD } from "./skill-md-fixtures.ts";

function given({ text, fields = "", body, directory = "my-skill", fileName = "SKILL.md" }: Fixture) {
  const lines = fields.includes("description:") ? fields : `${fields.includes("name:") ? "" : HEAD}${fields}`;
  const source = { fileName, ...(directory === "" ? {} : { directory }) };
  return parseSkill(text ?? file(lines, body), source);
}

describe.each(Object.entries(FIXTURES))("%s", (_, fixtures) => {
  test.each(fixtures.map((fixture, i) => [i, fixture] as const))("case %i", (_, fixture) => {
    const { record, verdicts, diagnostics } = given(fixture);
    expect(verdicts.strict.diagnostics.map(({ code }) => code)).toEqual(fixture.S);
    expect(verdicts.strict.valid).toBe(fixture.S.length === 0);
    const shown = diagnostics.map(({ code, level }) => (level === "info" ? `i:${code}` : code));
    expect(shown).toEqual(fixture.L);
    expect(verdicts.lenient.valid).toBe(fixture.has !== undefined);
    if (fixture.has === undefined) expect(record).toBeUndefined();
    else expect(record).toMatchObject(fixture.has);
    // Everything strict accepts, lenient loads.
    if (verdicts.strict.valid) expect(verdicts.lenient.valid).toBe(true);
  });
});

test("strict reports all broken rules of the fields, in this order", () => {
  const { verdicts } = parseSkill(file("name: My_Skill\nversion: 1\nauthor: x"), {
    directory: "my-skill",
  });
  expect(verdicts.strict.diagnostics[0]?.field).toBe("author, version");
  expect(verdicts.strict.diagnostics.map(({ code }) => code)).toEqual([
    "unknown_fields",
    "name_not_lowercase",
    "name_characters",
    "name_directory_mismatch",
    "description_missing",
  ]);
});

test("Harn's fields for hooks are sent below hooks", () => {
  const { diagnostics } = parseSkill(
    file("name: my-skill\ndescription: d\non_activate: greet\non_deactivate: bye"),
    { directory: "my-skill" },
  );
  expect(diagnostics.map(({ code, field, hint }) => [code, field, hint])).toEqual(
    ["on_activate", "on_deactivate"].map((field) => [
      "field_not_carried_out",
      field,
      expect.stringContaining(`hooks: {${field}: `),
    ]),
  );
});

test("a finding knows its line, whatever comes before the frontmatter", () => {
  for (const [before, line] of [
    ["", 3],
    ["\n\n", 5],
    ["\uFEFF\r\n", 4],
  ] as const) {
    const { diagnostics } = parseSkill(`${before}${file("name: my-skill\ndescription: a: b")}`, {
      directory: "my-skill",
    });
    expect(diagnostics.find(({ code }) => code === "yaml_quoted_retry")).toMatchObject({ line });
  }
});

test.each([
  ["", 7],
  ["\uFEFF", 7],
  ["<!-- a\r\ncomment -->\r\n", 9],
])("a place in the body is one in the file, which begins with %j", (before, line) => {
  const text = `${before}---\r\nname: my-skill\r\ndescription: d\r\n---\r\n\r\nOne\r\n two  \r\n`;
  const { record, placeInBody } = parseSkill(text);
  const offset = record?.body.indexOf("two") ?? 0;
  expect(text.split("\r\n")[line - 1]).toBe(" two  ");
  expect(placeInBody(offset)).toEqual({ line, column: 2 });
});

test("39: of several files the exact name counts, then skill.md, then any letter case", () => {
  expect(skillFileName(["Skill.md", "skill.md", "SKILL.md"])).toBe("SKILL.md");
  expect(skillFileName(["Skill.md", "skill.md"])).toBe("skill.md");
  expect(skillFileName(["a", "SKILL.MD"])).toBe("SKILL.MD");
  expect(skillFileName(["a/SKILL.md"])).toBeNull();
});

test.each([
  ["claude-helper", "d", ["name_reserved"]],
  ["my-skill", "<b>x</b>", ["description_tags"]],
  ["my-skill", "a < b", []],
  ["<a>", "d", ["name_characters", "name_tags"]],
  ["x".repeat(65), "d".repeat(1025), ["name_too_long", "description_too_long"]],
  ["мой", "d", ["name_characters"]],
] as const)("33, 34: an upload called %s", (name, description, codes) => {
  expect(brokenUploadRules(name, description).map(({ code }) => code)).toEqual(codes);
});

test.each([
  ["Use when a < b", ["description_brackets"]],
  ["Counts words", ["description_when"]],
  ["Counts words. Use when asked for numbers.", []],
  ["Counts words. TRIGGERS - word count, text length", []],
  ['Counts words. Trigger with "how long is this?"', []],
  ["统计字数。适用于需要知道文本长度的情况。", []],
] as const)("lint: %s", (description, codes) => {
  expect(lintDescription(description).map(({ code }) => code)).toEqual(codes);
});

test("lint: links that lead nowhere, and keys", () => {
  const body =
    "[a](references/a.md) [b](b.md#x) ![c](./img/c.png) [d](https://d.example) [e](#e) `[f](f.md)`\n[g](refer%65nces/)";
  expect(missingReferences(body, ["references/a.md", "SKILL.md"])).toEqual([
    { target: "b.md#x", offset: 25, path: "b.md" },
    { target: "./img/c.png", offset: 38, path: "./img/c.png" },
  ]);
  const text =
    "`scripts/a.py`, {baseDir}/scripts/b.py and ./scripts/b.py, ~/x/scripts/c.py\n```\npython ${CLAUDE_SKILL_DIR}/scripts/D.sh; cat references/e.md. scripts/out https://x.example/assets/f.png\n```";
  expect(missingFiles(text, ["scripts/a.py", "scripts/d.sh"])).toEqual([
    { target: "references/e.md", offset: text.indexOf("references/e.md") },
    { target: "scripts/b.py", offset: text.indexOf("scripts/b.py") },
  ]);
  const key = ["sk", "ant", "x".repeat(40)].join("-");
  const inFile = (text: string) => secretIn("a.txt", new TextEncoder().encode(text));
  expect(inFile(`a\nKEY=${key}`)).toMatchObject({
    line: 2,
    column: 5,
    message: expect.stringContaining("sk-ant-…"),
  });
  expect(inFile("sk-short, risk-taking and a -----BEGIN PUBLIC KEY-----")).toBeNull();
  expect(inFile(`\0${key}`)).toBeNull();
});
