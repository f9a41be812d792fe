/** The contract of Skill Tools handlers in real isolates; what isolates are: handler-isolate.test.ts. */
import { describe, expect, it } from "vitest";
import { FakeFolder, handle } from "./handler-world.ts";

const COUNT_WORDS = `export default async function handler(args) {
  const { text } = args;
  const words = text.trim().split(/\\s+/).filter(Boolean);
  return { count: words.length };
}`;
const TEXT = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

const value = async (source: string, ...scene: [Parameters<typeof handle>[1]?]) =>
  (await handle(source, ...scene)).value;

describe("H1 to H4: the contract", () => {
  it("H4: the handler of the specification runs unchanged", async () => {
    const scene = { args: { text: "one two three" }, tool: { parameters: TEXT } };
    expect(await handle(COUNT_WORDS, scene)).toMatchObject({
      value: { count: 3 },
      text: '{"count":3}',
      fault: null,
    });
  });

  it.each([
    ["a sync function", "export default (args) => args.text.length", 5],
    ["a declaration", "export default function handler(args) { return args.text; }", "hello"],
    ["top-level await", "const n = await Promise.resolve(7); export default () => n", 7],
    ["nothing", "export default () => {}", null],
    ["null", "export default () => null", null],
    ["a list", "export default () => [1, { a: null }]", [1, { a: null }]],
    ["a date", "export default () => new Date(0)", "1970-01-01T00:00:00.000Z"],
    ["false", "export default () => false", false],
  ])("H2: %s", async (_, source, expected) => {
    const heard = await handle(source, { args: { text: "hello" }, tool: { parameters: TEXT } });
    expect(heard).toMatchObject({ value: expected, fault: null });
  });

  it("H1: gets all parameters and __workDir, which a model cannot choose", async () => {
    const args = { text: "x", __workDir: "/etc", __other: 1 };
    const [keys, folder] = (await value("export default (args) => [Object.keys(args), args.__workDir]", {
      args,
      tool: { parameters: TEXT },
    })) as [string[], string];
    expect(keys).toEqual(["text", "__workDir"]);
    expect(folder).toMatch(/^\/tmp\/./);
  });

  it.each([
    ["an Error", "export default () => { throw new TypeError('boom'); }", "boom"],
    ["an Error without words", "export default async () => { throw new RangeError(); }", "RangeError"],
    ["a text", "export default () => { throw 'boom'; }", "boom"],
    ["nothing", "export default () => { throw undefined; }", "undefined"],
    ["an object", "export default () => { throw { code: 7, why: ['x'] }; }", /^\{"code":7,"why":\["x"\]\}$/],
    [
      "a cycle that is thrown",
      "export default () => { const a = {}; a.a = a; throw a; }",
      /^a value that cannot be shown$/,
    ],
    [
      "what cannot be shown",
      "export default () => { throw { toString() { throw 1; } }; }",
      /cannot be shown/,
    ],
    ["BigInt", "export default () => 1n", /cannot be sent as JSON: .*BigInt/],
    [
      "a cycle",
      "export default () => { const a = {}; a.a = a; return a; }",
      /cannot be sent as JSON: .*circular/,
    ],
    ["NaN", "export default () => ({ deep: [NaN] })", /cannot be sent as JSON: it holds NaN/],
    ["a function", "export default () => () => 1", /cannot be sent as JSON: it is a function/],
    ["over 5 MB", "export default () => 'x'.repeat(5_000_001)", /longer than 5000000/],
    [
      "no default export",
      "export const handler = () => 1",
      "scripts/probe.js:1: it has no default export that is a function",
    ],
    [
      "a default export that is no function",
      "export default 7",
      /^scripts\/probe\.js:1: .*no default export/,
    ],
    ["CommonJS", "\nmodule.exports = () => 1", /^scripts\/probe\.js:2:1: module is not defined/],
    ["a syntax error", "export default (\n", /SyntaxError: .*scripts\/probe\.js:2/],
    [
      "a fault while it loads",
      "\n\nthrow new Error('early'); export default 1",
      /^scripts\/probe\.js:3:\d+: early/,
    ],
    [
      "a bare import",
      "import x from 'lodash'; export default x",
      /^scripts\/probe\.js: No such module .*lodash/,
    ],
  ])("H3: %s is an error", async (_, source, message) => {
    const heard = await handle(source);
    expect(heard).toMatchObject({ value: { error: expect.stringMatching(message) }, fault: "tool_error" });
    expect(JSON.parse(heard.text)).toEqual(heard.value);
  });

  it("a returned error is passed on unchanged and marked", async () => {
    expect(await handle("export default () => ({ error: 'no such city', hint: 1 })")).toMatchObject({
      value: { error: "no such city", hint: 1 },
      fault: "tool_error",
    });
    expect(await handle("export default () => ({ error: null, ok: 1 })")).toMatchObject({ fault: null });
  });

  it.each([
    ["a wrong type", { text: 5 }, /text: .*string/],
    ["a missing one", {}, /required property "text"/],
    ["a wrong enum", { text: "a", unit: "k" }, /unit: .*c.*f/],
    ["two faults", { text: 5, unit: "k" }, /"string"; unit: Inst/],
    ["one that is nested", { text: "a", at: { x: "no" } }, /at\.x: .*number/],
  ])("arguments with %s never reach the handler", async (_, args, message) => {
    const properties = {
      text: { type: "string" },
      unit: { enum: ["c", "f"] },
      at: { type: "object", properties: { x: { type: "number" } } },
    };
    const heard = await handle("export default () => { throw new Error('called'); }", {
      args,
      tool: { parameters: { ...TEXT, properties } },
    });
    expect(heard).toMatchObject({
      value: { error: expect.stringMatching(message) },
      fault: "schema_validation",
    });
  });

  it("texts are converted only to numbers, and only where the schema says so", async () => {
    const properties = { n: { type: "number" }, i: { type: "integer" }, s: { type: "string" } };
    const scene = {
      args: { n: "1.5", i: "3", s: "3" },
      tool: { parameters: { type: "object", properties } },
    };
    expect(await value("export default ({ n, i, s }) => ({ n, i, s })", scene)).toEqual({
      n: 1.5,
      i: 3,
      s: "3",
    });
  });

  it("M7: a tool without a script answers where to read on", async () => {
    const { value, fault } = await handle("", { tool: { tier: "stub", name: "weather" } });
    expect(fault).toBeNull();
    expect(value).toEqual({ message: expect.stringMatching(/weather.*probes.*load_skill/) });
  });

  it("the declared answer is checked: an error where authors are, a diagnostic elsewhere", async () => {
    const tool = {
      output_schema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    };
    const source = "export default () => ({ n: 'one' })";
    expect(await handle(source, { tool })).toMatchObject({
      fault: "tool_error",
      value: { error: /output schema/ },
    });
    const heard = await handle(source, { tool, variables: { HULL_ENV: "deployed" } });
    expect(heard).toMatchObject({
      fault: null,
      value: { n: "one" },
      metadata: { diagnostics: [{ code: "output_schema" }] },
    });
  });

  it.each([
    ["__artifact__", { type: "html", title: "Page", content: "<b>" }],
    ["__artifact_update__", { id: "page" }],
  ])("does not check an artifact against the output schema: %s", async (mark, artifact) => {
    const tool = { output_schema: { type: "object", required: ["n"], additionalProperties: false } };
    const heard = await handle(`export default () => (${JSON.stringify({ ...artifact, [mark]: true })})`, {
      tool,
    });
    expect(heard).toMatchObject({ fault: null, artifact: true, metadata: { runtime: "isolate" } });
    expect(heard.artifacts).toMatchObject([artifact]);
    expect(heard.metadata).not.toHaveProperty("diagnostics");
  });
});

describe("the work folder", () => {
  const SOURCE = `import fs from "node:fs"; import path from "node:path";
    export default ({ __workDir: dir, text }, ctx) => {
      if (dir !== ctx.workDir || process.cwd() !== dir) throw new Error("where?");
      const before = ["deep/er/list.txt", "old.txt", "none.txt"].filter((name) => fs.existsSync(path.join(dir, name)));
      fs.writeFileSync(path.join(dir, "made.txt"), text);
      fs.mkdirSync("deep/er", { recursive: true });
      fs.appendFileSync("deep/er/list.txt", text);
      fs.rmSync("old.txt", { force: true });
      fs.symlinkSync("/bundle", "link");
      return before;
    }`;

  it("holds the session's files, and its final content becomes the session's; links are dropped", async () => {
    const folder = new FakeFolder({ "old.txt": "o", "deep/er/list.txt": "1", "same.txt": "s" });
    const scene = { args: { text: "2" }, tool: { parameters: TEXT }, environment: { folder } };
    const heard = await handle(SOURCE, scene);
    expect(heard.value).toEqual(["deep/er/list.txt", "old.txt"]);
    expect(Object.fromEntries(folder.contents)).toEqual({
      "deep/er/list.txt": "12",
      "same.txt": "s",
      "made.txt": "2",
    });
    expect(heard.text).toContain('[Not kept among the session\'s files: "link" (a symbolic link).]');
  });

  it("a call without a session has an empty one, and nothing is kept", async () => {
    const scene = { args: { text: "2" }, tool: { parameters: TEXT } };
    expect([await value(SOURCE, scene), await value(SOURCE, scene)]).toEqual([[], []]);
  });

  it("a workspace over 8 MiB goes to the runner", async () => {
    const folder = new FakeFolder();
    folder.tooLarge = true;
    expect(
      await handle(SOURCE, { args: { text: "2" }, tool: { parameters: TEXT }, environment: { folder } }),
    ).toMatchObject({
      value: "from the runner",
    });
  });
});

describe("a handler's output and input", () => {
  it("ctx names the call, the session, the models; plain handlers ignore it", async () => {
    const source =
      "export default (args, { emit, artifact, python, signal, ...rest }) => ({ ...rest, aborted: signal.aborted })";
    const call = { sessionId: "s1", bot: "b1", models: { writer: "opus" } };
    const config = async () => ({ values: { quality: "high" }, secrets: [], diagnostics: [] });
    expect(await value(source, { call, environment: { config } })).toEqual({
      workDir: expect.stringMatching(/^\/tmp\//),
      config: { quality: "high" },
      env: {},
      callId: "call_1",
      sessionId: "s1",
      bot: "b1",
      models: { writer: "opus" },
      aborted: false,
    });
    expect(Object.keys((await value(source)) as object).sort()).toEqual([
      "aborted",
      "callId",
      "config",
      "env",
      "models",
      "workDir",
    ]);
  });

  it("streams events and output in order, also without a reader", async () => {
    const source = `export default async (args, ctx) => {
      await ctx.emit("one"); ctx.emit("two"); console.log("three", { a: 1 }); process.stderr.write("four"); ctx.emit({ five: 5 }); return 1; }`;
    const { events, value } = await handle(source);
    expect(value).toBe(1);
    expect(events).toEqual(
      [
        ["emit", "one"],
        ["emit", "two"],
        ["stderr", 'three {"a":1}\n'],
        ["stderr", "four"],
        ["emit", '{"five":5}'],
      ].map(([stream, text]) => ({ event: "tool_output", data: { call_id: "call_1", stream, text } })),
    );
  });

  it("two calls at once keep their ids, in one isolate", async () => {
    const source =
      "export default async ({ text }, ctx) => { for (let i = 0; i < 5; i++) { await ctx.emit(text + i); console.log(text); await scheduler.wait(2); } }";
    const events: [unknown, unknown][] = [];
    const environment = {
      emit: ({ data }: { data: Record<string, unknown> }) => events.push([data.call_id, data.text]),
    };
    const one = (id: string) => {
      const call = { type: "tool_call" as const, id, name: "probe", arguments: { text: id }, raw: "" };
      return handle(source, { environment, call: { call }, tool: { parameters: TEXT } });
    };
    await Promise.all([one("a"), one("b")]);
    expect(events).toHaveLength(20);
    expect(events.every(([id, text]) => String(text).startsWith(String(id)))).toBe(true);
  });

  it("1 MB of output is streamed, followed by one notice", async () => {
    const source = `export default async (args, ctx) => { for (let i = 0; i < 30; i++) await ctx.emit("é".repeat(50_000)); }`;
    const { events } = await handle(source);
    const text = events.map(({ data }) => Reflect.get(data, "text")).join("");
    expect(text.match(/\[hull: the output of this call passed 1 MB/g)).toHaveLength(1);
    expect(text.endsWith("is not shown]\n")).toBe(true);
    expect(text.length).toBeLessThan(600_000);
  });

  it("returned and emitted artifacts are kept in order; the model gets one line for each", async () => {
    const source = `export default async (args, ctx) => {
      const { id } = await ctx.artifact({ type: "code", title: "A", content: "one" });
      await ctx.artifact.update(id, { content: "two" });
      return { __artifact__: true, id: "x", type: "html", title: "B", content: "three" }; }`;
    const { artifacts, text, fault } = await handle(source);
    expect(artifacts).toEqual([
      { __artifact__: true, id: expect.any(String), type: "code", title: "A", content: "one" },
      { __artifact_update__: true, id: artifacts[0]?.id, content: "two" },
      { __artifact__: true, id: "x", type: "html", title: "B", content: "three" },
    ]);
    expect([text, fault]).toEqual(['Artifact "B".\nArtifact "A".\nArtifact "undefined".', null]);
    const broken = "export default () => ({ __artifact_update__: true, id: 'none', type: 'broken' })";
    expect(await handle(broken)).toMatchObject({ value: { error: "no" }, fault: "tool_error" });
  });

  it("secrets of the configuration are for the handler alone", async () => {
    const config = async () => ({
      values: { key: "configured-canary" },
      secrets: ["configured-canary"],
      diagnostics: [],
    });
    const source = `export default async (args, ctx) => { await ctx.emit("got " + ctx.config.key); return { key: ctx.config.key, n: ctx.config.key.length }; }`;
    const { value, events, text } = await handle(source, { environment: { config } });
    expect(value).toEqual({ key: "[redacted]", n: 17 });
    expect(JSON.stringify([events, text])).not.toContain("configured-canary");
  });

  it("under a ceiling without processes nothing becomes one: no ctx.python, no runner in the isolate's place", async () => {
    const source = "export default async (args, ctx) => (await ctx.python('print(1)')).stdout";
    const environment = { processes: false };
    const asked = await handle(source, { tool: { filesystem: true }, environment });
    expect([asked.fault, asked.text]).toEqual(["tool_error", expect.stringContaining("no Python")]);
    const folder = new FakeFolder();
    folder.tooLarge = true;
    for (const scene of [
      { environment: { ...environment, folder } },
      { environment, variables: { LOADER: undefined } },
    ]) {
      const { fault, text, inRunner } = await handle("export default () => 1", scene);
      expect([fault, text, inRunner]).toEqual(["tool_error", expect.stringContaining("policy"), []]);
    }
    const runner = await handle("", { environment, tool: { tier: "runner" } });
    expect(runner.inRunner).toHaveLength(1);
  });

  it("ctx.python exists for tools that declare files", async () => {
    const source = "export default async (args, ctx) => (await ctx.python('print(1)')).stdout";
    expect(await value(source, { tool: { filesystem: true } })).toBe("ran print(1)");
    expect(await handle(source)).toMatchObject({
      fault: "tool_error",
      value: { error: /x-requires-filesystem/ },
    });
  });

  it("a call that an earlier run attempt began is made again where that does no harm", async () => {
    const source = "export default () => 1";
    const call = { again: true };
    expect(await handle(source, { call })).toMatchObject({ value: 1 });
    expect(await handle(source, { call, tool: { side_effects: true, idempotent: true } })).toMatchObject({
      value: 1,
    });
    expect(await handle(source, { call, tool: { side_effects: true } })).toMatchObject({
      fault: "cancelled",
    });
  });
});
