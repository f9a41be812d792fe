/** `hull validate` by profiles, `hull pack` and the corpus script. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { skillFiles } from "../../../src/skill/uploaded.ts";
import { readZip } from "../../../src/skill/zip.ts";
import { hullHere } from "../../support/hull-here.ts";
import { folder, put } from "./folder.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

function node(script: string, args: string[], cwd = ROOT) {
  return new Promise<{ code: number; out: string; err: string }>((resolve) => {
    execFile(
      process.execPath,
      [join(ROOT, script), ...args],
      { cwd, encoding: "utf8" },
      (error, out, err) => {
        resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, out, err });
      },
    );
  });
}
const validate = (...args: string[]) => hullHere(["validate", ...args]);

const text = (name: string, more = "", description = "Does x. Use when asked.") =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\nBody.\n`;

const three = () =>
  folder({
    "fine/SKILL.md": text("fine", "license: MIT\nmetadata:\n  version: 1.0\nallowed-tools: Read Grep\n"),
    "loose/skill.md": text("Loose", "version: 1\n"),
    "broken/SKILL.md": "# No frontmatter\n",
  });

test("one broken skill of three: the others are valid, by each profile's rules; exit codes 0, 1, 2, 3", async () => {
  const root = three();
  const strict = await validate(root, "--profile", "strict");
  expect(strict.code).toBe(1);
  expect(strict.out).toBe("1 valid skill, 4 errors, 0 warnings.\n");
  const lenient = await validate(root, "--profile", "lenient");
  expect(lenient.code).toBe(1);
  expect(lenient.out).toMatch(/^2 valid skills, 1 error, /);
  expect(lenient.err).toMatch(/broken\/SKILL\.md:1:1: error: .*\[frontmatter_missing\]/);
  expect((await validate(join(root, "fine"), "--profile", "strict")).code).toBe(0);
  expect((await validate(join(root, "loose/skill.md"), "--profile", "lenient")).code).toBe(0);
  expect((await validate(join(root, "loose"), "--profile", "lenient", "--strict")).code).toBe(1);
  expect((await validate(root, "--profile", "loose")).code).toBe(2);
  expect((await validate(join(root, "absent"))).code).toBe(3);
});

test("--json: properties in the format's order, profiles, findings of the skill", async () => {
  const root = three();
  const { code, out } = await validate(root, "--json");
  expect(code).toBe(1);
  const reports: { path: string; properties: object; profiles: string[]; diagnostics: { code: string }[] }[] =
    JSON.parse(out);
  const of = (name: string) => reports.find(({ path }) => path.endsWith(name)) ?? expect.fail(name);
  expect(of("fine").profiles).toEqual(["strict", "lenient", "husk"]);
  expect(Object.entries(of("fine").properties)).toEqual([
    ["name", "fine"],
    ["description", "Does x. Use when asked."],
    ["license", "MIT"],
    ["allowed-tools", "Read Grep"],
    ["metadata", { version: "1.0" }],
  ]);
  expect(of("fine").diagnostics).toEqual([]);
  expect(of("loose").profiles).toEqual(["lenient", "husk"]);
  expect(of("loose").diagnostics.map((d) => d.code)).toEqual([
    "file_name_case",
    "name_not_lowercase",
    "name_directory_mismatch",
    "unknown_fields",
  ]);
  expect(of("broken")).toMatchObject({ properties: {}, profiles: [] });
});

test("a folder that hull.toml lists twice is twice as broken, not once valid", async () => {
  const dir = folder({
    "hull.toml": 'skills = ["skills", "skills/"]\n',
    "skills/a/SKILL.md": text("a", "mode: none\n"),
  });
  const { out } = await hullHere(["validate", "--json"], dir);
  const reports: { diagnostics: { code: string }[] }[] = JSON.parse(out);
  expect(reports.map(({ diagnostics }) => diagnostics[0]?.code)).toEqual(Array(2).fill("value_not_allowed"));
});

test("a likely mistake is a warning", async () => {
  const key = ["AKIA", "ABCDEFGHIJKLMNOP"].join("");
  const root = folder({
    "a/SKILL.md": `${text("a", "", "Makes <b>")}See [b](references/b.md), [d](../served/d.md), [e](../served/e.md).\n`,
    "served/d.md": "In runs that have both skills.",
    "served/examples/inner/SKILL.md": text("inner"),
    "a/scripts/x.sh": `# one\nKEY=${key}\n`,
    "served/SKILL.md": text("Served", "mode: llm\n", "Makes <b>"),
    "p/.claude-plugin/plugin.json": '{"name": "p"}',
    "p/SKILL.md": text("p"),
    "p/COSTS.md": "Low.",
    "p/skills/q/SKILL.md": `${text("q", "", "Adds when asked")}See [c](../../COSTS.md), [f](../../FEES.md).\nRun scripts/of-p.sh, scripts/none.sh.\n`,
    "p/skills/q/key.txt": key,
    "p/scripts/of-p.sh": "",
  });
  const { code, err } = await validate(root);
  expect(code).toBe(0);
  const codes = Array.from(err.matchAll(/\[([a-z_]+)\]/g), ([, found]) => found);
  const missing = ["reference_missing", "reference_missing"];
  const ofPlugin = "reference_missing";
  expect(codes).toEqual([
    "description_brackets",
    "description_when",
    ...missing,
    "secret_in_file",
    ofPlugin,
    ofPlugin,
    "secret_in_file",
    "nested_skill",
  ]);
  expect(err).toContain("links to ../../FEES.md");
  expect(err).toContain("names scripts/none.sh,");
  expect(err).toContain("../served/e.md");
  expect(err).toContain("a/scripts/x.sh:2:5: warning: ");
  expect(err).not.toContain(key);
});

test("pack: the same bytes each time, without unneeded files; the file can be uploaded", async () => {
  const root = folder({
    "my-skill/SKILL.md": text("my-skill"),
    "my-skill/scripts/run.sh*": "echo",
    "my-skill/scripts/evals/kept.md": "k",
    "my-skill/evals/left.md": "l",
    "my-skill/node_modules/x/i.js": "l",
    "my-skill/scripts/__pycache__/x.pyc": "l",
    "my-skill/.DS_Store": "l",
  });
  const pack = (...args: string[]) => hullHere(["pack", join(root, "my-skill"), ...args], root);
  expect(await pack()).toMatchObject({ code: 0, out: expect.stringContaining("my-skill.skill: 3 files") });
  const first = new Uint8Array(readFileSync(join(root, "my-skill.skill")));
  put(root, "my-skill/SKILL.md", text("my-skill"));
  await pack("--out", "new/out");
  expect(new Uint8Array(readFileSync(join(root, "new/out/my-skill.skill")))).toEqual(first);
  const read = await readZip(first, { max_bytes: 1e6, max_entries: 10 });
  expect(skillFiles(read).map(({ path, mode }) => [path, mode])).toEqual([
    ["SKILL.md", 0o644],
    ["scripts/evals/kept.md", 0o644],
    ["scripts/run.sh", 0o755],
  ]);
  put(root, "my-skill/Scripts/run.sh", "");
  expect(await pack()).toMatchObject({ code: 0, err: expect.stringContaining("file_names_alike") });
  put(root, "my-skill/SKILL.md", "---\nname: my-skill\n---\n");
  expect((await pack()).code).toBe(1);
  expect((await hullHere(["pack", join(root, "absent")])).code).toBe(3);
});

test("corpus: rates and histogram; fails where fewer than 95 % load", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [
      `all/d${i % 3}/s${i}/SKILL.md`,
      text(`s${i}`, i < 5 ? "version: 1\n" : ""),
    ]),
  );
  const root = folder({
    ...files,
    "all/bad/skill.md": "no",
    "all/node_modules/x/SKILL.md": "no",
    "all/.curated/dot/SKILL.md": text("dot"),
  });
  symlinkSync("nowhere", join(root, "all/.curated/dot/lost"));
  mkdirSync(join(root, "all/gone"));
  symlinkSync("../nowhere/SKILL.md", join(root, "all/gone/SKILL.md"));
  symlinkSync("..", join(root, "all/.curated/loop"));
  symlinkSync("itself", join(root, "all/.curated/itself"));
  const corpus = () => node("scripts/corpus.ts", [join(root, "all")]);
  const { code, out } = await corpus();
  expect(code).toBe(0);
  expect(out).toContain(
    "22 files\n1 links that lead nowhere\nstrict accepts 16 (72.7 %)\nlenient loads 21 (95.5 %)\n",
  );
  expect(out).toMatch(/^ +5 +22\.7 % {2}unknown_fields$/m);
  expect(out).toMatch(/^ +1 +4\.5 % {2}error frontmatter_missing$/m);
  put(root, "all/worse/SKILL.md", "no");
  put(root, "all/worst/SKILL.md", "no");
  expect((await corpus()).code).toBe(1);
  expect((await node("scripts/corpus.ts", [])).code).toBe(2);
});
