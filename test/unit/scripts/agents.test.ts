/** Agents of Claude Code as skills: which files are agents, what SKILL.md becomes of them, and under which slugs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type BuildResult, buildRoots } from "../../../scripts/build/build.ts";
import { buildOptionsOf, openProject } from "../../../scripts/project.ts";
import type { SkillRecord } from "../../../src/skill/manifest.ts";
import { readTar } from "../../../src/skill/tar.ts";
import { hullHere } from "../../support/hull-here.ts";
import { build, folder, skillText } from "./folder.ts";

const AGENT = "---\nname: reviewer\ndescription: d\n---\nReview.\n";
const named = (name: string): string => AGENT.replace("reviewer", name);

/** The record of a skill, and its SKILL.md as published. */
async function stored({ skills }: Pick<BuildResult, "skills">, slug: string) {
  const skill = skills.find(({ card }) => card.slug === slug) ?? expect.fail(`no ${slug}`);
  const contents = await skill.contents();
  const text = (name: string) => new TextDecoder().decode(contents.get(name));
  const record: SkillRecord = JSON.parse(text(`skill/${skill.digest}`));
  const [file] = readTar(contents.get(`pack/${record.pack}`) ?? expect.fail("no pack"));
  return { record, card: skill.card, text: new TextDecoder().decode(file?.bytes) };
}

test("agents are the Markdown files with a name or a description in a plugin's folder or list, and in .claude/agents", async () => {
  const project = folder({
    ".claude-plugin/marketplace.json": JSON.stringify({
      plugins: [
        { name: "one", source: "./one" },
        { name: "bare", source: "./bare", skills: ["./skills/b"], agents: "./extra" },
      ],
    }),
    ".claude/agents/team/own.md": named("own"),
    "one/agents/a.md": named("Odd Name"),
    "one/agents/no-name.md": "---\ndescription: d\n---\nT.\n",
    "one/agents/escape.md": named("../../escaped"),
    "one/agents/no-description.md": "---\nname: bold\n---\n# Be bold\n",
    "one/agents/plain.md": "# Notes\n",
    "one/agents/notes.md": "---\ntitle: Notes\n---\nT.\n",
    "one/agents/README.md": AGENT,
    "one/agents/broken.md": '---\nname: broken\ndescription: "x\n---\nT.\n',
    "one/skills/s/SKILL.md": skillText("S"),
    "one/skills/s/agents/part.md": AGENT,
    "one/commands/c.md": "Do it.\n",
    "list/.claude-plugin/plugin.json": '{"name": "list", "agents": ["./agents/only.md"]}',
    "list/agents/only.md": named("only"),
    "list/agents/other.md": AGENT,
    "bare/skills/b/SKILL.md": skillText("B"),
    "bare/extra/e.md": named("e"),
    "bare/agents/usual.md": AGENT,
    "none/agents/x.md": AGENT,
  });
  const { skills, found } = await build(project, { agents: true, keepGoing: true }, [project]);
  const agents = skills.filter(({ card }) => card.agent);
  expect(agents.map(({ card: { name, slug, namespace } }) => [name, slug, namespace])).toEqual([
    ["bold", "bold", "one"],
    ["e", "e", "bare"],
    ["../../escaped", "escaped", "one"],
    ["no-name", "no-name", "one"],
    ["Odd Name", "odd-name", "one"],
    ["only", "only", "list"],
    ["own", "own", "team"],
  ]);
  expect(skills.filter(({ card }) => !card.agent).map(({ card }) => card.slug)).toEqual(["b", "s"]);
  expect(found.filter((each) => each.startsWith("error"))).toEqual([
    "error frontmatter_yaml one/agents/broken.md",
  ]);
  const some = await build(project, { agents: ["list/*", "bold"] }, [project]);
  expect(some.slugs).toEqual(["b", "bold", "only", "s"]);
  expect((await build(project, {}, [project])).slugs).toEqual(["b", "s"]);
});

/** By name, the fields of an agent and what becomes of them. */
const TEXTS: Record<string, [given: string, made: string, tools?: unknown]> = {
  all: [
    "context: fork\ndescription: d",
    'workspace_tools: true\nname: all\ncontext: "agent"\ndescription: d',
    true,
  ],
  star: ['tools: "*"', 'context: "agent"\nworkspace_tools: true\nname: star\ntool_scope: "*"', true],
  blank: ["tools:", 'context: "agent"\nworkspace_tools: true\nname: blank\ntools:', true],
  listed: [
    "tools:\n  - read\n  - Bash(git diff:*)\n  - WebFetch",
    'context: "agent"\nworkspace_tools: ["Bash","Read"]\nname: listed\ntool_scope:\n  - read\n  - Bash(git diff:*)\n  - WebFetch',
    ["Bash", "Read"],
  ],
  none: [
    "tools: WebFetch",
    'context: "agent"\nworkspace_tools: false\nname: none\ntool_scope: WebFetch',
    false,
  ],
  own: [
    "tool-scope: Read\nworkspace-tools: [Read]",
    'context: "agent"\nname: own\ntool-scope: Read\nworkspace-tools: [Read]',
    ["Read"],
  ],
};

test("an agent becomes a SKILL.md with context: agent, and its tools are the only ones that it gets", async () => {
  const files = Object.entries(TEXTS).map(([name, [fields]]) => {
    const description = fields.includes("description") ? "" : "description: d\n";
    return [`agents/${name}.md`, `---\nname: ${name}\n${fields}\n${description}---\nRead [it](../x.md).\n`];
  });
  const project = folder({
    ".claude-plugin/plugin.json": '{"name": "kit"}',
    "x.md": "X.\n",
    ...Object.fromEntries(files),
    "agents/long.md": `---\nname: long\ndescription: ${"d".repeat(3000)}\n---\nT.\n`,
  });
  const result = await build(project, { agents: true }, [project]);
  expect(result.found).toEqual(["warning field_not_carried_out agents/blank.md"]);
  for (const [name, [, made, tools]] of Object.entries(TEXTS)) {
    const { record, text, card } = await stored(result, name);
    const description = made.includes("description") ? "" : "description: d\n";
    expect(text).toBe(`---\n${made}\n${description}---\nRead [it](../x.md).\n`);
    expect(record.manifest.workspace_tools).toEqual(tools);
    expect(record.manifest.activation).toEqual({ context: "agent" });
    expect(record.plugin?.folder?.linked).toBe(true);
    expect(card.workspaceTools).toBe(tools === false ? undefined : true);
  }
  expect((await stored(result, "listed")).record.manifest.tool_scope).toEqual([
    "read",
    "Bash(git diff:*)",
    "WebFetch",
  ]);
  expect((await stored(result, "long")).card.description).toHaveLength(3000);
});

test("an agent never takes the slug of a skill or command, and both are served", async () => {
  const files = {
    ".claude/agents/plan.md": named("plan"),
    ".claude/skills/plan/SKILL.md": skillText("Plan"),
    "a/.claude-plugin/plugin.json": '{"name": "a"}',
    "a/agents/review.md": named("review"),
    "a/agents/deep/review.md": named("review"),
    "a/skills/review/SKILL.md": skillText("Review"),
    "a/agents/ship.md": named("ship"),
    "a/commands/ship.md": "Ship.\n",
    "b/.claude-plugin/plugin.json": '{"name": "b"}',
    "b/agents/review.md": named("review"),
    "b/agents/lone.md": named("lone"),
    ".claude/agents/lone.md": named("lone"),
  };
  const project = folder(files);
  const { skills, found } = await build(project, { agents: true, commands: true }, [project]);
  expect(
    skills.map(
      ({ card: { slug, name }, folder: path }) => `${slug} (${name}): ${path.slice(project.length + 1)}`,
    ),
  ).toEqual([
    "a-agents--review (review): a/agents/review.md",
    "a-agents--ship (ship): a/agents/ship.md",
    "a-agents-deep--review (review): a/agents/deep/review.md",
    "agents--lone (lone): .claude/agents/lone.md",
    "agents--plan (plan): .claude/agents/plan.md",
    "b--review (review): b/agents/review.md",
    "lone (lone): b/agents/lone.md",
    "plan (Plan): .claude/skills/plan",
    "review (Review): a/skills/review",
    "ship (ship): a/commands/ship.md",
  ]);
  expect(found).toEqual(["warning slug_in_use a/agents/deep/review.md"]);
});

test("a project of one plugin serves the agents next to its folder skills; a name that no agent has is reported", async () => {
  const dir = folder({
    "hull.toml": 'agents = ["kit/*", "other"]\n',
    ".claude-plugin/plugin.json": '{"name": "kit"}',
    ".claude/agents/w.md": named("w"),
    "agents/x.md": named("x"),
    "agents/y.md": named("y"),
    "commands/c.md": "C.\n",
    "skills/y/SKILL.md": skillText("Y"),
  });
  const project = await openProject(dir);
  const { skills, diagnostics } = await buildRoots(project.roots, buildOptionsOf(project));
  expect(skills.map(({ card, folder: path }) => `${card.slug}: ${path.slice(dir.length + 1)}`)).toEqual([
    "kit-agents--y: agents/y.md",
    "w: .claude/agents/w.md",
    "x: agents/x.md",
    "y: skills/y",
  ]);
  expect(diagnostics.map(({ diagnostic: d }) => `${d.code} ${d.file} ${d.message}`)).toEqual([
    expect.stringMatching(/^slug_in_use y\.md Two skills have the slug y: /),
    expect.stringMatching(/^plugin_parts \.\.\/commands Hull serves .* but not its commands\./),
    "setting_without_effect hull.toml No agent of a plugin has the name other.",
  ]);
});

test("hull validate and hull pack take the file of an agent; hull sign refuses it", async () => {
  const project = folder({
    ".claude-plugin/plugin.json": '{"name": "kit"}',
    "agents/a.md":
      "---\nname: fix\ndescription: Use <example>it</example>\ntools: Foo\nmaxTurns: 9\n---\nT.\n",
    "agents/notes.md": "# Notes\n",
  });
  const at = (path: string) => join(project, path);
  const checked = await hullHere(["validate", at("agents/a.md")]);
  expect(checked.code).toBe(0);
  expect(checked.err.match(/a\.md:.*\]/g)).toEqual([
    expect.stringContaining("a.md:5:11: warning: maxTurns: Hull does not carry out the field maxTurns"),
    expect.stringContaining("a.md:4:1: warning: tool_scope: Nothing provides Foo"),
  ]);
  const notes = await hullHere(["validate", at("agents/notes.md")]);
  expect([notes.code, notes.err]).toEqual([3, expect.stringContaining("has a name or a description")]);
  expect((await hullHere(["pack", at("agents/a.md"), "--out", project])).code).toBe(0);
  expect(readFileSync(at("fix.skill")).includes("fix/SKILL.md")).toBe(true);
  await hullHere(["sign", "--new-key", at("key.pem")]);
  const signed = await hullHere(["sign", at("agents/a.md"), "--key", at("key.pem")]);
  expect([signed.code, signed.err]).toEqual([2, expect.stringContaining("one of the agents of a plugin")]);
});
