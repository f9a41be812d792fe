/** Skill Tools through the build: what is recorded, packed and served of a tools.json. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { buildRoots } from "../../../scripts/build/build.ts";
import { BuildCache } from "../../../scripts/build/cache.ts";
import type { SkillRecord } from "../../../src/skill/manifest.ts";
import { readTar } from "../../../src/skill/tar.ts";
import { folder, put, skillText } from "./folder.ts";

const tool = (name: string, fields: object = {}) => ({ name, description: "d", ...fields });
const tools = (...list: object[]) => JSON.stringify(list, null, 1);
const plain = "export default async (args) => args;\n";

async function build(project: string, roots = ["skills"], cache?: BuildCache) {
  const options = { projectDir: project, ...(cache === undefined ? {} : { cache }) };
  const result = await buildRoots(
    roots.map((root) => join(project, root)),
    options,
  );
  const found = result.diagnostics.map(
    ({ diagnostic: d }) => `${d.level} ${d.code} ${d.file}:${d.line ?? ""}`,
  );
  const [skill] = result.skills;
  const contents = (await skill?.contents()) ?? new Map<string, Uint8Array<ArrayBuffer>>();
  const text = new TextDecoder().decode(contents.get(`skill/${skill?.digest}`));
  const record: SkillRecord = text === "" ? expect.fail(found.join("\n")) : JSON.parse(text);
  return { ...result, found, skill, contents, record };
}

/** The files of the pack, by path. */
const packed = ({
  record,
  contents,
}: {
  record: SkillRecord;
  contents: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}) => {
  const bytes = contents.get(`pack/${record.pack}`) ?? expect.fail("no pack");
  const files = readTar(bytes, { max_bytes: 10_000_000, max_files: 100 });
  return new Map(files.map((file) => [file.path, new TextDecoder().decode(file.bytes)]));
};

/** What a handler answers that is started with Node from the pack, or as a module. */
function call(source: string, args: object): unknown {
  const dir = folder({ "handler.mjs": source });
  const program = `import h from ${JSON.stringify(join(dir, "handler.mjs"))}; console.log(JSON.stringify(await h(${JSON.stringify(args)})))`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  return stdout === "" ? stderr : JSON.parse(stdout);
}

const COUNT_WORDS = {
  "skills/count-words/SKILL.md": skillText("count-words"),
  "skills/count-words/tools.json": tools(
    tool("count_words", {
      script: "scripts/count_words.js",
      parameters: { text: { type: "string", description: "The text." } },
    }),
  ),
  "skills/count-words/scripts/count_words.js":
    "export default async function handler(args) {\n  return { count: args.text.trim().split(/\\s+/).length };\n}\n",
};

describe("the build", () => {
  test("D1: finds the tools of a folder with a tools.json, and its handler is the module", async () => {
    const built = await build(folder(COUNT_WORDS));
    expect(built.found).toEqual([]);
    const [found] = built.record.tools ?? [];
    expect(found).toMatchObject({ name: "count_words", tier: "isolate", script: "scripts/count_words.js" });
    const module = built.contents.get(`module/${found?.module}`);
    expect(new TextDecoder().decode(module)).toBe(COUNT_WORDS["skills/count-words/scripts/count_words.js"]);
    expect(built.skill?.objects).toContain(`module/${found?.module}`);
    expect(built.skill?.card.tools).toEqual(["count_words"]);
    expect([...packed(built).keys()]).toEqual(["SKILL.md", "scripts/count_words.js", "tools.json"]);
  });

  test("a variable that a handler reads, or SKILL.md documents, is named where no x-env does", async () => {
    const reads = `process.env.LOG_LEVEL = "error"; process.env["COLOR"] = "0";
export default () => [process.env.API_TOKEN === "", process.env["REGION"], process.env.PATH];\n`;
    const project = folder({
      "skills/a/SKILL.md": `${skillText("a")}\n## Configuration\n\n- \`API_TOKEN\`: a token\n- \`OPENAI_API_KEY\`: a key\n- \`OTHER\`\n`,
      "skills/a/tools.json": tools(
        tool("js", { script: "scripts/a.js", "x-env": ["REGION"] }),
        tool("same", { script: "scripts/a.js", "x-env": ["API_TOKEN", "REGION"] }),
        tool("ts", { script: "scripts/b.ts" }),
        tool("py", { script: "scripts/c.py" }),
        tool("sh", { script: "scripts/d.sh" }),
      ),
      "skills/a/scripts/a.js": reads,
      "skills/a/scripts/b.ts": "export default (): unknown => process.env.MODE_OF_TS;\n",
      "skills/a/scripts/c.py":
        'import os\nos.environ["MPLBACKEND"] = "Agg"\ndef handler(a):\n    return os.environ["ONE"], os.environ.get(\'TWO\'), os.getenv("OPENAI_API_KEY"), os.getenv("HULL_SKILL")\n',
      "skills/a/scripts/d.sh": 'echo "$IN_A_SHELL"\n',
    });
    const { diagnostics } = await build(project);
    const shown = diagnostics.map(({ diagnostic: d }) => [d.level, d.code, d.file, d.line, d.value, d.hint]);
    const add = (name: string, to: string) => `Add "x-env": ["${name}"] to ${to} in tools.json.`;
    const key = expect.stringContaining("never gives a model provider's key");
    const row = (file: string, line: number | undefined, name: string, hint: unknown) => [
      "warning",
      "variable_not_declared",
      `a/${file}`,
      line,
      JSON.stringify(name),
      hint,
    ];
    expect(shown).toEqual(
      expect.arrayContaining([
        row("scripts/a.js", 2, "API_TOKEN", add("API_TOKEN", "js")),
        row("scripts/b.ts", 1, "MODE_OF_TS", add("MODE_OF_TS", "ts")),
        row("scripts/c.py", 4, "ONE", add("ONE", "py")),
        row("scripts/c.py", 4, "TWO", add("TWO", "py")),
        row("scripts/c.py", 4, "OPENAI_API_KEY", key),
        row("SKILL.md", 12, "OTHER", add("OTHER", "the tools that need it")),
      ]),
    );
    expect(shown).toHaveLength(6);
  });

  test("a file that reads very many variables gives only as many findings as people can read", async () => {
    const reads = Array.from({ length: 300_000 }, (_, i) => `process.env.V${i}`).join(",\n");
    const project = folder({
      "skills/a/SKILL.md": skillText("a"),
      "skills/a/tools.json": tools(tool("js", { script: "a.js" })),
      "skills/a/a.js": `export default () => [${reads}];\n`,
    });
    const { diagnostics } = await build(project);
    const lines = diagnostics.flatMap(({ diagnostic: { code, line } }) =>
      code === "variable_not_declared" ? [line] : [],
    );
    expect(lines).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
  });

  test("L3: a tools.json deeper in the folder is data", async () => {
    const { record, found } = await build(
      folder({ "skills/a/SKILL.md": skillText("a"), "skills/a/data/tools.json": "{" }),
    );
    expect(found).toEqual([]);
    expect(record.tools).toBeUndefined();
  });

  test("L5: no tools, and an empty list", async () => {
    const { record } = await build(
      folder({ "skills/a/SKILL.md": skillText("a"), "skills/a/tools.json": "[]" }),
    );
    expect(record).toMatchObject({ tools: [] });
  });

  test("M1, M2: a broken tools.json leaves the skill as instructions, and does not stop the build", async () => {
    const { found, record, catalog, skill } = await build(
      folder({ "skills/a/SKILL.md": skillText("a"), "skills/a/tools.json": "{}" }),
    );
    expect(found).toEqual(["error manifest_not_array a/tools.json:1"]);
    expect(record.tools).toEqual([]);
    expect(catalog).not.toBeNull();
    expect(skill?.card.tools).toBeUndefined();
    expect(record.diagnostics).toMatchObject([
      { code: "manifest_not_array", skill: "a", file: "tools.json" },
    ]);
  });

  test("M3, M8: faulty tools are left out, their siblings stay", async () => {
    const { found, record } = await build(
      folder({
        ...COUNT_WORDS,
        "skills/count-words/tools.json": tools(
          { name: "bare" },
          tool("gone", { script: "scripts/gone.js" }),
          tool("outside", { script: "../x.js" }),
          tool("good", { script: "scripts/count_words.js" }),
        ),
      }),
    );
    expect(found.map((line) => line.split(":")[0])).toEqual([
      "warning tool_incomplete count-words/tools.json",
      "error file_missing count-words/tools.json",
      "error path_outside count-words/tools.json",
    ]);
    expect(record.tools?.map(({ name }) => name)).toEqual(["good"]);
  });

  test("M6: the tool of the skill loaded last is used, in order of roots, then of paths, and the catalog reports it", async () => {
    const skill = (path: string, ...names: string[]) => ({
      [`${path}/SKILL.md`]: skillText(path.replace(/.*\//, "")),
      [`${path}/tools.json`]: tools(...names.map((name) => tool(name))),
    });
    const project = folder({ ...skill("one/z", "x", "y"), ...skill("two/a", "x"), ...skill("two/b", "x") });
    const { catalog } = await build(project, ["one", "two"]);
    expect(catalog?.catalog.overrides).toEqual({ "a/x": ["z"], "b/x": ["z", "a"] });
    const { catalog: other } = await build(project, ["one"]);
    expect(other?.catalog.overrides).toBeUndefined();
  });

  test("D2: a skill of a later root replaces one of an earlier root as a whole", async () => {
    const project = folder({
      ...COUNT_WORDS,
      "more/count-words/SKILL.md": skillText("count-words"),
      "more/count-words/notes.md": "only this",
    });
    const { record, skills } = await build(project, ["skills", "more"]);
    expect(skills).toHaveLength(1);
    expect(record.tools).toBeUndefined();
    expect(record.files.map(({ path }) => path)).toEqual(["SKILL.md", "notes.md"]);
  });

  test("M7, M9: without a script a tool is a stub with an empty schema", async () => {
    const { record } = await build(
      folder({ "skills/a/SKILL.md": skillText("a"), "skills/a/tools.json": tools(tool("ask")) }),
    );
    expect(record).toMatchObject({
      tools: [{ name: "ask", tier: "stub", parameters: { type: "object", properties: {}, required: [] } }],
    });
    expect(record.tools?.[0]).not.toHaveProperty("script");
  });

  test("hidden tools are not on the card, and models see arguments in the order of the file", async () => {
    const text = { type: "string", description: "t" };
    const made = await build(
      folder({
        "skills/a/SKILL.md": skillText("a"),
        "skills/a/tools.json": tools(
          tool("seen", { parameters: { z: text, a: text } }),
          tool("unseen", { "x-hidden": true }),
        ),
      }),
    );
    expect(made.skill?.card.tools).toEqual(["seen"]);
    expect(made.record.tools?.map(({ name, hidden }) => [name, hidden])).toEqual([
      ["seen", false],
      ["unseen", true],
    ]);
    expect(Object.keys(Object(made.record.tools?.[0]?.parameters.properties))).toEqual(["z", "a"]);
  });

  test("M6: a tool of SKILL.md keeps its name", async () => {
    const fields = "mode: llm\ntools:\n  - {name: x, description: d, command: [python3, x.py]}";
    const { found, record, skill } = await build(
      folder({
        "skills/a/SKILL.md": skillText("a", fields),
        "skills/a/x.py": "",
        "skills/a/tools.json": tools(tool("x"), tool("y")),
      }),
    );
    expect(found).toEqual(["warning tool_taken a/tools.json:3"]);
    expect(record.tools?.map(({ name }) => name)).toEqual(["y"]);
    expect(skill?.card.tools).toEqual(["x", "y"]);
  });

  test("the same files give the same digest wherever they lie, and again from the cache", async () => {
    const faulty = { ...COUNT_WORDS, "skills/count-words/tools.json": tools({ name: "a" }, tool("b")) };
    const one = await build(folder(faulty));
    const project = folder(
      Object.fromEntries(Object.entries(faulty).map(([path, text]) => [`x/${path}`, text])),
    );
    const two = await build(join(project, "x"));
    expect(two.skill?.digest).toBe(one.skill?.digest);
    const first = await BuildCache.open(join(project, "x"));
    await new Promise((resolve) => setTimeout(resolve, 60));
    await build(join(project, "x"), ["skills"], first);
    await first.save();
    const again = await BuildCache.open(join(project, "x"));
    const cached = await build(join(project, "x"), ["skills"], again);
    expect(again.rebuilt).toBe(0);
    expect(cached.skill?.card).toEqual(one.skill?.card);
    expect(cached.skill?.tools).toEqual(one.skill?.tools);
  });
});

/** What the scan finds in a handler, and what the tier's reason says. */
const REASONS: [text: string, tier: string, reason: RegExp][] = [
  [plain, "isolate", /needs no process/],
  [
    'import fs from "node:fs"; import path from "path"; export default () => [fs, path];',
    "isolate",
    /needs no process/,
  ],
  ['import { spawn } from "node:child_process"; export default () => spawn;', "runner", /node:child_process/],
  ['import { spawn } from "child_process"; export default () => spawn;', "runner", /node:child_process/],
  ...["worker_threads", "net", "tls", "dgram", "cluster"].map((name): [string, string, RegExp] => [
    `export default async () => import("node:${name}");`,
    "runner",
    new RegExp(`node:${name}$`),
  ]),
  ['export default () => require("x");', "runner", /require\(\)/],
  ["export default () => __dirname;", "runner", /__dirname/],
  ["export default () => import.meta.url;", "runner", /import\.meta\.url/],
  ["export default () => import.meta.dirname;", "runner", /import\.meta\.dirname/],
  ["export default () => import.meta.filename;", "runner", /import\.meta\.filename/],
  [`import native from "./x.node"; export default native;`, "runner", /x\.node/],
  [
    '// require("x"), node:net\nexport default () => "require(1) __dirname import.meta.url";',
    "isolate",
    /needs no process/,
  ],
  ["export default (a) => a.require(1) + a.__dirname;", "isolate", /needs no process/],
  [`import x from "./lib.cjs"; export default () => x;`, "runner", /lib\.cjs/],
  [`import x from "./net.js"; export default () => x;`, "runner", /node:net/],
];

describe("4.1: the tier of a JavaScript handler", () => {
  const skill = (handler: string, fields: object = {}) => ({
    "skills/a/SKILL.md": skillText("a"),
    "skills/a/tools.json": tools(tool("t", { script: "scripts/t.js", ...fields })),
    "skills/a/scripts/t.js": handler,
    "skills/a/scripts/lib.cjs": "module.exports = 1;",
    "skills/a/scripts/net.js": 'export { default } from "node:net";',
    "skills/a/scripts/x.node": "",
  });

  test.each(REASONS)("%s: %s", async (text, tier, reason) => {
    const { record, found } = await build(folder(skill(text)));
    expect(found).toEqual([]);
    expect(record.tools).toMatchObject([{ tier, tier_reason: expect.stringMatching(reason) }]);
    expect(record.tools?.[0]?.module === undefined).toBe(tier === "runner");
    expect(record.pack).not.toBeNull();
  });

  test("x-tier overrides the scan, both ways", async () => {
    const up = await build(folder(skill(plain, { "x-tier": "runner" })));
    expect(up.record.tools).toMatchObject([{ tier: "runner", tier_reason: "x-tier asks for it" }]);
    const down = await build(
      folder(skill('import "node:net";\nexport default () => 1;', { "x-tier": "isolate" })),
    );
    expect(down.record.tools).toMatchObject([{ tier: "isolate", module: expect.any(String) }]);
  });

  test("a package that is not installed: the runner, and a warning", async () => {
    const { record, found } = await build(
      folder(skill('import pad from "left-pad";\nexport default () => pad;')),
    );
    expect(found).toEqual(["warning handler_import a/tools.json:5"]);
    expect(record.tools).toMatchObject([
      { tier: "runner", tier_reason: expect.stringContaining("left-pad") },
    ]);
  });

  test("attack: a syntax error is a finding, and the tool answers it with its place", async () => {
    const { record, found, catalog, contents } = await build(
      folder(skill("export default () => {\n  const = 1;\n};")),
    );
    expect(found).toEqual(["error handler_build a/scripts/t.js:2"]);
    expect(record.tools).toMatchObject([{ name: "t", tier: "isolate", source: "scripts/t.js" }]);
    const module = new TextDecoder().decode(contents.get(`module/${record.tools?.[0]?.module}`));
    expect(call(module, {})).toMatch(/scripts\/t\.js, line 2, column 9: The handler cannot be built: /);
    expect(catalog).not.toBeNull();
  });
});

describe("4.1: bundled handlers", () => {
  const SKILL = {
    "skills/a/SKILL.md": skillText("a"),
    "skills/a/tools.json": tools(
      tool("t", { script: "scripts/t.ts" }),
      tool("u", { script: "scripts/u.mjs" }),
    ),
    "skills/a/scripts/t.ts":
      'import { seven } from "../lib.ts";\nimport old from "old";\nenum Kind { One = 1 }\nexport default (args: { n: number }) => [old.up("x"), args.n + seven, Kind.One];\n',
    "skills/a/lib.ts": "export const seven: number = 7;",
    "skills/a/scripts/u.mjs": `import { one } from "./one.js";\nexport default () => one;\n`,
    "skills/a/scripts/one.js": "export const one = 1;",
    "skills/a/package.json": '{"dependencies": {"old": "1"}}',
    "skills/a/node_modules/old/package.json": '{"name": "old", "main": "main.js"}',
    "skills/a/node_modules/old/main.js":
      'const { basename } = require("path"); exports.up = (s) => basename(s).toUpperCase();',
  };

  test("TypeScript and packages become one module, which the pack contains too", async () => {
    const built = await build(folder(SKILL));
    expect(built.found).toEqual([]);
    const [typed, linked] = built.record.tools ?? [];
    expect(typed).toMatchObject({ tier: "isolate", script: "scripts/t.hull.mjs", source: "scripts/t.ts" });
    expect(linked).toMatchObject({ tier: "isolate", script: "scripts/u.mjs" });
    expect(linked).not.toHaveProperty("source");
    const pack = packed(built);
    const module = new TextDecoder().decode(built.contents.get(`module/${typed?.module}`));
    expect(pack.get("scripts/t.hull.mjs")).toBe(module);
    expect(call(module, { n: 1 })).toEqual(["X", 8, 1]);
    expect(call(new TextDecoder().decode(built.contents.get(`module/${linked?.module}`)), {})).toBe(1);
    expect(built.record.files.map(({ path }) => path)).not.toContain("scripts/t.hull.mjs");
  });

  test("TypeScript that needs a process is bundled for Node", async () => {
    const source =
      'import { execFileSync } from "node:child_process";\nimport old from "old";\nenum K { A }\nexport default () => [execFileSync("echo", ["hi"]).toString().trim(), old.up("y"), K.A];\n';
    const built = await build(folder({ ...SKILL, "skills/a/scripts/t.ts": source }));
    const [typed] = built.record.tools ?? [];
    expect(typed).toMatchObject({ tier: "runner", script: "scripts/t.hull.mjs", source: "scripts/t.ts" });
    expect(call(packed(built).get("scripts/t.hull.mjs") ?? "", {})).toEqual(["hi", "Y", 0]);
  });

  test("the cache knows what a handler imports", async () => {
    const project = folder({
      ...SKILL,
      "shared/two.ts": "export const seven = 2;",
      "skills/a/lib.ts": 'export * from "../../shared/two.ts";',
    });
    await new Promise((resolve) => setTimeout(resolve, 60));
    const cache = new BuildCache();
    const first = await build(project, ["skills"], cache);
    await build(project, ["skills"], cache);
    expect(cache.rebuilt).toBe(0);
    put(project, "shared/two.ts", "export const seven = 200;");
    const second = await build(project, ["skills"], cache);
    expect(cache.rebuilt).toBe(1);
    expect(second.skill?.digest).not.toBe(first.skill?.digest);
  });
});

describe("L4: the ending says how a handler is run", () => {
  const run = async (script: string, text: string, fields: object = {}) => {
    const { record, found } = await build(
      folder({
        "skills/a/SKILL.md": skillText("a"),
        "skills/a/tools.json": tools(tool("t", { script: script.replace("*", ""), ...fields })),
        [`skills/a/${script}`]: text,
      }),
    );
    return [record.tools?.[0]?.tier, ...found.map((line) => line.split(" ")[1])];
  };

  test.each<[string, string, (string | undefined)[]]>([
    ["scripts/t.js", plain, ["isolate"]],
    ["scripts/t.mjs", plain, ["isolate"]],
    ["scripts/t.ts", plain, ["isolate"]],
    ["scripts/t.py", "", ["runner"]],
    ["scripts/t.sh", "", ["runner"]],
    ["scripts/t.rb*", "#!/usr/bin/env ruby\n", ["runner"]],
    ["scripts/t.cjs*", "#!/usr/bin/env node\n", ["runner"]],
    ["scripts/t.rb", "#!/usr/bin/env ruby\n", [undefined, "handler_start"]],
    ["scripts/t.cjs*", "module.exports = 1;", [undefined, "handler_start"]],
    ["scripts/t*", "plain", [undefined, "handler_start"]],
  ])("%s", async (script, text, expected) => {
    expect(await run(script, text)).toEqual(expected);
  });

  test("x-tier: isolate is for JavaScript", async () => {
    expect(await run("scripts/t.py", "", { "x-tier": "isolate" })).toEqual([undefined, "handler_tier"]);
    expect(await run("scripts/t.py", "", { "x-tier": "runner" })).toEqual(["runner"]);
  });
});
