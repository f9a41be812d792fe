/**
 * Collections of skills as they are published: the build finds every layout, and reports every irregular form of text (R13,
 * R16).
 */
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type BuildResult, buildRoots } from "../../../scripts/build/build.ts";
import { BuildCache } from "../../../scripts/build/cache.ts";
import { PluginFolders } from "../../../scripts/build/shared-folder.ts";
import { openProject } from "../../../scripts/project.ts";
import type { SkillRecord } from "../../../src/skill/manifest.ts";
import { packTar, readTar } from "../../../src/skill/tar.ts";
import { NO_SIGNATURES } from "../../../src/skill/trust.ts";
import { WILD_LAYOUTS, WILD_TEXTS } from "../../fixtures/wild-collections.ts";
import { build as buildWith, folder, put, skillText } from "./folder.ts";

const PROVIDED = { mcp_servers: ["shop"], workspace_tools: true, sub_agents: true };
const TERMS = { models: { file: {}, root: {} }, signatures: NO_SIGNATURES, provided: PROVIDED };

async function recordOf({ skills }: BuildResult, slug: string): Promise<SkillRecord> {
  const skill = skills.find(({ card }) => card.slug === slug) ?? expect.fail(`no ${slug}`);
  const contents = await skill.contents();
  return JSON.parse(new TextDecoder().decode(contents.get(`skill/${skill.digest}`)));
}

async function build(dir: string, cache?: BuildCache): Promise<BuildResult> {
  const { roots } = await openProject(dir);
  const options = { projectDir: dir, keepGoing: true, terms: TERMS };
  return buildRoots(roots, cache === undefined ? options : { ...options, cache });
}

const codes = ({ diagnostics }: BuildResult, skill: string) =>
  diagnostics
    .filter(({ diagnostic: d }) => d.skill === skill && d.level !== "info")
    .map(({ diagnostic }) => diagnostic.code);

test("copies for several tools: the skill outside of hidden folders is served", async () => {
  const project = folder({
    "skills/.agents/skills/twin/SKILL.md": skillText("Twin"),
    "skills/.claude/skills/twin/SKILL.md": skillText("Twin"),
    "skills/skills/twin/SKILL.md": skillText("Twin"),
  });
  const { found, skills, diagnostics } = await buildWith(project, { keepGoing: true });
  expect(found).toEqual([
    "error duplicate_slug .agents/skills/twin/SKILL.md",
    "error duplicate_slug .claude/skills/twin/SKILL.md",
  ]);
  expect(skills.map(({ folder: path }) => path)).toEqual([join(project, "skills/skills/twin")]);
  expect(diagnostics[0]?.diagnostic.hint).toContain("or list the folder of one in .hullignore");
});

test.each(Object.entries(WILD_LAYOUTS))("R13: %s", async (_, { files, served }) => {
  const result = await build(folder(files));
  const found = await Promise.all(
    result.skills.map(async ({ card: { slug } }) => {
      const { namespace, plugin } = await recordOf(result, slug);
      return [slug, namespace, plugin?.name].filter((part) => part !== undefined).join(" ");
    }),
  );
  expect(found).toEqual(served);
});

const byFolder = ({ skills }: BuildResult) => new Map(skills.map((skill) => [skill.folder, skill]));

test("a root's SKILL.md without frontmatter above skills describes them, and is none", async () => {
  const project = folder({
    "SKILL.md": "# Our collection\n",
    "sub/SKILL.md": skillText("Sub"),
    "deep/er/SKILL.md": skillText("Deep"),
  });
  const collection = await buildWith(project, {}, [project]);
  expect([collection.slugs, collection.found]).toEqual([
    ["deep", "sub"],
    ["warning frontmatter_missing SKILL.md"],
  ]);
  const alone = folder({ "SKILL.md": "# Nothing below\n", "sub/README.md": "Text.\n" });
  const broken = await buildWith(alone, { keepGoing: true }, [alone]);
  expect([broken.slugs, broken.found]).toEqual([[], ["error frontmatter_missing SKILL.md"]]);
  const typed = folder({ "SKILL.md": "# Typed\n", "skill.ts": "", "sub/SKILL.md": skillText("Sub") });
  expect((await buildWith(typed, { keepGoing: true }, [typed])).slugs).toEqual([]);
});

test("skills that the plugin of a root with SKILL.md declares are served next to it, and their files stay in it too", async () => {
  const project = folder({
    ".claude-plugin/plugin.json": '{"name": "kit"}',
    ".hullignore": "skills/left\n",
    "SKILL.md": skillText("Root"),
    "skills/a/SKILL.md": skillText("Root"),
    "skills/a/deep/SKILL.md": skillText("Deep"),
    "skills/left/SKILL.md": skillText("Left"),
    "sub/SKILL.md": skillText("Sub"),
  });
  mkdirSync(join(project, "skills/same"));
  symlinkSync("../../SKILL.md", join(project, "skills/same/SKILL.md"));
  symlinkSync("a", join(project, "skills/alias"));
  const result = await buildWith(project, { keepGoing: true }, [project]);
  expect(result.slugs).toEqual(["kit--root", "root"]);
  expect(result.found).toEqual([
    "warning nested_skill skills/same/SKILL.md",
    "warning nested_skill sub/SKILL.md",
    "warning slug_in_use skills/a/SKILL.md",
  ]);
  expect(result.diagnostics[2]?.diagnostic.message).toBe(
    "Two skills have the slug root: the root is served under it, skills/a as kit--root.",
  );
  expect((await recordOf(result, "root")).files.map(({ path }) => path)).toEqual([
    ".claude-plugin/plugin.json",
    "SKILL.md",
    "skills/a/SKILL.md",
    "skills/a/deep/SKILL.md",
    "skills/alias/SKILL.md",
    "skills/alias/deep/SKILL.md",
    "skills/same/SKILL.md",
    "sub/SKILL.md",
  ]);
  symlinkSync("..", join(project, "skills/up"));
  const looped = await buildWith(project, { keepGoing: true }, [project]);
  expect(looped.found).toContain("error link_loop skills/up");
  expect(looped.slugs).toEqual(["root"]);
});

test("watch mode: a skill inside another is removed with its declaration; it stays while the declaration is unreadable, which no publish accepts", async () => {
  const declared = '{"name": "kit"}';
  const project = folder({
    ".claude-plugin/plugin.json": declared,
    "SKILL.md": skillText("Root"),
    "skills/a/SKILL.md": skillText("A"),
  });
  const first = await buildWith(project, {}, [project]);
  let previous = byFolder(first);
  const saved = async (text: string) => {
    put(project, ".claude-plugin/plugin.json", text);
    const result = await buildWith(project, { keepLastGood: true, previous }, [project]);
    previous = byFolder(result);
    return result.skills.map(({ card: { slug, stale = false } }) => [slug, stale]);
  };
  const both = [
    ["a", false],
    ["root", false],
  ];
  expect(await saved(declared)).toEqual(both);
  expect(await saved("{")).toEqual([
    ["a", true],
    ["root", true],
  ]);
  const unsure = "error plugin_file skills/a/SKILL.md";
  for (const keepGoing of [false, true]) {
    const { slugs, found, catalog } = await buildWith(project, { keepGoing }, [project]);
    expect([slugs, found.includes(unsure), catalog !== null]).toEqual([["root"], true, keepGoing]);
  }
  expect(await saved(declared)).toEqual(both);
  rmSync(join(project, ".claude-plugin"), { recursive: true });
  const { slugs, found } = await buildWith(project, { keepLastGood: true, previous }, [project]);
  expect([slugs, found]).toEqual([["root"], ["warning nested_skill skills/a/SKILL.md"]]);
});

test("R13: a second skill of one slug is served under namespace--slug, with a warning that names both paths", async () => {
  const files = WILD_LAYOUTS["skills/AUTHOR/X, one slug twice"]?.files ?? {};
  const dir = folder(files);
  const cache = new BuildCache();
  await new Promise((resolve) => setTimeout(resolve, 60));
  const result = await build(dir, cache);
  const told = result.diagnostics.map(({ diagnostic }) => diagnostic);
  expect(told).toMatchObject([{ level: "warning", code: "slug_in_use", file: "bob/crane/SKILL.md" }]);
  expect(told[0]?.message).toMatch(/ann\/crane.*bob\/crane as bob--crane/);
  const { manifest } = await recordOf(result, "bob--crane");
  expect(manifest).toMatchObject({ name: "crane", slug: "bob--crane", route: "/skills/bob--crane" });
  const again = await build(dir, cache);
  expect([cache.rebuilt, again.catalog?.id]).toEqual([0, result.catalog?.id]);
});

test("R13: many skills with taken slugs give one warning that lists them", async () => {
  const crane = "---\nname: crane\ndescription: d\n---\nFold.\n";
  const boat = "---\nname: boat\ndescription: d\n---\nFold.\n";
  const files = ["ann", "bob", "cid"].flatMap((author) => [
    [`${author}/crane/SKILL.md`, crane],
    [`${author}/boat/SKILL.md`, boat],
  ]);
  const result = await build(folder(Object.fromEntries(files)));
  const told = result.diagnostics.map(({ diagnostic }) => diagnostic);
  expect(told).toMatchObject([{ level: "warning", code: "slug_in_use", file: "bob/boat/SKILL.md" }]);
  expect(told[0]?.message).toMatch(
    /^4 skills have slugs that others have: .*ann\/crane.*cid\/crane as cid--crane/,
  );
  const slugs = ["boat", "bob--boat", "bob--crane", "cid--boat", "cid--crane", "crane"];
  expect(result.skills.map(({ card }) => card.slug)).toEqual(slugs);
});

test("R13: a link within the root serves nothing twice; a link to another folder of the project is followed", async () => {
  const dir = folder({
    "skills/crane/SKILL.md": "---\nname: crane\ndescription: d\n---\nFold.\n",
    "shared/boat/SKILL.md": "---\nname: boat\ndescription: d\n---\nFold.\n",
    "hull.toml": "",
  });
  mkdirSync(join(dir, "skills/.claude"));
  symlinkSync("..", join(dir, "skills/.claude/skills"));
  symlinkSync("crane", join(dir, "skills/alias"));
  symlinkSync("../shared", join(dir, "skills/shared"));
  const result = await build(dir);
  expect(result.diagnostics).toEqual([]);
  expect(result.skills.map(({ card }) => card.slug)).toEqual(["boat", "crane"]);
});

test("a .hullignore in a folder between the root and a skill counts, for folders and for files", async () => {
  const text = (name: string) => `---\nname: ${name}\ndescription: d\n---\nFold.\n`;
  const dir = folder({
    "hull.toml": "",
    "skills/ann/.hullignore": "draft/\n*.log\n/crane/notes.md\n",
    "skills/ann/crane/SKILL.md": text("crane"),
    "skills/ann/crane/x.log": "1",
    "skills/ann/crane/notes.md": "1",
    "skills/ann/draft/SKILL.md": text("draft"),
    "skills/bob/draft/SKILL.md": text("bobs"),
    "skills/bob/draft/x.log": "1",
  });
  const result = await build(dir);
  const found = await Promise.all(
    result.skills.map(async ({ card: { slug } }) =>
      (await recordOf(result, slug)).files.map(({ path }) => path),
    ),
  );
  expect(found).toEqual([["SKILL.md", "x.log"], ["SKILL.md"]]);
});

test("R16: each text loads as far as possible, and everything missing is named", async () => {
  const entries = Object.entries(WILD_TEXTS);
  expect(entries.length).toBeGreaterThanOrEqual(60);
  const files = entries.flatMap(([name, { text, files: beside = {} }]) => [
    [`skills/${name}/SKILL.md`, text.replaceAll("NAME", name)],
    ...Object.entries(beside).map(([path, content]) => [`skills/${name}/${path}`, content]),
  ]);
  const dir = folder(Object.fromEntries(files));
  const result = await build(dir);
  const served = new Map(result.skills.map((skill) => [skill.folder, skill.card]));
  const seen = entries.map(([name]) => {
    const wants = served.get(join(dir, "skills", name))?.workspaceTools === true;
    return [name, codes(result, name), wants];
  });
  expect(seen).toEqual(entries.map(([name, { told = [], wants = false }]) => [name, told, wants]));
  const { files: bundled } = await recordOf(result, "junk-beside");
  expect(bundled.map(({ path }) => path)).toEqual(["SKILL.md"]);
});

test("the plugin's folder goes along where the skill names it, and its changes reach the skill", async () => {
  const naming = "---\nname: crane\ndescription: d\n---\nRun ${CLAUDE_PLUGIN_ROOT}/bin/fold.\n";
  const dir = folder({
    "hull.toml": "",
    "skills/paper/.claude-plugin/plugin.json": '{"name": "paper"}',
    "skills/paper/bin/fold*": "#!/bin/sh\n",
    "skills/paper/skills/crane/SKILL.md": naming,
    "skills/paper/skills/boat/SKILL.md": "---\nname: boat\ndescription: d\n---\nFold.\n",
  });
  await new Promise((resolve) => setTimeout(resolve, 60));
  const cache = new BuildCache();
  const first = await build(dir, cache);
  const { plugin } = await recordOf(first, "crane");
  expect(plugin).toMatchObject({ name: "paper", skill: "skills/crane" });
  expect(plugin?.folder?.files.map(({ path, mode }) => [path, mode])).toEqual([
    [".claude-plugin/plugin.json", 0o644],
    ["bin/fold", 0o755],
    ["skills/boat/SKILL.md", 0o644],
    ["skills/crane/SKILL.md", 0o644],
  ]);
  const skill = first.skills.find(({ card }) => card.slug === "crane");
  expect(skill?.objects).toContain(`pack/${plugin?.folder?.pack}`);
  expect((await recordOf(first, "boat")).plugin).toEqual({ name: "paper", skill: "skills/boat" });
  expect(first.skills.map(({ card }) => [card.slug, card.workspaceTools === true])).toEqual([
    ["boat", false],
    ["crane", true],
  ]);
  put(dir, "skills/paper/bin/fold*", "#!/bin/sh\necho 1\n");
  const again = await build(dir, cache);
  expect(cache.rebuilt).toBe(1);
  expect((await recordOf(again, "crane")).plugin?.folder?.pack).not.toBe(plugin?.folder?.pack);
});

test("a build packs a plugin's folder once for all skills, and so does a sending that reads it again", async () => {
  const dir = folder({
    "hull.toml": "",
    "skills/paper/.claude-plugin/plugin.json": '{"name": "paper"}',
    // Three packs of this size are more than a build keeps.
    "skills/paper/sheet": "x".repeat(12 * 1024 * 1024),
    ...Object.fromEntries(
      ["boat", "crane", "star"].map((name) => [
        `skills/paper/skills/${name}/SKILL.md`,
        `---\nname: ${name}\ndescription: d\n---\nFold \${CLAUDE_PLUGIN_ROOT}/sheet.\n`,
      ]),
    ),
  });
  const packsOf = async (result: BuildResult, plugins?: PluginFolders) => {
    const { plugin } = await recordOf(result, "crane");
    const all = await Promise.all(result.skills.map((skill) => skill.contents(plugins)));
    return new Set(
      all.map((contents) => contents.get(`pack/${plugin?.folder?.pack}`) ?? expect.fail("no pack")),
    );
  };
  await new Promise((resolve) => setTimeout(resolve, 60));
  const cache = await BuildCache.open(dir);
  const first = await build(dir, cache);
  await cache.save();
  const [made = expect.fail("no pack"), ...others] = await packsOf(first);
  expect(others.length).toBe(0);
  const restored = await build(dir, await BuildCache.open(dir));
  const [same = expect.fail("no pack"), ...apart] = await packsOf(restored, new PluginFolders());
  expect([same === made, apart.length]).toEqual([false, 0]);
  expect(Buffer.compare(same, made)).toBe(0);
  put(dir, "skills/paper/sheet", "other");
  const kept = await packsOf(first);
  expect([kept.size, kept.has(made)]).toEqual([1, true]);
  await expect(restored.skills[0]?.contents()).rejects.toMatchObject({ code: "skill_changed" });
});

test("a link to a file of the plugin brings the plugin's folder, also where the file comes later", async () => {
  const text = (name: string, body: string) => `---\nname: ${name}\ndescription: d\n---\n${body}\n`;
  const dir = folder({
    "hull.toml": "",
    "outside.md": "1",
    "skills/paper/.claude-plugin/plugin.json": '{"name": "paper"}',
    "skills/paper/SHEETS.md": "White ones.\n",
    "skills/paper/skills/crane/SKILL.md": text("crane", "Choose from [the sheets](../../SHEETS.md)."),
    "skills/paper/skills/boat/SKILL.md": text("boat", "See [the crane](../crane/SKILL.md), [this](./)."),
    "skills/paper/skills/hat/SKILL.md": text("hat", "See [the rest](../../../../outside.md)."),
    "skills/paper/skills/kite/SKILL.md": text("kite", "Run scripts/fold.sh."),
    "skills/paper/skills/kite/scripts/fold.sh": 'cat "$(dirname "$0")/../../../SHEETS.md"\n',
    "skills/paper/skills/swan/SKILL.md": text("swan", "Run scripts/fold.sh."),
    "skills/paper/skills/swan/scripts/fold.sh": 'cat "$(dirname "$0")/../../boat/SKILL.md" ../../SHEETS.md\n',
    "skills/paper/skills/star/SKILL.md": text(
      "star",
      "See [the glues](../../GLUES.md), `[x](../../SHEETS.md)`.",
    ),
  });
  await new Promise((resolve) => setTimeout(resolve, 60));
  const cache = new BuildCache();
  const first = await build(dir, cache);
  const folders = async (result: BuildResult) =>
    Promise.all(
      ["boat", "crane", "hat", "kite", "star", "swan"].map(async (slug) => {
        const { plugin } = await recordOf(result, slug);
        return (
          plugin?.folder?.linked === true && plugin.folder.files.some(({ path }) => path === "SHEETS.md")
        );
      }),
    );
  expect(await folders(first)).toEqual([false, true, false, true, false, false]);
  expect(first.skills.map(({ card }) => card.workspaceTools === true)).toEqual([
    false,
    true,
    false,
    true,
    false,
    true,
  ]);
  put(dir, "skills/paper/GLUES.md", "Rice.\n");
  expect(await folders(await build(dir, cache))).toEqual([false, true, false, true, true, false]);
});

test("a script that is a link to a file of the plugin brings the plugin's folder, with the link in it", async () => {
  const text = (name: string) => `---\nname: ${name}\ndescription: d\n---\nRun scripts/x.py.\n`;
  const dir = folder({
    "hull.toml": "",
    "lib/x.py": "import near\n",
    "skills/paper/.claude-plugin/plugin.json": '{"name": "paper"}',
    "skills/paper/lib/x.py": "import near\n",
    "skills/paper/lib/near.py": "print(1)\n",
    "skills/paper/lib/notes.md": "Notes.\n",
    "skills/paper/skills/crane/SKILL.md": text("crane"),
    "skills/paper/skills/crane/scripts/.keep": "",
    "skills/paper/skills/swan/SKILL.md": text("swan"),
    "skills/paper/skills/swan/scripts/.keep": "",
    "skills/paper/skills/boat/SKILL.md": text("boat"),
    "skills/paper/skills/boat/lib/x.py": "import near\n",
    "skills/paper/skills/kite/SKILL.md": text("kite"),
    "skills/paper/skills/kite/scripts/.keep": "",
  });
  const at = (path: string) => join(dir, "skills/paper/skills", path);
  symlinkSync("../../../lib/x.py", at("crane/scripts/x.py"));
  symlinkSync("../../boat/lib/x.py", at("swan/scripts/x.py"));
  symlinkSync("lib", at("boat/scripts"));
  symlinkSync("../../lib/notes.md", at("boat/notes.md"));
  symlinkSync("../../../../../lib/x.py", at("kite/scripts/x.py"));
  const result = await build(dir);
  const linksOf = async (slug: string) => {
    const { pack, plugin } = await recordOf(result, slug);
    const contents = await result.skills.find(({ card }) => card.slug === slug)?.contents();
    return [pack, plugin?.folder?.pack].map((digest) =>
      readTar(contents?.get(`pack/${digest}`) ?? packTar([])).flatMap(({ path, link }) =>
        link === undefined ? [] : [`${path} ${link}`],
      ),
    );
  };
  const shared = [
    "skills/boat/notes.md lib/notes.md",
    "skills/boat/scripts/x.py skills/boat/lib/x.py",
    "skills/crane/scripts/x.py lib/x.py",
    "skills/swan/scripts/x.py skills/boat/lib/x.py",
  ];
  expect(await linksOf("crane")).toEqual([[], shared]);
  expect(await linksOf("swan")).toEqual([[], shared]);
  expect(await linksOf("boat")).toEqual([["scripts/x.py lib/x.py"], []]);
  expect(await linksOf("kite")).toEqual([[], []]);
  expect((await recordOf(result, "crane")).plugin?.folder?.linked).toBe(true);
});

test("a finding names what Hull does not serve of a plugin, and the MCP servers that its skills expect and hull.toml lacks", async () => {
  const project = folder({
    ".claude-plugin/marketplace.json": JSON.stringify({
      plugins: [
        { name: "sales", source: "./sales", mcpServers: { crm: { url: "https://crm.example/mcp" } } },
        { name: "docs", source: "./docs", mcpServers: ["./servers.json", "../outside.json"] },
      ],
    }),
    "sales/.mcp.json":
      '\uFEFF{"mcpServers": {"Google Calendar": {"type": "http", "url": ""}, "shop": {}, "1password": 7}}',
    "sales/skills/pipeline/SKILL.md": skillText("Pipeline"),
    "sales/skills/forecast/SKILL.md": skillText("Forecast"),
    "sales/commands/quote.md": "Quote $1.",
    "sales/hooks/hooks.json": "{}",
    "docs/servers.json": '{"pages": {"command": "npx"}}',
    "docs/.mcp.json": "{",
    "docs/skills/writer/SKILL.md": skillText("Writer"),
    "outside.json": '{"secret": {"url": "https://outside.example/mcp"}}',
    "plain/SKILL.md": skillText("Plain"),
  });
  const cache = new BuildCache();
  const result = await buildWith(project, { terms: TERMS, cache }, [project]);
  const expected = async (slug: string) => (await recordOf(result, slug)).plugin?.mcp_servers;
  expect(await Promise.all(["pipeline", "forecast", "writer", "plain"].map(expected))).toEqual([
    ["crm", "google-calendar", "shop"],
    ["crm", "google-calendar", "shop"],
    ["pages"],
    undefined,
  ]);
  const found = ({ diagnostics }: BuildResult, wanted = "plugin_mcp_servers") =>
    diagnostics.flatMap(({ diagnostic: { code, file, message, hint } }) =>
      code === wanted ? [`${file}: ${message} ${hint}`] : [],
    );
  expect(found(result)).toEqual([
    expect.stringMatching(/^docs\/\.mcp\.json: The plugin docs expects .*: pages\. .* into mcp_servers /),
    expect.stringMatching(
      /^sales\/\.mcp\.json: The plugin sales expects .*: crm, google-calendar\. .*\[mcp\.servers\.crm\] with url = "https:\/\/crm\.example\/mcp"/,
    ),
  ]);
  expect(found(result, "plugin_parts")).toEqual([
    expect.stringMatching(
      /^sales\/commands: .* of the plugin sales, but not its commands, hooks\. .*commands = true/,
    ),
  ]);
  const more = await buildWith(project, { terms: TERMS, commands: true }, [project]);
  expect(found(more, "plugin_parts")).toEqual([
    expect.stringMatching(/^sales\/hooks\/hooks\.json: .* but not its hooks\. /),
  ]);
  const all = { ...PROVIDED, mcp_servers: ["crm", "google_calendar", "shop", "pages"] };
  expect(found(await buildWith(project, { terms: { ...TERMS, provided: all }, cache }, [project]))).toEqual(
    [],
  );
  expect(found(await buildWith(project, {}, [project]))).toEqual([]);
  put(project, "docs/.mcp.json", '{"mcpServers": {"notes": {"url": "https://notes.example/mcp"}}}');
  const changed = await buildWith(project, { cache }, [project]);
  expect((await recordOf(changed, "writer")).plugin?.mcp_servers).toEqual(["notes", "pages"]);
});
