import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { BuildCache } from "../../../scripts/build/cache.ts";
import { renderDiagnostics } from "../../../scripts/build/print.ts";
import type { BuiltSkill } from "../../../scripts/build/skill.ts";
import { writeBuild } from "../../../scripts/build/write.ts";
import { lockState } from "../../../scripts/dev/state-lock.ts";
import { readTar } from "../../../src/skill/tar.ts";
import { build, folder, put, skillText } from "./folder.ts";

/** The bytes of a skill's only object of a kind. */
async function objectOf(skill: BuiltSkill | undefined, kind: string): Promise<Uint8Array<ArrayBuffer>> {
  const contents = await skill?.contents();
  const [, bytes] = [...(contents ?? [])].find(([name]) => name.startsWith(`${kind}/`)) ?? [];
  return bytes ?? new Uint8Array();
}
const filesOf = async (skill: BuiltSkill | undefined): Promise<{ path: string; sha256: string }[]> =>
  JSON.parse(new TextDecoder().decode(await objectOf(skill, "skill"))).files;
const pathsOf = async (skill: BuiltSkill | undefined) => (await filesOf(skill)).map(({ path }) => path);

/** Until what was just written counts as unchanged. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 60));

const byFolder = (skills: BuiltSkill[]) => new Map(skills.map((skill) => [skill.folder, skill]));

const SCRIPT = {
  "skills/a/SKILL.md": skillText("A", "run: ./run.sh"),
  "skills/a/run.sh": "#!/bin/sh\necho hi\n",
  "skills/a/lib/x.py*": "x",
};

describe("digests", () => {
  test("depend on content and executable bits alone, not on times, umask or place", async () => {
    const one = folder(SCRIPT);
    const umask = process.umask(0o077);
    const two = folder(SCRIPT);
    process.umask(umask);
    utimesSync(join(two, "skills/a/run.sh"), 1, 1);
    const [first, second] = [await build(one), await build(two)];
    expect(first.catalog?.id).toBe(second.catalog?.id);
    expect(await objectOf(first.skills[0], "pack")).toEqual(await objectOf(second.skills[0], "pack"));
    put(two, "skills/a/run.sh", "#!/bin/sh\necho ho\n");
    expect((await build(two)).catalog?.id).not.toBe(first.catalog?.id);
  });

  test("executable bits: kept, and set for what is started directly, without touching the source", async () => {
    const project = folder(SCRIPT);
    const { skills } = await build(project);
    const modes = readTar(await objectOf(skills[0], "pack")).map((f) => [f.path, f.mode]);
    expect(modes).toEqual([
      ["SKILL.md", 0o644],
      ["lib/x.py", 0o755],
      ["run.sh", 0o755],
    ]);
    expect(statSync(join(project, "skills/a/run.sh")).mode & 0o777).toBe(0o644);
  });
});

describe("discovery", () => {
  test("S8: a root that is a skill ignores the skills inside it, with a warning each", async () => {
    const project = folder({
      "SKILL.md": skillText("Root"),
      "sub/SKILL.md": skillText("Sub"),
      "node_modules/x/SKILL.md": skillText("No"),
    });
    const result = await build(project, {}, [project]);
    expect(result.slugs).toEqual(["root"]);
    expect(result.found).toEqual(["warning nested_skill sub/SKILL.md"]);
    expect(result.diagnostics[0]?.diagnostic.message).toContain("sub");
  });

  test("folders at any depth, byte-sorted; another letter case is served and pointed out", async () => {
    const project = folder({
      "skills/b/SKILL.md": skillText("Same"),
      "skills/B/SKILL.md": skillText("same"),
      "skills/deep/er/SKILL.md": skillText("Deep"),
      "skills/low/skill.md": skillText("Low"),
      "skills/.venv/SKILL.md": skillText("Venv"),
    });
    const result = await build(project, { keepGoing: true });
    expect(result.found).toEqual(["warning file_name_case low/skill.md", "error duplicate_slug b/SKILL.md"]);
    expect(result.diagnostics[1]?.diagnostic.message).toMatch(/skill in B\./);
    expect(result.slugs).toEqual(["deep", "low", "same"]);
    expect(await pathsOf(result.skills[1])).toEqual(["skill.md"]);
  });

  test("S5: one broken skill of three prevents a catalog, unless broken ones are left out", async () => {
    const project = folder({
      "skills/a/SKILL.md": skillText("A"),
      "skills/b/SKILL.md": skillText("B", "mode: lmm\nroute: /healthz"),
      "skills/c/SKILL.md": skillText("C"),
    });
    const strict = await build(project);
    expect(strict.catalog).toBeNull();
    expect(strict.found).toEqual(["error value_not_allowed b/SKILL.md", "error reserved_route b/SKILL.md"]);
    const lenient = await build(project, { keepGoing: true });
    expect(lenient.slugs).toEqual(["a", "c"]);
    expect(lenient.catalog?.catalog.cards).toHaveLength(2);
  });

  test("later roots override by slug", async () => {
    const project = folder({
      "one/x/SKILL.md": skillText("X", "mode: llm\nmodel: first"),
      "one/y/SKILL.md": skillText("Y"),
      "two/z/SKILL.md": skillText("x", "mode: llm\nmodel: second"),
    });
    const result = await build(project, {}, [join(project, "one"), join(project, "two")]);
    expect(result.found).toEqual(["info slug_replaced x/SKILL.md"]);
    expect(result.skills.map((s) => [s.card.slug, s.manifest.llm?.target.model])).toEqual([
      ["x", "second"],
      ["y", null],
    ]);
  });
});

describe("links (S7)", () => {
  test("are followed inside the project only; errors name link and target", async () => {
    const outside = folder({ "s/SKILL.md": skillText("Out"), "secret.txt": "s" });
    const project = folder({
      "shared/tool.py": "print(1)",
      "shared/dir/x.txt": "x",
      "skills/a/SKILL.md": skillText("A", "run: [python3, tool.py]"),
      "skills/b/SKILL.md": skillText("B"),
      "skills/c/SKILL.md": skillText("C"),
    });
    symlinkSync("../../shared/tool.py", join(project, "skills/a/tool.py"));
    symlinkSync("../../shared/dir", join(project, "skills/a/dir"));
    symlinkSync(join(outside, "secret.txt"), join(project, "skills/b/secret.txt"));
    symlinkSync(".", join(project, "skills/c/loop"));
    symlinkSync("nowhere", join(project, "skills/c/broken"));
    symlinkSync(join(outside, "s"), join(project, "skills/out"));
    const result = await build(project, { keepGoing: true });
    expect(result.slugs).toEqual(["a"]);
    expect(await pathsOf(result.skills[0])).toEqual(["SKILL.md", "dir/x.txt", "tool.py"]);
    expect(result.found.sort()).toEqual([
      "error link_broken c/broken",
      "error link_loop c/loop",
      "error link_outside b/secret.txt",
      "error link_outside out",
    ]);
    const messages = result.diagnostics.map(({ diagnostic }) => diagnostic.message).join("\n");
    expect(messages).toContain(`b/secret.txt leads to ${join(outside, "secret.txt")}`);
    expect(messages).toContain(`out leads to ${join(outside, "s")}`);
  });
});

test.runIf(process.platform === "linux")(
  "names that no pack can hold are errors with their paths",
  async () => {
    const project = folder({ "skills/a/SKILL.md": skillText("A"), "skills/b/SKILL.md": skillText("B") });
    const at = (...names: (string | Buffer)[]): Buffer =>
      Buffer.concat([project, "/skills", ...names].map((name) => Buffer.from(name)));
    const latin = Buffer.from("/caf\xe9", "latin1");
    for (const location of [at("/a/x\\y"), at("/a", latin), at(latin)]) {
      mkdirSync(location);
      writeFileSync(Buffer.concat([location, Buffer.from("/SKILL.md")]), skillText("C"));
    }
    writeFileSync(at("/a", latin, ".txt"), "x");
    symlinkSync("SKILL.md", at("/a/link", latin.subarray(1)));
    const before = process.cwd();
    const names = Array.from("0123456789abc", (letter) => letter.repeat(250));
    try {
      process.chdir(join(project, "skills/a"));
      for (const name of names) {
        mkdirSync(name);
        process.chdir(name);
      }
      writeFileSync("f", "x");
    } finally {
      process.chdir(before);
    }
    const result = await build(project, { keepGoing: true });
    const deep = names.join("/");
    expect(result.slugs).toEqual(["b"]);
    expect(result.found.sort()).toEqual([
      `error file_name a/${deep}`,
      "error file_name a/caf\ufffd",
      "error file_name a/caf\ufffd.txt",
      "error file_name a/linkcaf\ufffd",
      "error file_name a/x\\y",
      "warning file_name caf\ufffd",
    ]);
    const messages = result.diagnostics.map(({ diagnostic }) => diagnostic.message).sort();
    expect(messages).toEqual([
      `The name "${deep.slice(0, 200)}…" is longer than 3072 bytes with its folders.`,
      'The name "caf\ufffd" is not UTF-8, so Hull looks for no skill in it.',
      'The name "caf\ufffd" is not UTF-8.',
      'The name "caf\ufffd.txt" is not UTF-8.',
      'The name "linkcaf\ufffd" is not UTF-8.',
      'The name "x\\\\y" contains a backslash or control characters.',
    ]);
  },
);

test("the build reports folders and ignore files that it cannot read", async () => {
  const project = folder({
    "skills/a/SKILL.md": skillText("A"),
    "skills/a/data/x.txt": "x",
    "skills/b/SKILL.md": skillText("B"),
    "skills/c/SKILL.md": skillText("C"),
    "skills/lost+found/x": "x",
    "skills/d/SKILL.md": skillText("D"),
    "skills/d/secret": "x",
    "skills/e/SKILL.md": skillText("E"),
    "skills/e/data/x": "x",
    "skills/f/SKILL.md": skillText("F"),
    "skills/p/.claude-plugin/plugin.json": `{"name": "p"}`,
    "skills/p/skills/g/SKILL.md": `${skillText("G")}\n\${CLAUDE_PLUGIN_ROOT}/shared`,
    "skills/p/skills/h/SKILL.md": skillText("H"),
    "skills/p/shared": "x",
  });
  symlinkSync("nowhere", join(project, "skills/p/link"));
  for (const name of ["a/data", "b", "lost+found", "d/secret", "f/SKILL.md", "p/shared"])
    chmodSync(join(project, "skills", name), 0);
  chmodSync(join(project, "skills/e/data"), 0o400);
  // Root bypasses permission checks, so the command runs without these capabilities.
  const bin = join(import.meta.dirname, "../../../bin/hull.mjs");
  const command = [process.execPath, bin, "validate", "skills"];
  if (process.getuid?.() === 0) command.unshift("setpriv", "--bounding-set=-dac_override,-dac_read_search");
  const [program = "", ...args] = command;
  const validate = (...more: string[]) => {
    const { status, stdout, stderr } = spawnSync(program, [...args, ...more], {
      cwd: project,
      encoding: "utf8",
    });
    return { status, printed: stdout + stderr };
  };
  const { status, printed } = validate();
  const unread = "cannot be read: its permissions do not allow it. [file_unreadable]";
  expect(printed.match(/^skills\/p\S*: warning: .*/gm)).toEqual([
    "skills/p/link: warning: The link link leads nowhere. [link_broken]",
    `skills/p/shared: warning: The file shared ${unread}`,
  ]);
  expect(printed.match(/^skills\/\S+: error: .*/gm)).toEqual([
    "skills/a/data: error: The folder a/data cannot be read: its permissions do not allow it. [folder_unreadable]",
    "skills/d/secret: error: The file secret cannot be read: its permissions do not allow it. [file_unreadable]",
    "skills/e/data/x: error: The file data/x cannot be read: its permissions do not allow it. [file_unreadable]",
    `skills/f/SKILL.md: error: The file SKILL.md ${unread}`,
    "skills/b: error: The folder b cannot be read: its permissions do not allow it. [folder_unreadable]",
  ]);
  expect([status, printed]).toEqual([1, expect.stringContaining("3 valid skills, 5 errors")]);
  const format = validate("--profile", "lenient").printed;
  expect(format).toContain(`skills/f/SKILL.md: error: The file SKILL.md ${unread}`);
  expect(format).not.toMatch(/skills\/f\/SKILL\.md:\d/);
  put(project, "skills/.hullignore", "a\nb\nd\ne\nf\np\n");
  expect(validate().status).toBe(0);
  chmodSync(join(project, "skills/.hullignore"), 0);
  expect(validate()).toEqual({
    status: 1,
    printed: expect.stringMatching(/^hull: Cannot open \S+\.hullignore: its permissions do not allow it\.$/m),
  });
});

test("files that are never bundled, and .hullignore of project, root and skill", async () => {
  const project = folder({
    ".hullignore": "skills/a/secret-plans",
    "skills/.hullignore": "*.log",
    "skills/a/.hullignore": "data/\nlinked/\n!keep.log",
    "skills/a/SKILL.md": skillText("A"),
    "skills/a/.env": "KEY=1",
    "skills/a/.git/config": "x",
    "skills/a/m.pyc": "x",
    "skills/a/._SKILL.md": "x",
    "skills/a/secret-plans": "x",
    "skills/a/x.log": "x",
    "skills/a/keep.log": "x",
    "skills/a/data/y": "x",
    "skills/a/sub/data": "a file, not a folder",
  });
  symlinkSync("sub", join(project, "skills/a/linked"));
  expect(await pathsOf((await build(project)).skills[0])).toEqual(["SKILL.md", "keep.log", "sub/data"]);
});

test("a skill of more files than a runner unpacks is an error", async () => {
  const shared = Object.fromEntries(Array.from({ length: 499 }, (_, n) => [`shared/${n}`, ""]));
  const project = folder({ "skills/a/SKILL.md": skillText("A"), ...shared });
  for (let n = 0; n < 100; n++) symlinkSync("../../shared", join(project, `skills/a/${n}`));
  const { found, diagnostics } = await build(project);
  expect(found).toEqual(["error skill_too_large a/SKILL.md"]);
  expect(diagnostics[0]?.diagnostic.message).toContain("50001 files and folders; at most 50000");
});

test.each([
  ["a folder of skills", "a/SKILL.md", ["SKILL.md", "notes.md"]],
  ["a project of one skill", "SKILL.md", ["SKILL.md", "a/notes.md"]],
])("the state of hull dev inside %s is no part of it", async (_, path, files) => {
  const unpacked = "state/runner/bundles/1/SKILL.md";
  const project = folder({ [path]: skillText("A"), "a/notes.md": "x", [unpacked]: skillText("A") });
  await (await lockState(join(project, "state")))();
  put(project, "state/secret.key", "secret");
  const { skills, found } = await build(project, {}, [project]);
  expect(found).toEqual([]);
  expect(skills).toHaveLength(1);
  expect(await pathsOf(skills[0])).toEqual(files);
});

test("SKILL.md that is not UTF-8 is an error, and a warning in a plain Agent Skill", async () => {
  const text = (fields: string) => Buffer.from(`---\nname: a\ndescription: \xff\n${fields}---\nb`, "latin1");
  const project = folder({ "skills/a/SKILL.md": text("mode: llm\n"), "skills/b/SKILL.md": text("") });
  const { found, slugs } = await build(project, { keepGoing: true });
  expect(found).toEqual([
    "error encoding a/SKILL.md",
    "warning encoding b/SKILL.md",
    "warning name_directory_mismatch b/SKILL.md",
  ]);
  expect(slugs).toEqual(["a"]);
});

describe("watching", () => {
  test("S11: only what changed is built again; ignored files change nothing", async () => {
    const project = folder({
      ...SCRIPT,
      "skills/b/SKILL.md": skillText("B"),
      "skills/c/SKILL.md": skillText("C"),
    });
    const cache = new BuildCache();
    await settled();
    const first = await build(project, { cache });
    expect(cache.rebuilt).toBe(3);
    put(project, "skills/a/.env", "KEY=1");
    put(project, "skills/b/x.pyc", "x");
    expect((await build(project, { cache })).catalog).toEqual(first.catalog);
    expect(cache.rebuilt).toBe(0);
    put(project, "skills/b/state.json", "{}");
    await settled();
    const second = await build(project, { cache });
    expect(cache.rebuilt).toBe(1);
    expect(second.skills.map((s, i) => s.digest === first.skills[i]?.digest)).toEqual([true, false, true]);
    renameSync(join(project, "skills/c"), join(project, "skills/d"));
    expect((await build(project, { cache })).slugs).toEqual(["a", "b", "c"]);
    expect(cache.rebuilt).toBe(1);
  });

  test("another process continues with what was saved, and reads what it must send", async () => {
    const project = folder({
      ...SCRIPT,
      "skills/b/SKILL.md": skillText("B"),
      "skills/bad/SKILL.md": skillText("Bad", "mode: lmm"),
      "skills/page/SKILL.md": skillText("Page", "serve: page.html"),
      "skills/page/page.html": "<p>",
    });
    const build_ = async () => {
      const cache = await BuildCache.open(project);
      const result = await build(project, { cache, keepGoing: true });
      await cache.save();
      const contents = await Promise.all(result.skills.map((skill) => skill.contents()));
      return { rebuilt: cache.rebuilt, found: result.found, catalog: result.catalog, contents };
    };
    await settled();
    const first = await build_();
    expect(first).toMatchObject({ rebuilt: 4, found: ["error value_not_allowed bad/SKILL.md"] });
    expect(await build_()).toEqual({ ...first, rebuilt: 0 });
    put(project, "skills/b/SKILL.md", skillText("B", "mode: llm\nmodel: other"));
    // Written a moment ago, as its time says, it may be written again unseen: not relied on.
    const file = join(project, "skills/b/SKILL.md");
    const soon = new Date(Date.now() + 3_600_000);
    utimesSync(file, soon, soon);
    for (let i = 0; i < 2; i++) expect((await build_()).rebuilt).toBe(1);
    utimesSync(file, 1, 1);
    await settled();
    expect((await build_()).rebuilt).toBe(1);
    expect((await build_()).rebuilt).toBe(0);
    put(project, ".hull/cache/skills.json", "{");
    expect((await build_()).rebuilt).toBe(4);
  });

  test("a folder that changes between the build and the reading of its files is not sent", async () => {
    const project = folder(SCRIPT);
    await settled();
    for (let i = 0; i < 2; i++) {
      const cache = await BuildCache.open(project);
      const { skills } = await build(project, { cache });
      await cache.save();
      if (i === 0) continue;
      put(project, "skills/a/run.sh", "echo other\n");
      await expect(skills[0]?.contents()).rejects.toMatchObject({ code: "skill_changed" });
    }
  });

  test("a broken skill keeps its last good version until its folder goes", async () => {
    const project = folder({ "skills/a/SKILL.md": skillText("A"), "skills/b/SKILL.md": skillText("B") });
    const previous = byFolder((await build(project)).skills);
    const again = () => build(project, { keepLastGood: true, previous });

    put(project, "skills/a/SKILL.md", skillText("A", "mode: lmm"));
    const broken = await again();
    expect(broken.found).toEqual(["error value_not_allowed a/SKILL.md"]);
    expect(broken.catalog?.catalog.cards.map((c) => [c.slug, c.stale])).toEqual([
      ["a", true],
      ["b", undefined],
    ]);
    // As in the record: `file` is relative to the skill's folder.
    const fault = { level: "error", code: "value_not_allowed", skill: "a", file: "SKILL.md", line: 4 };
    const faults = { a: [fault] };
    expect(broken.catalog?.catalog).toMatchObject({ faults });
    expect(broken.skills[0]?.digest).toBe(previous.get(join(project, "skills/a"))?.digest);

    rmSync(join(project, "skills/a/SKILL.md"));
    expect((await again()).slugs).toEqual(["a", "b"]);
    rmSync(join(project, "skills/a"), { recursive: true });
    expect((await again()).slugs).toEqual(["b"]);
  });

  test("a tool, workflow or plugin that breaks disables nothing that worked; what never worked does not block the rest", async () => {
    const tools = (broken: string): string =>
      JSON.stringify([
        { name: "count", description: "Counts.", script: "scripts/count.js" },
        { name: "lost", description: "Is lost.", script: broken },
      ]);
    const files = {
      "SKILL.md": skillText("A"),
      "tools.json": tools("scripts/count.js"),
      "scripts/count.js": "export default () => 1;\n",
      "workflows/flow.yaml": "nodes: {a: {}}\n",
      "workflows/never.yaml": "nodes: [\n",
      ".claude-plugin/plugin.json": '{"name": "desk"}',
    };
    const project = folder(Object.fromEntries(Object.entries(files).map(([k, v]) => [`skills/a/${k}`, v])));
    let previous = byFolder((await build(project)).skills);
    const again = async () => {
      const result = await build(project, { keepLastGood: true, previous });
      previous = byFolder(result.skills);
      const never = "error workflow_unreadable a/workflows/never.yaml";
      return {
        digest: result.skills[0]?.digest,
        stale: result.skills[0]?.card.stale === true,
        found: result.found.filter((each) => each !== never),
      };
    };
    const first = await again();
    expect(first).toMatchObject({ stale: false, found: [] });
    const broken: [file: string, text: string, found: string][] = [
      ["workflows/flow.yaml", "nodes: [\n", "error workflow_unreadable a/workflows/flow.yaml"],
      ["workflows/flow.yaml", "entry: b\nnodes: {a: {}}\n", "error workflow_invalid a/workflows/flow.yaml"],
      ["workflows/flow.yaml", "jobs: {}\n", "error workflow_foreign a/workflows/flow.yaml"],
      ["tools.json", "[", "error manifest_json a/tools.json"],
      ["tools.json", tools("scripts/gone.js"), "error file_missing a/tools.json"],
      ["scripts/count.js", "export default (\n", "error handler_build a/scripts/count.js"],
      [".claude-plugin/plugin.json", "{", "warning plugin_file a/.claude-plugin/plugin.json"],
    ];
    for (const [file, text, found] of broken) {
      put(project, `skills/a/${file}`, text);
      expect(await again()).toEqual({ ...first, stale: true, found: expect.arrayContaining([found]) });
      put(project, `skills/a/${file}`, files[file as keyof typeof files]);
      expect(await again()).toEqual(first);
    }
    // Neither what is new and broken nor what was taken away on purpose keeps other changes back.
    put(project, "skills/a/workflows/new.yaml", "nodes: [\n");
    put(project, "skills/a/workflows/other.yaml", "jobs: {}\n");
    rmSync(join(project, "skills/a/workflows/flow.yaml"));
    put(project, "skills/a/tools.json", "[]");
    put(project, "skills/a/SKILL.md", skillText("A", "run: [echo, two]"));
    const changed = await again();
    expect(changed).toMatchObject({
      stale: false,
      found: [
        "error workflow_unreadable a/workflows/new.yaml",
        "info workflow_foreign a/workflows/other.yaml",
      ],
    });
    expect(previous.get(join(project, "skills/a"))).toMatchObject({ parts: ["plugin"], tools: [] });
  });

  test("a skill that takes another's slug falls back; the skill that lost its slug goes", async () => {
    const project = folder({ "skills/a/SKILL.md": skillText("A"), "skills/b/SKILL.md": skillText("B") });
    const previous = byFolder((await build(project)).skills);
    put(project, "skills/b/SKILL.md", skillText("A"));
    const second = await build(project, { keepLastGood: true, previous });
    expect(second.found).toEqual(["error duplicate_slug b/SKILL.md"]);
    expect(second.catalog?.catalog.cards.map((c) => [c.slug, c.stale])).toEqual([
      ["a", undefined],
      ["b", true],
    ]);
    expect(second.catalog?.catalog.faults).toMatchObject({ b: [{ skill: "b", file: "SKILL.md" }] });
    put(project, "skills/b/SKILL.md", skillText("B"));
    put(project, "skills/a/SKILL.md", skillText("B"));
    expect((await build(project, { keepLastGood: true, previous })).slugs).toEqual(["b"]);
  });
});

describe("writing", () => {
  test("objects by digest, pointer last; a failed build leaves the pointer", async () => {
    const project = folder({
      ...SCRIPT,
      "skills/page/SKILL.md": skillText("Page", "serve: index.html"),
      "skills/page/index.html": "<p>hi</p>",
    });
    const out = join(project, ".hull/build");
    const write = async (when: string) => writeBuild(out, await build(project), new Date(when));
    const first = await write("2026-01-01T00:00:00Z");
    expect(first).toMatchObject({ previous: null, published_at: "2026-01-01T00:00:00.000Z" });
    expect(await write("2026-01-02T00:00:00Z")).toEqual(first);
    const { skills } = await build(project);
    for (const { objects } of skills)
      for (const name of objects) expect(existsSync(join(out, name))).toBe(true);
    expect(readdirSync(join(out, "pack"))).toHaveLength(2);
    const page = (await filesOf(skills[1])).find((f) => f.path === "index.html");
    expect(readFileSync(join(out, "blob", page?.sha256 ?? ""), "utf8")).toBe("<p>hi</p>");
    const catalog = JSON.parse(readFileSync(join(out, "catalog", first?.id ?? ""), "utf8"));
    const { paths } = JSON.parse(readFileSync(join(out, "openapi", catalog.openapi), "utf8"));
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(skills.map((skill) => skill.card.route)));

    put(project, "skills/page/SKILL.md", skillText("Page", "serve: gone.html"));
    expect(await write("2026-01-03T00:00:00Z")).toBeNull();
    expect(JSON.parse(readFileSync(join(out, "catalog.current.json"), "utf8"))).toEqual(first);
    expect(JSON.parse(readFileSync(join(out, "diagnostics.json"), "utf8"))).toMatchObject([
      { level: "error", code: "file_missing", skill: "page", file: "page/SKILL.md", line: 4, field: "serve" },
    ]);

    put(project, "skills/page/SKILL.md", skillText("New Page", "serve: index.html"));
    const second = await write("2026-01-04T00:00:00Z");
    expect(second?.previous).toBe(first?.id);
    expect(existsSync(join(out, "catalog", second?.id ?? ""))).toBe(true);
  });
});

test.each([
  [{ skillsOnly: true }, 0],
  [{}, 1],
])("a build keeps the bytes of few skills, and reads those of others again: %j", async (options, kept) => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const held = () => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  // Of 32 MiB that are kept, one such skill fits.
  const size = 17 * 1024 * 1024;
  const data = "x".repeat(size);
  const project = folder();
  for (const name of ["a", "b"]) {
    put(project, `skills/${name}/SKILL.md`, skillText(name, "run: ./data.txt"));
    put(project, `skills/${name}/data.txt*`, data);
  }
  const before = held();
  const { skills } = await build(project, options);
  await expect.poll(() => held() - before).toBeLessThan((kept + 0.5) * size);
  for (const skill of skills) expect(await pathsOf(skill)).toEqual(["SKILL.md", "data.txt"]);
});

test("diagnostics for people name place, field, value and remedy", async () => {
  const project = folder({ "skills/a/SKILL.md": skillText("A", "mode: lmm") });
  const { diagnostics } = await build(project);
  const text = renderDiagnostics(diagnostics, project, false);
  expect(text).toMatch(
    /^skills\/a\/SKILL\.md:4:7: error: mode: .*script, static-file, proxy, llm.*\[value_not_allowed\]\n/,
  );
  expect(text).toContain('found: "lmm"');
  expect(text).toContain("fix: Did you mean llm?");
  expect(renderDiagnostics(diagnostics, project, true)).toContain("\u001b[31merror");
});

test.skipIf(process.platform === "win32")("attack: the name of a file sends a terminal nothing", async () => {
  const project = folder({ "skills/a/SKILL.md": skillText("A") });
  symlinkSync("nowhere", join(project, "skills/a/\u001b[2Jx"));
  symlinkSync("nowhere", join(project, "skills/a/x\ny"));
  const { diagnostics } = await build(project);
  expect(diagnostics).toHaveLength(2);
  const text = renderDiagnostics(diagnostics, project, false);
  expect(text).not.toContain("\u001b");
  expect(text.split("\n").filter((line) => line.startsWith("skills/a/"))).toHaveLength(2);
  expect(text).not.toMatch(/^y/m);
});

test("hundreds of skills are built and written", async () => {
  const files: Record<string, string> = {};
  for (let i = 0; i < 300; i++) {
    files[`skills/s${i}/SKILL.md`] = skillText(`Skill ${i}`, "run: [python3, main.py]");
    files[`skills/s${i}/main.py`] = `print(${i})\n`;
  }
  // Their one object is written for all of them at once.
  for (let i = 0; i < 20; i++) {
    files[`skills/p${i}/SKILL.md`] = skillText(`Page ${i}`, "serve: page.html");
    files[`skills/p${i}/page.html`] = "<p>the same</p>";
  }
  const project = folder(files);
  const result = await build(project);
  await writeBuild(join(project, "out"), result, new Date(0));
  expect(result.skills).toHaveLength(320);
  const blobs = readdirSync(join(project, "out/blob"));
  expect(blobs.map((name) => readFileSync(join(project, "out/blob", name), "utf8"))).toEqual([
    "<p>the same</p>",
  ]);
});
