/** Typed skills through the build. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { buildRoots } from "../../../scripts/build/build.ts";
import { BuildCache } from "../../../scripts/build/cache.ts";
import { once } from "../../../src/memo.ts";
import type { SkillRecord } from "../../../src/skill/manifest.ts";
import { readTar } from "../../../src/skill/tar.ts";
import { REPO } from "../../support/hull-dev.ts";
import { hullHere } from "../../support/hull-here.ts";
import { folder, put, skillText } from "./folder.ts";

const HEAD = 'import * as z from "zod";\nimport { defineSkill, tool } from "hullrun";\n';
/** A skill with the tools in its text. */
const skill = (tools: string, fields = "") =>
  `${HEAD}import { twice } from "./lib.ts";\nexport default defineSkill({ name: "search-docs", description: "Search docs. Use when asked.", ${fields} tools: [${tools}] });\nexport { twice };\n`;
const SEARCH = `tool({
  name: "search", description: "Search documents.",
  input: z.object({ query: z.string().describe("Search query string."), limit: z.int().default(10).describe("Most results.") }),
  config: z.object({ maxCost: z.number().max(50).default(1), apiKey: z.string().optional().meta({ configType: "secret" }) }),
  output: z.object({ hits: z.array(z.string()) }),
  requiresNetwork: true, idempotent: true,
  async run({ query, limit }, ctx) { await ctx.emit("Searching"); return { hits: [query, String(twice(limit)), String(ctx.config.maxCost)] }; },
})`;
const LIB = "export const twice = (n: number): number => n * 2;\n";

async function build(project: string, cache?: BuildCache) {
  const options = { projectDir: project, ...(cache === undefined ? {} : { cache }) };
  const result = await buildRoots([join(project, "skills")], options);
  const found = result.diagnostics.map(({ diagnostic: d }) => `${d.level} ${d.code} ${d.file}: ${d.message}`);
  const [built] = result.skills;
  const contents = (await built?.contents()) ?? new Map<string, Uint8Array<ArrayBuffer>>();
  const text = new TextDecoder().decode(contents.get(`skill/${built?.digest}`));
  const record: SkillRecord | null = text === "" ? null : JSON.parse(text);
  const pack = contents.get(`pack/${record?.pack}`) ?? new Uint8Array();
  const files = pack.length === 0 ? [] : readTar(pack, { max_bytes: 50_000_000, max_files: 100 });
  const packed = new Map(files.map((file) => [file.path, new TextDecoder().decode(file.bytes)]));
  return { found, record, contents, packed, digest: built?.digest, catalog: result.catalog };
}

/** Arguments of a call, and perhaps its context. */
type Given = [args: object, ctx?: object];

/** What the default exports of modules answer to each call, in a process that knows nothing of Hull. */
function answers(calls: readonly (readonly [module: string, ...given: Given])[]): unknown[] {
  const dir = folder(Object.fromEntries(calls.map(([module], n) => [`${n}/handler.mjs`, module])));
  const made = calls.map(
    ([, ...given], n) =>
      `await (await import(${JSON.stringify(join(dir, `${n}/handler.mjs`))})).default(...${JSON.stringify(given)})`,
  );
  const program = `console.log(JSON.stringify([${made.join()}]));`;
  return JSON.parse(
    execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" }),
  );
}
const call = (module: string, ...given: Given): unknown => answers([[module, ...given]])[0];

const one = (text: string, more: Record<string, string> = {}) =>
  folder({ "skills/search-docs/skill.ts": text, "skills/search-docs/lib.ts": LIB, ...more });

describe("a folder with skill.ts alone", () => {
  const searching = once(() => build(one(skill(SEARCH, 'instructions: "Search first.",'))));
  const handler = async () => (await searching()).packed.get("scripts/search.js") ?? "";

  test("becomes an ordinary Skill Tools folder", async () => {
    const { found, record, packed } = await searching();
    expect(found).toEqual([]);
    expect([...packed.keys()]).toEqual(["SKILL.md", "lib.ts", "scripts/search.js", "skill.ts", "tools.json"]);
    expect(packed.get("SKILL.md")).toBe(
      '---\nname: "search-docs"\ndescription: "Search docs. Use when asked."\n---\n\nSearch first.\n',
    );
    expect(JSON.parse(packed.get("tools.json") ?? "")).toMatchObject([
      {
        name: "search",
        script: "scripts/search.js",
        parameters: { query: { type: "string" }, limit: { optional: true } },
      },
    ]);
    expect(record?.tools).toMatchObject([
      {
        name: "search",
        tier: "isolate",
        idempotent: true,
        network: { hosts: null },
        risk: "safe",
        parameters: { required: ["query"], properties: { limit: { type: "integer" } } },
        config: [
          { name: "maxCost", type: "number", max: 50, default: 1 },
          { name: "apiKey", type: "secret" },
        ],
        output_schema: { type: "object" },
      },
    ]);
    expect(record?.files.map(({ path }) => path)).toContain("scripts/search.js");
  });

  test("with a handler that keeps the contract of Skill Tools, here and elsewhere", async () => {
    expect(call(await handler(), { query: "a", __workDir: "/tmp" })).toEqual({ hits: ["a", "20", "1"] });
  });

  test("has a separate module for each of many tools, and none without tools", async () => {
    const names = Array.from({ length: 12 }, (_, n) => `tool_${n}`);
    const tools = names.map(
      (name) => `tool({ name: "${name}", description: "d", input: z.object({}), run: () => "${name}" })`,
    );
    const { found, packed, record } = await build(one(skill(tools.join(", "))));
    expect(found).toEqual([]);
    const some = ["tool_0", "tool_2", "tool_11"];
    expect(answers(some.map((name) => [packed.get(`scripts/${name}.js`) ?? "", {}]))).toEqual(some);
    expect(new Set(record?.tools?.map(({ module }) => module)).size).toBe(names.length);
    const empty = await build(one(skill("")));
    expect([empty.found, empty.record?.tools]).toEqual([[], []]);
  });

  test("with a handler that answers errors of input and configuration as errors", async () => {
    const module = await handler();
    expect(
      answers([
        [module, { limit: "x" }],
        [module, { query: "a" }, { config: { maxCost: 99 } }],
      ]),
    ).toEqual([
      { error: expect.stringMatching(/^Invalid arguments\. .*query.*limit/) },
      { error: expect.stringMatching(/configuration of search.*maxCost/) },
    ]);
  });

  test("with an output schema that excludes failures and artifacts", async () => {
    const answering = `tool({
      name: "answers", description: "d", input: z.object({ answer: z.any() }),
      output: z.object({ n: z.int().optional() }), run: ({ answer }) => answer,
    })`;
    const module = (await build(one(skill(answering)))).packed.get("scripts/answers.js") ?? "";
    const artifact = { __artifact__: true, type: "html", title: "Page", content: "<b>" };
    const kept = [artifact, { __artifact_update__: true, id: "p" }, { error: "why" }];
    const given = [...kept, { n: 1, more: 2 }];
    expect(answers(given.map((answer) => [module, { answer }]))).toEqual([...kept, { n: 1 }]);
  });

  test("has the same digest in any location, and follows its imports", async () => {
    const first = one(skill(SEARCH));
    const cache = new BuildCache();
    await new Promise((resolve) => setTimeout(resolve, 60));
    const built = await build(first, cache);
    const elsewhere = folder({
      "x/skills/search-docs/skill.ts": skill(SEARCH),
      "x/skills/search-docs/lib.ts": LIB,
    });
    expect((await build(join(elsewhere, "x"))).digest).toBe(built.digest);
    await build(first, cache);
    expect(cache.rebuilt).toBe(0);
    put(first, "skills/search-docs/lib.ts", LIB.replace("n * 2", "n * 3"));
    expect((await build(first, cache)).digest).not.toBe(built.digest);
  });

  test("may use modules of Node, some of which need a process", async () => {
    const needy = `tool({ name: "run_it", description: "d", run: () => execFileSync("echo", ["hi"]).toString() })`;
    const { record, packed } = await build(
      one(`import { execFileSync } from "node:child_process";\n${skill(needy)}`),
    );
    expect(record?.tools).toMatchObject([{ tier: "runner", script: "scripts/run_it.js" }]);
    expect(call(packed.get("scripts/run_it.js") ?? "", {})).toBe("hi\n");
  });
});

describe("next to other files", () => {
  const typed = (files: Record<string, string>) =>
    build(
      one(
        skill(SEARCH),
        Object.fromEntries(Object.entries(files).map(([p, t]) => [`skills/search-docs/${p}`, t])),
      ),
    );
  const agreeing = skillText("search-docs", "provider: mock").replace(
    "description: d",
    "description: Search docs. Use when asked.",
  );

  test("SKILL.md is the author's", async () => {
    const { found, record } = await typed({ "SKILL.md": agreeing });
    expect(found).toEqual([]);
    expect(record).toMatchObject({ body: "Body.", manifest: { llm: { target: { provider: "mock" } } } });
  });

  test("SKILL.md agrees in name and description", async () => {
    const { found, catalog } = await typed({ "SKILL.md": skillText("other") });
    expect(found).toEqual([
      expect.stringMatching(/^error typed_disagrees search-docs\/skill\.ts: SKILL\.md has the name "other"/),
      expect.stringMatching(/^error typed_disagrees .*description "d"/),
    ]);
    expect(catalog).toBeNull();
  });

  test("tools.json adds tools of other names", async () => {
    const own = (name: string) => JSON.stringify([{ name, description: "d" }]);
    expect((await typed({ "tools.json": own("ask") })).record?.tools?.map(({ name }) => name)).toEqual([
      "ask",
      "search",
    ]);
    expect((await typed({ "tools.json": own("search") })).found).toEqual([
      expect.stringMatching(/^error typed_clash .*The tool search is in both tools\.json and skill\.ts/),
    ]);
    expect((await typed({ "tools.json": "{" })).found).toEqual([expect.stringMatching(/^error typed_clash/)]);
    expect((await typed({ "scripts/search.js": "" })).found).toEqual([
      expect.stringMatching(/^error typed_clash .*would replace the file scripts\/search\.js/),
    ]);
  });
});

test("8: hull validate and hull pack treat the folder as the Skill Tools folder that it becomes", async () => {
  const project = one(skill(SEARCH));
  for (const flags of [["--strict"], ["--profile", "strict"]]) {
    const { code, out } = await hullHere(["validate", ...flags], project);
    expect([code, out]).toEqual([0, expect.stringContaining("1 valid skill")]);
  }
  const pack = [join(REPO, "bin/hull.mjs"), "pack", "skills/search-docs"];
  const packed = execFileSync(process.execPath, pack, { cwd: project, encoding: "utf8" });
  expect(packed).toMatch(/^search-docs\.skill: 5 files/);
});

test("findings name the lines of the calls in skill.ts and in what it imports", async () => {
  const text = `${HEAD}import { other } from "./lib.ts";
export default defineSkill({
  name: "search-docs",
  description: "Search docs. Use when asked.",
  tools: [
    other,
    tool({
      name: "roll",
      description: "Rolls.",
      input: z.object({ dice: z.int() }),
      run: ({ dice }) => dice,
    }),
  ],
});
`;
  const lib =
    'import { tool } from "hullrun";\nexport const other =\n  tool({ name: "Other", description: "x", run: () => 1 });\n';
  const location = async (project: string) =>
    (await buildRoots([join(project, "skills")], { projectDir: project })).diagnostics.map(
      ({ diagnostic: d }) => `${d.file}:${d.line}:${d.column} ${d.code} ${d.field}`,
    );
  expect(await location(one(text, { "skills/search-docs/lib.ts": lib }))).toEqual([
    "search-docs/lib.ts:3:3 tool_name tools[0].name",
    "search-docs/skill.ts:9:5 parameter_description_missing tools[1].input.dice",
  ]);
  const idle = text.replace("run: ({", "runs: ({");
  expect(await location(one(idle, { "skills/search-docs/lib.ts": lib }))).toEqual([
    "search-docs/skill.ts:9:5 typed_schema undefined",
  ]);
  const dated = text.replace("z.int()", "z.date()");
  expect(await location(one(dated, { "skills/search-docs/lib.ts": lib }))).toEqual([
    "search-docs/skill.ts:9:5 typed_schema undefined",
  ]);
  const blank = text.replace(/description: "Search[^"]*"/, 'description: ""');
  expect(await location(one(blank, { "skills/search-docs/lib.ts": lib }))).toContain(
    "search-docs/skill.ts:4:16 description_empty description",
  );
  const linked = one(text.replace("  tools: [", '  instructions: "See scripts/gone.py.",\n  tools: ['), {
    "skills/search-docs/lib.ts": lib,
  });
  const { err } = await hullHere(["validate", linked]);
  expect(err).toMatch(/search-docs\/skill\.ts:4:16: warning: .*scripts\/gone\.py.*\[reference_missing\]/);
});

test.each<[string, string, RegExp]>([
  [
    "a type without JSON",
    skill(SEARCH.replace("z.string().describe", "z.date().describe").replace("query:", "when:")),
    /^error typed_schema search-docs\/skill\.ts: search\.input\.when: z\.date/,
  ],
  ["no skill", "export default 5;", /^error typed_schema .*default export must be defineSkill/],
  [
    "a tool without run",
    skill(SEARCH.replace("run", "runs")),
    /^error typed_schema search-docs\/skill\.ts: skill\.ts: tools\[0\] must be tool\(.* a function run/,
  ],
  [
    "a skill without a description",
    'import { defineSkill } from "hullrun";\nexport default defineSkill({ name: "x", tools: [] });',
    /^error typed_schema .*defineSkill needs a name and a description/,
  ],
  ["no default export", "export const a = 1;", /^error typed_build .*default/],
  ["a fault of syntax", "export default {;", /^error typed_build search-docs\/skill\.ts: /],
  [
    "a package that is not installed",
    'import "left-pad-x";\nexport default 1;',
    /^error typed_build .*left-pad-x/,
  ],
  [
    "a failing top level",
    "const a: any = null;\nexport default a.b;",
    /^error typed_build .*TypeError.*line 2/,
  ],
  ["an end of its process", "process.exit(3);\nexport default 1;", /^error typed_build .*ended with 3/],
])("%s stops the build", async (_, text, finding) => {
  const { found, catalog } = await build(one(text));
  expect(found).toEqual([expect.stringMatching(finding)]);
  expect(catalog).toBeNull();
});
