/** Folders of skills of any kind: several roots, and Agent Skills as they come. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { BuiltSkill } from "../../../scripts/build/skill.ts";
import { build, folder, put } from "./folder.ts";

/** The files of a skill's record. */
async function pathsOf(skill: BuiltSkill | undefined): Promise<string[]> {
  const [, record] = [...((await skill?.contents()) ?? [])].find(([name]) => name.startsWith("skill/")) ?? [];
  const { files }: { files: { path: string }[] } = JSON.parse(new TextDecoder().decode(record));
  return files.map(({ path }) => path);
}

const byFolder = (skills: BuiltSkill[]) => new Map(skills.map((skill) => [skill.folder, skill]));

describe("several roots", () => {
  const plain = (name: string) => `---\nname: ${name}\ndescription: d\n---\nBody.\n`;
  const roots = (project: string, ...paths: string[]) => paths.map((path) => join(project, path));

  test("D2: a later root replaces the whole skill; every root is searched in depth", async () => {
    const project = folder({
      "skills/x/SKILL.md": plain("x"),
      "skills/x/only-here.md": "1",
      "skills/group/hidden/SKILL.md": plain("hidden"),
      ".claude/skills/x/SKILL.md": plain("x"),
      ".claude/skills/group/deep/SKILL.md": plain("deep"),
      ".claude/skills/group/deep/SUB/SKILL.md": plain("sub"),
      ".claude/skills/1/2/3/4/5/six/SKILL.md": plain("six"),
      ".claude/skills/1/2/3/4/5/6/seven/SKILL.md": plain("seven"),
      ".claude/skills/node_modules/no/SKILL.md": plain("no"),
      ".claude/skills/.git/no/SKILL.md": plain("no"),
    });
    const result = await build(project, {}, roots(project, ".claude/skills", "skills"));
    expect(result.found).toEqual(["info slug_replaced x/SKILL.md"]);
    expect(result.slugs).toEqual(["deep", "hidden", "seven", "six", "x"]);
    expect(await pathsOf(result.skills[4])).toEqual(["SKILL.md", "only-here.md"]);
    const other = await build(project, {}, roots(project, "skills", ".claude/skills"));
    expect(await pathsOf(other.skills[4])).toEqual(["SKILL.md"]);
    expect(await pathsOf(other.skills[0])).toEqual(["SKILL.md", "SUB/SKILL.md"]);
  });

  test("findings in depth name the path; the same slug in another namespace gets an address of its own", async () => {
    const project = folder({
      "skills/x/SKILL.md": plain("x"),
      "more/a/one/SKILL.md": plain("one"),
      "more/b/one/SKILL.md": plain("one"),
      "more/c/bad/SKILL.md": "no frontmatter",
    });
    const result = await build(project, { keepGoing: true }, roots(project, "skills", "more"));
    expect(result.found).toEqual([
      "warning slug_in_use b/one/SKILL.md",
      "error frontmatter_missing c/bad/SKILL.md",
    ]);
    expect(result.slugs).toEqual(["b--one", "one", "x"]);
  });

  test("L2, D1: a tools.json without SKILL.md is an error, and the others load", async () => {
    const project = folder({ "skills/x/SKILL.md": plain("x"), "skills/lone/tools.json": "[]" });
    const result = await build(project, { keepGoing: true });
    expect(result.found).toEqual(["error skill_file_missing lone/tools.json"]);
    expect(result.slugs).toEqual(["x"]);
  });

  test("a missing root is skipped, unless it is the only one", async () => {
    const project = folder({ "skills/x/SKILL.md": plain("x") });
    const result = await build(project, {}, roots(project, "skills", ".agents/skills"));
    expect(result.found).toEqual(["warning root_missing ."]);
    expect(result.slugs).toEqual(["x"]);
    await expect(build(project, {}, roots(project, ".agents/skills"))).rejects.toThrow(".agents/skills");
  });

  test("a warning names a harn.toml, which has no effect", async () => {
    const project = folder({ "skills/x/SKILL.md": plain("x"), "harn.toml": "[llm]\n" });
    expect((await build(project, {})).found).toEqual(["warning harn_toml harn.toml"]);
    put(project, "hull.toml", "");
    expect((await build(project, {})).found).toEqual([]);
  });

  test("a nested skill that has lost its file keeps its last good version; an ignored one goes", async () => {
    const project = folder({ "skills/x/SKILL.md": plain("x"), "more/a/y/SKILL.md": plain("y") });
    put(project, "more/z/SKILL.md", plain("z"));
    const paths = roots(project, "skills", "more");
    const first = await build(project, {}, paths);
    rmSync(join(project, "more/a/y/SKILL.md"));
    const again = await build(project, { keepLastGood: true, previous: byFolder(first.skills) }, paths);
    expect(again.found).toEqual(["error skill_file_missing a/y/SKILL.md"]);
    expect(again.slugs).toEqual(["x", "y", "z"]);
    put(project, "more/.hullignore", "z\n");
    const ignored = await build(project, { keepLastGood: true, previous: byFolder(again.skills) }, paths);
    expect([ignored.found, ignored.slugs]).toEqual([
      ["warning no_skills .", ...again.found],
      ["x", "y"],
    ]);
  });
});

test("L5, X1: plain Agent Skills are served as llm skills, whatever their fields", async () => {
  const project = folder({
    "skills/pdf-tools/SKILL.md":
      "\uFEFF---\r\nname: pdf-tools\r\ndescription: Reads PDFs. Use when: asked\r\nallowed-tools: Read, Bash(git add:*)\r\ntools: Read, Grep\r\nmodel: inherit\r\nversion: 1.0\r\n---\r\nRead it.\r\n",
    "skills/pdf-tools/references/a.md": "a",
    "skills/unnamed/SKILL.md": "---\ndescription: d\n---\nBody.\n",
  });
  const result = await build(project);
  expect(result.found).toEqual([
    ...["info bom", "info line_endings", "warning yaml_quoted_retry"].map(
      (found) => `${found} pdf-tools/SKILL.md`,
    ),
    "warning field_not_carried_out pdf-tools/SKILL.md",
    "info unknown_fields pdf-tools/SKILL.md",
    "warning name_from_directory unnamed/SKILL.md",
  ]);
  expect(result.skills[0]?.manifest).toMatchObject({
    slug: "pdf-tools",
    description: "Reads PDFs. Use when: asked",
    mode: "llm",
    route: "/skills/pdf-tools",
    llm: { target: { provider: "anthropic", model: null }, tools: [] },
    allowed_tools: ["Read", "Bash(git add:*)"],
    extra: { version: "1.0", tools: "Read, Grep", model: "inherit" },
  });
  expect(await pathsOf(result.skills[0])).toEqual(["SKILL.md", "references/a.md"]);
});
