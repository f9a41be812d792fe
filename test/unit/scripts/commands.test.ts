/** Commands of Claude Code as skills: which files are commands, what SKILL.md becomes of them, and where findings point. */
import { readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type BuildResult, buildRoots } from "../../../scripts/build/build.ts";
import { BuildCache } from "../../../scripts/build/cache.ts";
import { buildOptionsOf, openProject } from "../../../scripts/project.ts";
import type { SkillRecord } from "../../../src/skill/manifest.ts";
import { readTar } from "../../../src/skill/tar.ts";
import { hullHere } from "../../support/hull-here.ts";
import { build, folder, put, skillText } from "./folder.ts";

const COMMAND = "---\ndescription: d\n---\nDo it.\n";
const ON = { commands: true, keepGoing: true };

/** Everything that the registry stores of a skill. */
async function stored({ skills }: Pick<BuildResult, "skills">, slug: string) {
  const skill = skills.find(({ card }) => card.slug === slug) ?? expect.fail(`no ${slug}`);
  const contents = await skill.contents();
  const record: SkillRecord = JSON.parse(
    new TextDecoder().decode(contents.get(`skill/${skill.digest}`) ?? expect.fail("no record")),
  );
  const pack = contents.get(`pack/${record.pack}`) ?? expect.fail("no pack");
  const files = readTar(pack).map(({ path, bytes }) => [path, new TextDecoder().decode(bytes)]);
  return { record, files };
}

test("commands are the Markdown files of a plugin's folder or list, and of .claude/commands, if hull.toml wants them", async () => {
  const project = folder({
    ".claude-plugin/marketplace.json": JSON.stringify({
      plugins: [
        { name: "one", source: "./one" },
        { name: "list", source: "./list" },
        { name: "bare", source: "./bare", skills: ["./skills/b"], commands: "./extra" },
      ],
    }),
    ".claude/commands/deploy.md": COMMAND,
    ".claude/commands/db/migrate.md": COMMAND,
    ".hullignore": "one/commands/left.md\n",
    "one/commands/fix.md": COMMAND,
    "one/commands/Open PR.md": COMMAND,
    "one/commands/left.md": COMMAND,
    "one/commands/README.md": "# Commands\n",
    "one/commands/data.json": "{}",
    "one/commands/node_modules/x.md": COMMAND,
    "one/commands/tool/SKILL.md": skillText("Tool"),
    "one/commands/tool/part.md": COMMAND,
    "one/skills/s/SKILL.md": skillText("S"),
    "one/skills/s/commands/not.md": COMMAND,
    "list/.claude-plugin/plugin.json": '{"name": "list", "commands": ["./commands/only.md", "more"]}',
    "list/commands/only.md": COMMAND,
    "list/commands/part.md": COMMAND,
    "list/more/deep/er.md": COMMAND,
    "bare/skills/b/SKILL.md": skillText("B"),
    "bare/extra/e.md": COMMAND,
    "bare/commands/usual.md": COMMAND,
    "kit/.claude-plugin/plugin.json": '{"name": "kit"}',
    "kit/SKILL.md": skillText("Kit"),
    "kit/commands/inner.md": COMMAND,
    "kit/.claude/commands/of-skill.md": COMMAND,
    "none/commands/x.md": COMMAND,
  });
  const { slugs, skills, found } = await build(project, ON, [project]);
  const commands = ["deploy", "e", "er", "fix", "inner", "migrate", "only", "open-pr"];
  expect(slugs).toEqual([...commands, "b", "kit", "s", "tool"].sort());
  expect(found).toEqual([]);
  expect(skills.find(({ card }) => card.slug === "fix")?.folder).toBe(join(project, "one/commands/fix.md"));
  const places = await Promise.all(
    commands.map(async (slug) => {
      const { namespace, plugin } = (await stored({ skills }, slug)).record;
      return [slug, namespace, plugin?.name];
    }),
  );
  expect(places).toEqual([
    ["deploy", undefined, undefined],
    ["e", "bare", "bare"],
    ["er", "list", "list"],
    ["fix", "one", "one"],
    ["inner", "kit", "kit"],
    ["migrate", "db", undefined],
    ["only", "list", "list"],
    ["open-pr", "one", "one"],
  ]);
  const off = await build(project, {}, [project]);
  expect(off.slugs).toEqual(["b", "kit", "s", "tool"]);
  const some = async (...globs: string[]) => (await build(project, { commands: globs }, [project])).slugs;
  expect(await some("one/*", "db/migrate", "er")).toEqual([
    "b",
    "er",
    "fix",
    "kit",
    "migrate",
    "open-pr",
    "s",
    "tool",
  ]);
});

/** By the name of its file, a command and the SKILL.md that it becomes. */
const TEXTS: Record<string, [given: string, made: string]> = {
  named: [
    "---\nname: Other Name\ndescription: d\n---\nT.\n",
    '---\nname: "named"\ndescription: d\n---\nT.\n',
  ],
  "no-name": ["---\ndescription: d\n---\nT.\n", '---\nname: "no-name"\ndescription: d\n---\nT.\n'],
  "no-description": [
    "---\nargument-hint: <n>\n---\n\n# Say *hi* to $1\n",
    '---\nname: "no-description"\ndescription: "Say *hi* to $1"\nargument-hint: <n>\n---\n\n# Say *hi* to $1\n',
  ],
  empty: [
    '---\ndescription: ""\n---\n> Quote.\n',
    '---\nname: "empty"\ndescription: "Quote."\n---\n> Quote.\n',
  ],
  plain: [
    '\uFEFF\r\n## It says: "x"\r\nAnd more.\r\n',
    '---\nname: "plain"\ndescription: "It says: \\"x\\""\n---\n\n## It says: "x"\nAnd more.\n',
  ],
};

test("a command becomes a SKILL.md with the name of its file, and a description from its first line if it has none", async () => {
  const files = Object.entries(TEXTS).map(([name, [given]]) => [`commands/${name}.md`, given]);
  const project = folder({ ".claude-plugin/plugin.json": '{"name": "kit"}', ...Object.fromEntries(files) });
  const result = await build(project, { commands: true }, [project]);
  expect(result.found).toEqual([]);
  expect(result.skills.every(({ card }) => card.workspaceTools)).toBe(true);
  for (const [name, [, made]] of Object.entries(TEXTS))
    expect((await stored(result, name)).files).toEqual([["SKILL.md", made]]);
});

test("a command brings the files of its plugin that it names, or links to from its own folder on", async () => {
  const project = folder({
    ".claude-plugin/plugin.json": '{"name": "kit"}',
    "commands/near.md": "Read [the steps](steps/one.md).\n",
    "commands/up.md": "Read [the notes](../notes.md#a).\n",
    "commands/root.md": "Run ${CLAUDE_PLUGIN_ROOT}/x.sh\n",
    "commands/none.md": "Read [itself](none.md) and [the lost](lost.md).\n",
    "commands/steps/one.md": "One.\n",
    "notes.md": "Notes.\n",
  });
  const result = await build(project, { commands: ["near", "up", "root", "none"] }, [project]);
  const plugins = await Promise.all(
    ["near", "up", "root", "none"].map(async (slug) => {
      const { skill, folder } = (await stored(result, slug)).record.plugin ?? {};
      return [skill, folder?.linked, folder?.files.length];
    }),
  );
  expect(plugins).toEqual([
    ["commands", true, 7],
    ["commands", true, 7],
    ["commands", undefined, 7],
    ["commands", undefined, undefined],
  ]);
});

test("a command gives way to a skill of its plugin, and one of a plugin takes the slug of no skill", async () => {
  const project = folder({
    ".claude/commands/plan.md": COMMAND,
    ".claude/commands/own.md": COMMAND,
    ".claude/skills/own/SKILL.md": skillText("Own"),
    "a/.claude-plugin/plugin.json": '{"name": "a"}',
    "a/commands/review.md": COMMAND,
    "a/commands/ship.md": COMMAND,
    "a/commands/sub/ship.md": COMMAND,
    "b/.claude-plugin/plugin.json": '{"name": "b"}',
    "b/commands/review.md": COMMAND,
    "b/commands/ship.md": COMMAND,
    "b/skills/review/SKILL.md": skillText("Review"),
    "c/.claude-plugin/plugin.json": '{"name": "c"}',
    "c/skills/ship/SKILL.md": skillText("Ship"),
    "c/skills/plan/SKILL.md": skillText("Plan"),
    "c/preview/trial/SKILL.md": skillText("Trial"),
    "c/commands/trial.md": COMMAND,
  });
  const { slugs, found, diagnostics, skills } = await build(project, { commands: true }, [project]);
  const of = (slug: string) =>
    skills.find(({ card }) => card.slug === slug)?.folder.slice(project.length + 1);
  expect(slugs.map((slug) => `${slug}: ${of(slug)}`)).toEqual([
    "a--review: a/commands/review.md",
    "a--ship: a/commands/ship.md",
    "a-sub--ship: a/commands/sub/ship.md",
    "b--ship: b/commands/ship.md",
    "c--plan: c/skills/plan",
    "own: .claude/skills/own",
    "plan: .claude/commands/plan.md",
    "review: b/skills/review",
    "ship: c/skills/ship",
    "trial: c/preview/trial",
  ]);
  expect(found).toEqual([
    "warning slug_in_use c/skills/plan/SKILL.md",
    "info slug_replaced b/commands/review.md",
    "info slug_replaced c/commands/trial.md",
    "info slug_replaced .claude/commands/own.md",
  ]);
  expect(diagnostics[1]?.diagnostic.message).toBe(
    'Hull does not serve this command. The slug "review" is already taken by the skill in b/skills/review.',
  );
});

test("a project of one plugin serves the commands next to its folder skills; a name that no command has is reported", async () => {
  const files = {
    "hull.toml": 'commands = ["kit/x", "y", "kit/z"]\n',
    ".claude-plugin/plugin.json": '{"name": "kit"}',
    ".claude/commands/y.md": COMMAND,
    "commands/x.md": COMMAND,
    "commands/w.md": COMMAND,
    "commands/y.md": COMMAND,
    "skills/y/SKILL.md": skillText("Y"),
  };
  const built = async (dir: string) => {
    const project = await openProject(dir);
    const { skills, diagnostics } = await buildRoots(project.roots, buildOptionsOf(project));
    const found = diagnostics.map(
      ({ diagnostic: d }) => `${d.level} ${d.code} ${d.file} ${d.line ?? "-"} ${d.message}`,
    );
    return [skills.map(({ folder: path }) => path.slice(dir.length + 1)), found];
  };
  const whole = folder(files);
  expect(await built(whole)).toEqual([
    ["commands/x.md", "skills/y"],
    [
      "info slug_replaced y.md - Hull does not serve this skill: skills/y has the slug y too, and its folder of skills comes later.",
      "info slug_replaced y.md - Hull does not serve this skill: skills/y has the slug y too, and its folder of skills comes later.",
      "warning setting_without_effect hull.toml 1 No command of a plugin has the name kit/z.",
    ],
  ]);
  rmSync(join(whole, "skills"), { recursive: true });
  rmSync(join(whole, ".claude"), { recursive: true });
  put(whole, "hull.toml", "commands = true\n");
  expect(await built(whole)).toEqual([["commands/w.md", "commands/x.md", "commands/y.md"], []]);
});

test("watch mode: a command that appears is built, one that breaks keeps its last good version, one that is gone goes", async () => {
  const project = folder({ ".claude-plugin/plugin.json": '{"name": "kit"}', "commands/a.md": COMMAND });
  const cache = new BuildCache();
  let previous = new Map();
  const next = async () => {
    const result = await build(project, { commands: true, cache, keepLastGood: true, previous }, [project]);
    previous = new Map(result.skills.map((skill) => [skill.folder, skill]));
    return result.skills.map(({ card: { slug, description, stale = false } }) => [slug, description, stale]);
  };
  expect(await next()).toEqual([["a", "d", false]]);
  put(project, "commands/b.md", "# B\n");
  expect(await next()).toEqual([
    ["a", "d", false],
    ["b", "B", false],
  ]);
  put(
    project,
    "commands/a.md",
    "---\ndescription: new\nallowed-tools: [\n---\nDo it.\n".replace("---\nDo", "Do"),
  );
  put(project, "commands/b.md", "# C\n");
  expect(await next()).toEqual([
    ["a", "d", true],
    ["b", "C", false],
  ]);
  rmSync(join(project, "commands/a.md"));
  expect(await next()).toEqual([["b", "C", false]]);
});

test("the text of a command may be a link inside its plugin, but not to a file elsewhere", async () => {
  const project = folder({
    "kit/.claude-plugin/plugin.json": '{"name": "kit"}',
    "kit/texts/there.md": COMMAND,
    "kit/commands/here.md": COMMAND,
    ".claude/commands/own.md": COMMAND,
    "secret.txt": COMMAND,
  });
  symlinkSync("../texts/there.md", join(project, "kit/commands/there.md"));
  for (const place of ["kit/commands", ".claude/commands"])
    symlinkSync("../../secret.txt", join(project, place, "away.md"));
  const { slugs, found } = await build(project, ON, [project]);
  expect(slugs).toEqual(["here", "own", "there"]);
  expect(found.filter((each) => each.includes("link_outside"))).toEqual([
    "error link_outside kit/commands/away.md",
    "error link_outside .claude/commands/away.md",
  ]);
});

test("hull validate and hull pack take the file of a command; hull sign refuses it", async () => {
  const project = folder({
    ".claude-plugin/plugin.json": '{"name": "kit"}',
    "commands/fix.md": "---\ndescription: d\nallowed-tools: Foo\n---\n\nSee [a](../a.md), [b](b.md).\n",
    "commands/other.md": "---\ndescription: d\nallowed-tools: Bar\n---\nT.\n",
    "notes/text.md": "Text.\n",
    "a.md": "A.\n",
  });
  const at = (path: string) => join(project, path);
  const checked = await hullHere(["validate", at("commands/fix.md")]);
  expect(checked.code).toBe(0);
  expect(checked.err.match(/[^/]*\.md:.*\]/g)).toEqual([
    "fix.md:3:1: warning: allowed-tools: Nothing provides Foo: the skill cannot use Foo. [tool_not_provided]",
    "fix.md:6:23: warning: The text links to b.md, which is not in the folder. [reference_missing]",
  ]);
  const [report] = JSON.parse((await hullHere(["validate", "--json", at("commands/fix.md")])).out);
  expect([report.properties.name, report.profiles, report.diagnostics.length]).toEqual([
    "fix",
    ["strict", "lenient", "husk"],
    2,
  ]);
  expect((await hullHere(["validate", at("notes/text.md")])).code).toBe(3);
  expect((await hullHere(["validate", at("a.txt")])).code).toBe(3);
  expect((await hullHere(["pack", at("commands/fix.md"), "--out", project])).code).toBe(0);
  expect(readFileSync(at("fix.skill")).includes("fix/SKILL.md")).toBe(true);
  await hullHere(["sign", "--new-key", at("key.pem")]);
  const signed = await hullHere(["sign", at("commands/fix.md"), "--key", at("key.pem")]);
  expect([signed.code, signed.err]).toEqual([2, expect.stringContaining("no place for a signature")]);
});
