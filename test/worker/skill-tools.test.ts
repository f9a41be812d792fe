/** Tools of tools.json as callers meet them: served skills, runs, sessions. */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { readEvents } from "../support/sse.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";
import { strictLoader } from "./strict-loader.ts";

const client = new Client({ HULL_ENV: "local", HULL_LLM: '{"llm":{"mock_routes":true}}' });
type Body = Record<string, unknown>;

const TEXT = { text: { type: "string", description: "Text" } };
const declared = (name: string, more: object = {}) => ({
  name,
  description: name,
  script: `scripts/${name}.js`,
  parameters: TEXT,
  ...more,
});
const folder = (name: string, tools: object[], scripts: Record<string, string>, extra = "") => ({
  "SKILL.md": mockSkill(name, extra),
  "tools.json": JSON.stringify(tools),
  ...Object.fromEntries(Object.entries(scripts).map(([tool, code]) => [`scripts/${tool}.js`, code])),
});

const CROWD = ["one", "two", "three", "four", "five", "six"];
const FOLDERS = {
  "count-words": folder("count-words", [declared("count_words")], {
    count_words: `export default async function handler(args) {
      const { text } = args;
      return { count: text.trim().split(/\\s+/).filter(Boolean).length };
    }`,
  }),
  first: folder("first", [declared("shared"), declared("only_first")], {
    shared: "export default () => 'of first'",
    only_first: "export default () => 'only first'",
  }),
  second: folder("second", [declared("shared")], { shared: "export default () => 'of second'" }),
  noisy: folder("noisy", [declared("speak")], {
    speak: `export default async ({ text }, ctx) => {
      for (let i = 0; i < 3; i++) { await ctx.emit(text + i + " "); await scheduler.wait(2); }
      console.log("log of " + text); return null; }`,
  }),
  files: folder(
    "files",
    [
      declared("append", { "x-side-effects": true }),
      declared("retried", { "x-idempotent": true, "x-side-effects": true }),
    ],
    Object.fromEntries(
      ["append", "retried"].map((name) => [
        name,
        `import fs from "node:fs"; import path from "node:path";
        export default ({ text, __workDir }) => {
          const file = path.join(__workDir, "notes", "${name}.txt");
          fs.mkdirSync(path.dirname(file), { recursive: true }); fs.appendFileSync(file, text);
          if (text.startsWith("fail")) throw new Error("after the write");
          return fs.readFileSync(file, "utf8"); }`,
      ]),
    ),
  ),
  odd: folder(
    "odd",
    [
      { name: "stub", description: "Stub" },
      declared("secret_one", { "x-hidden": true }),
      declared("says_error"),
    ],
    {
      secret_one: "export default () => 'hidden, and called'",
      says_error: "export default () => ({ error: 'no' })",
    },
  ),
  marked: { "SKILL.md": mockSkill("marked", "output_mime: text/markdown\n") },
  "told-json": { "SKILL.md": mockSkill("told-json", "output: json\n") },
  crowd: folder(
    "crowd",
    CROWD.map((name) => declared(name)),
    Object.fromEntries(CROWD.map((name) => [name, `export default () => "by ${name}"`])),
  ),
  draws: folder("draws", [declared("draw")], {
    draw: `export default ({ text }) => ({ __artifact__: true, type: "html", title: text, content: "<p>" })`,
  }),
  served: { "SKILL.md": mockSkill("served", "mcp_servers:\n  x: {command: ls}\n") },
  risky: folder("risky", [declared("wipe", { "x-risk": "dangerous" })], {
    wipe: "export default () => 'wiped'",
  }),
};

beforeAll(async () => {
  await client.publish(FOLDERS);
});

const json = { "content-type": "application/json" };
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  client.fetch(path, { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(body) });

/** A run whose model makes these calls in one turn; returns the results that the model read. */
async function run(calls: [string, object?][], options: Body, path = "/runs") {
  const mock = [
    { tool_calls: calls.map(([name, args = {}]) => ({ name, arguments: args })) },
    { text: "end" },
  ];
  const response = await post(path, { prompt: "go", options: { mock, ...options } });
  const body = await response.json<Body & { transcript: { events: { kind: string }[] } }>();
  expect([response.status, body.detail]).toEqual([200, undefined]);
  return { body, results: resultsOf(body) };
}

/** Texts of tool results in the transcript. */
function resultsOf(body: Body): string[] {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(look);
    else if (typeof value === "object" && value !== null) {
      const { role, content } = value as Record<string, unknown>;
      if (role === "tool" || role === "tool_result") found.push(String(content));
      else Object.values(value).forEach(look);
    }
  };
  look((body.transcript as Body).messages);
  return found;
}

describe("a served skill", () => {
  it("offers its tools.json after its frontmatter's tools, and calls it", async () => {
    const response = await client.fetch("/skills/count-words", { method: "POST", body: "one two three" });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('{"count":3}')]);
  });

  it("streams output immediately, with the id of its call", async () => {
    const mock = { tool_calls: ["a", "b"].map((text) => ({ name: "speak", arguments: { text } })) };
    expect((await post("/llm/mocks", [mock, { text: "end" }])).ok).toBe(true);
    const headers = { accept: "text/event-stream" };
    const events = await readEvents(
      await client.fetch("/skills/noisy", { method: "POST", body: "x", headers }),
    );
    const ids = events.filter(({ event }) => event === "tool_call").map(({ data }) => data.call_id);
    expect(ids).toHaveLength(2);
    for (const [i, name] of ["a", "b"].entries()) {
      const told = events.filter(({ event, data }) => event === "tool_output" && data.call_id === ids[i]);
      expect(told.map(({ data }) => [data.stream, data.text])).toEqual([
        ...[0, 1, 2].map((n) => ["emit", `${name}${n} `]),
        ["stderr", `log of ${name}\n`],
      ]);
      const names = events.filter(({ data }) => data.call_id === ids[i]).map(({ event }) => event);
      expect(names.at(-1)).toBe("tool_result");
    }
    expect(events.at(-1)).toMatchObject({ event: "done", data: { ok: true } });
    await client.fetch("/llm/mocks", { method: "DELETE" });
  });

  it("may repeat a call with the same result: Hull makes each call, and adds no remark", async () => {
    const again = { tool_calls: [{ name: "count_words", arguments: { text: "one" } }] };
    await post("/llm/mocks", Array(5).fill(again));
    const headers = { accept: "text/event-stream" };
    const events = await readEvents(
      await client.fetch("/skills/count-words", { method: "POST", body: "one", headers }),
    );
    const results = events.filter(({ event }) => event === "tool_result");
    expect(results.map(({ data }) => data.status)).toEqual(Array(5).fill("ok"));
    const text = events.map(({ data }) => data.text ?? "").join("");
    expect([text.includes('{"count":1}'), text.includes("[hull:")]).toEqual([true, false]);
  });

  it("refuses calls that need an approval, since no person can give it", async () => {
    const approvals = { skills: { risky: "dangerous" } };
    const careful = new Client({ HULL_ENV: "local", HULL_CONFIG: JSON.stringify({ approvals }) });
    const response = await careful.fetch("/skills/risky", { method: "POST", body: "now" });
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.stringMatching(/permission_denied.*dangerous/)]);
    const free = await client.fetch("/skills/risky", { method: "POST", body: "now" });
    expect(await free.text()).toContain("wiped");
  });

  it("warns that its plain answer lacks its artifacts; events and a session have them", async () => {
    const tool_calls = [{ name: "draw", arguments: { text: "Page" } }];
    const ask = async (query = "", headers = {}) => {
      await post("/llm/mocks", [{ tool_calls }, { text: "end" }]);
      return client.fetch(`/skills/draws${query}`, { method: "POST", body: "go", headers });
    };
    const plain = await ask();
    expect([await plain.text(), plain.headers.get("x-hull-warnings")]).toEqual(["end", "artifacts_left_out"]);
    const events = await readEvents(await ask("", { accept: "text/event-stream" }));
    expect(events.find(({ event }) => event === "artifact")?.data).toMatchObject({ title: "Page" });
    expect(events.at(-1)?.data).not.toHaveProperty("warnings");
    await client.post("/sessions", { id: "draws" });
    const kept = await ask("?session_id=draws");
    await client.fetch("/llm/mocks", { method: "DELETE" });
    expect([await kept.text(), kept.headers.get("x-hull-warnings")]).toEqual(["end", null]);
    const { data } = await (await client.fetch("/sessions/draws/artifacts")).json<{ data: object[] }>();
    expect(data).toMatchObject([{ title: "Page" }]);
  });

  it("has no tools of an MCP server whose runner is not there, and a warning says so", async () => {
    const why = "The runner at http://127.0.0.1:1, which executes scripts and tools, cannot be reached.";
    for (const secret of [{}, { HULL_RUNNER_SECRET: "s".repeat(32) }]) {
      const offline = new Client({ ...LOCAL, HULL_RUNNER_URL: "http://127.0.0.1:1", ...secret });
      const body = JSON.stringify({ prompt: "go", options: { skill: "served", mock: [{ text: "end" }] } });
      const response = await offline.fetch("/runs", { method: "POST", headers: json, body });
      expect(await response.json()).toMatchObject({ warnings: [{ message: expect.stringContaining(why) }] });
    }
  });

  it("logs each call, without its arguments", async () => {
    const lines: string[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line) => void lines.push(String(line)));
    await client.fetch("/skills/count-words", { method: "POST", body: "canary-argument" });
    log.mockRestore();
    const calls = lines.flatMap((line) => (line.includes('"tool_call"') ? [JSON.parse(line)] : []));
    expect(calls).toEqual([
      expect.objectContaining({
        event: "tool_call",
        skill: "count-words",
        tool: "count_words",
        runtime: "isolate",
        outcome: "ok",
        arguments_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        duration_ms: expect.any(Number),
      }),
    ]);
    expect(JSON.stringify(calls)).not.toContain("canary-argument");
  });
});

describe("a run", () => {
  it("M6: of two skills the tool of the one that comes last, and the run's own before both", async () => {
    const of = async (options: Body, ...calls: string[]) =>
      (
        await run(
          calls.map((name): [string, object] => [name, { text: "x" }]),
          options,
        )
      ).results;
    expect(await of({ skills: ["first", "second"] }, "shared", "only_first")).toEqual([
      "of second",
      "only first",
    ]);
    expect(await of({ skills: ["second", "first"] }, "shared")).toEqual(["of first"]);
    const own = { name: "shared", description: "Own", parameters: TEXT };
    const path = "/sessions/m6/runs";
    await post("/sessions", { id: "m6" });
    const mock = [{ tool_calls: [{ name: "shared", arguments: { text: "x" } }] }];
    const response = await post(path, { prompt: "go", options: { mock, skills: ["first"], tools: [own] } });
    expect(await response.json()).toMatchObject({ status: "awaiting_tool" });
  });

  it("streams output before the result, and records where it ran", async () => {
    const mock = [{ tool_calls: [{ name: "speak", arguments: { text: "a" } }] }, { text: "end" }];
    const options = { mock, skills: ["noisy"] };
    const response = await post("/runs", { prompt: "go", options }, { accept: "text/event-stream" });
    const events = await readEvents(response);
    const names = events.map(({ event }) => event).filter((name) => name.startsWith("tool_"));
    expect(names).toEqual(["tool_call", ...Array(4).fill("tool_output"), "tool_result"]);
    const done = events.at(-1)?.data as Body;
    expect(resultsOf(done)).toEqual(["null"]);
  });

  it("answers stubs, hidden tools, errors and arguments that do not fit", async () => {
    const { results, body } = await run(
      [
        ["stub"],
        ["secret_one", { text: "x" }],
        ["says_error", { text: "x" }],
        ["says_error", { text: 5 }],
        ["says_error"],
      ],
      { skills: ["odd"] },
    );
    expect(results.map((text) => (text.startsWith("{") ? JSON.parse(text) : text))).toEqual([
      { message: expect.stringMatching(/stub.*odd.*load_skill/) },
      "hidden, and called",
      { error: "no" },
      { error: expect.stringMatching(/text: .*string/) },
      { error: expect.stringContaining("text") },
    ]);
    expect(body.successful_tools).toEqual(["stub", "secret_one"]);
  });

  it("defers tools to the activation of their skill, if the run asks for it", async () => {
    const options = { skills: ["count-words"], skill_tools: "on_activation" };
    const { results } = await run([["count_words", { text: "a b" }]], options);
    expect(results[0]).toContain('"count_words" is not available');
    const mock = [
      { tool_calls: [{ name: "load_skill", arguments: { name: "count-words" } }] },
      { tool_calls: [{ name: "count_words", arguments: { text: "a b" } }] },
      { text: "end" },
    ];
    expect((await run([], { ...options, mock })).results.at(-1)).toBe('{"count":2}');
  });

  it("offers the tools of a served skill that it runs", async () => {
    const { results } = await run([["count_words", { text: "a b c" }]], { skill: "count-words" });
    expect(results).toEqual(['{"count":3}']);
  });
});

it("treats names that every object inherits like other names", async () => {
  const config = [{ name: "valueOf", type: "secret" }];
  const tool = declared("constructor", { parameters: {}, "x-config": config });
  const scripts = { constructor: "export default () => 'made'" };
  await client.publish({ constructor: folder("constructor", [tool], scripts), first: FOLDERS.first });
  const { results } = await run([["load_skill", { name: "constructor" }], ["constructor"]], {
    skills: ["constructor"],
  });
  const read = await (await client.fetch("/skills/constructor/config")).json();
  const card = await (await client.fetch("/skills/constructor/card")).json();
  await client.publish(FOLDERS);
  expect(results).toEqual([expect.stringContaining("<skill_content"), "made"]);
  expect(card).toMatchObject({ slug: "constructor" });
  expect(read).toMatchObject({ tools: { constructor: { values: { valueOf: { set: false } } } } });
});

describe("a skill that is withdrawn while its run calls the model", () => {
  afterEach(async () => {
    vi.restoreAllMocks();
    await client.publish(FOLDERS);
  });

  it.each<[string, Body]>([
    ["skills", { skills: ["count-words"] }],
    ["skill", { skill: "count-words" }],
  ])("stays the same for a run with the option %s", async (_, options) => {
    const asking = new Client({ HULL_ENV: "local", OPENAI_API_KEY: "sk-canary-1234567890" });
    const call = { name: "count_words", arguments: JSON.stringify({ text: "a b" }) };
    const answers = [
      { tool_calls: [{ id: "call_1", type: "function", function: call }] },
      { content: "end", tool_calls: undefined },
    ];
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
      const { "count-words": _withdrawn, ...others } = FOLDERS;
      await asking.publish(others);
      const message = { role: "assistant", content: null, ...answers.shift() };
      return Response.json({ choices: [{ message, finish_reason: "stop" }] });
    });
    const response = await asking.post("/runs", {
      prompt: "go",
      options: { provider: "openai", ...options },
    });
    expect(resultsOf(await response.json<Body>())).toEqual(['{"count":2}']);
  });
});

describe("a session", () => {
  const text = async (path: string) => (await client.fetch(path)).text();

  it("keeps what handlers write, and shows it to the next one", async () => {
    await post("/sessions", { id: "w1" });
    const options = { skills: ["files"] };
    const first = await run([["append", { text: "one " }]], options, "/sessions/w1/runs");
    const second = await run([["append", { text: "two" }]], options, "/sessions/w1/runs");
    expect([...first.results, ...second.results]).toEqual(["one ", "one two"]);
    expect(await text("/sessions/w1/files/notes/append.txt")).toBe("one two");
  });

  it.each(["/runs", "/sessions/crowd/runs"])(
    "works with as few isolates at once as a request may: %s",
    async (path) => {
      const crowded = new Client();
      const { LOADER } = crowded.env;
      if (LOADER === undefined) throw new TypeError("no loader");
      const loader = strictLoader(LOADER);
      crowded.env.LOADER = loader;
      if (path !== "/runs") await crowded.post("/sessions", { id: "crowd" });
      const mock = [
        { tool_calls: CROWD.map((name) => ({ name, arguments: { text: "x" } })) },
        { text: "end" },
      ];
      const answer = await crowded.post(path, { prompt: "go", options: { mock, skills: ["crowd"] } });

      expect(resultsOf(await answer.json())).toEqual(CROWD.map((name) => `by ${name}`));
      expect(loader.atOnce).toBe(4);
    },
  );

  it("holds the calls of any llm skill that name it, in the form that the skill promises", async () => {
    await post("/sessions", { id: "w3" });
    const ask = (slug: string, body: BodyInit) =>
      client.fetch(`/skills/${slug}?session_id=w3`, { method: "POST", body });
    const first = await ask("marked", "first");
    expect([first.headers.get("content-type"), await first.text()]).toEqual([
      "text/markdown",
      expect.stringMatching(/: first$/),
    ]);
    const second = await ask("told-json", "second");
    expect([second.status, await second.json()]).toMatchObject([200, { prompt: "second" }]);
    const { data } = await (await client.fetch("/sessions/w3/messages")).json<{ data: { role: string }[] }>();
    expect(data.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    const form = new FormData();
    form.set("text", "fourth");
    form.set("file", new File(["a"], "a.txt", { type: "text/plain" }));
    const refused = await ask("marked", form);
    expect([refused.status, await refused.json()]).toMatchObject([400, { option: "session_id" }]);
  });

  it("repeats a failing call only where it is idempotent", async () => {
    await post("/sessions", { id: "w2" });
    const options = { skills: ["files"], tool_retries: 2, tool_backoff_ms: 1 };
    await run([["append", { text: "fail " }]], options, "/sessions/w2/runs");
    await run([["retried", { text: "fail " }]], options, "/sessions/w2/runs");
    expect(await text("/sessions/w2/files/notes/append.txt")).toBe("fail ");
    expect(await text("/sessions/w2/files/notes/retried.txt")).toBe("fail fail fail ");
  });
});
