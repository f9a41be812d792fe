/**
 * What Hull sends to a provider for a request of a caller, in each wire protocol. The provider is a stand-in that keeps the
 * bodies.
 */
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { FakeRequest, FakeTurn } from "../support/fake-turn.ts";
import { HOST, providerStandIn } from "./provider-stand-in.ts";
import { Client, mockSkill } from "./served.ts";

const KEYS = { HULL_ENV: "local", ANTHROPIC_API_KEY: "sk-a", OPENAI_API_KEY: "sk-o" };
const client = new Client(KEYS);
const [GPT, CLAUDE] = ["gpt-4o", "claude-sonnet-4-5"];

const provider = providerStandIn();
const TOOL = "tools: [{name: now, description: Tells the time, command: [date]}]\n";
const thoughtful = (name: string, model: string): string =>
  `---\nname: ${name}\ndescription: Test.\nprovider: openai\nmodel: ${model}\neffort: high\n---\nThink.\n`;
const TALK = { name: "talk", description: "Talks", script: "talk.js", parameters: {} };
const TALKS = {
  "tools.json": JSON.stringify([TALK]),
  "talk.js": 'export default () => "a ".repeat(30_000);',
};
const LIMITS = [2048, 40_000];
/** A skill whose handler answers more than the skill lets the model read. */
const talkative = (bytes: number) => ({
  "SKILL.md": `---\nname: cuts-${bytes}\ndescription: d\nprovider: anthropic\nmax_tool_output_bytes: ${bytes}\n---\nTalk.\n`,
  ...TALKS,
});
const READER =
  "---\nname: reader\ndescription: d\nprovider: openai\nmodel: gpt-4o\nworkspace_tools: false\n---\nAnswer from notes.md.\n";
beforeAll(() =>
  client.publish({
    cat: mockSkill("cat"),
    clock: mockSkill("clock", TOOL),
    brisk: mockSkill("brisk", "idle_timeout_ms: 40\n"),
    sage: thoughtful("sage", "gpt-5.4"),
    echo: thoughtful("echo", "gpt-4o"),
    hasty: mockSkill("hasty", "timeout_ms: 40\n"),
    "hasty-claude":
      "---\nname: hasty-claude\ndescription: d\nprovider: anthropic\ntimeout_ms: 40\n---\nAnswer.\n",
    ...Object.fromEntries(LIMITS.map((bytes) => [`cuts-${bytes}`, talkative(bytes)])),
    careful: {
      "SKILL.md":
        "---\nname: careful\ndescription: d\nprovider: openai\nmodel: gpt-4o\noutput: json\n---\nAnswer in JSON.\n",
      ...TALKS,
    },
    reader: { "SKILL.md": READER, "notes.md": "Notes." },
    busy: {
      "SKILL.md": READER.replace("reader", "busy"),
      ...TALKS,
      "tools.json": JSON.stringify(["say", "talk"].map((name) => ({ ...TALK, name }))),
    },
    due: mockSkill("due", "deadline_ms: 60000\n"),
    long: {
      "SKILL.md":
        "---\nname: long\ndescription: d\nprovider: anthropic\nmodel: claude-sonnet-4-5\nmax_tool_output_bytes: 1048576\n---\nTalk.\n",
      "tools.json": TALKS["tools.json"],
      "talk.js": 'export default () => "a ".repeat(300_000);',
    },
    shells: {
      "SKILL.md": "---\nname: shells\ndescription: d\nprovider: anthropic\n---\nTalk.\n",
      "tools.json": JSON.stringify([{ ...TALK, name: "bash_code_execution" }]),
      "talk.js": TALKS["talk.js"],
    },
    usual: "---\nname: usual\ndescription: d\nprovider: anthropic\n---\nAnswer.\n",
  }),
);
async function sent(path: string, body: object): Promise<FakeRequest["body"]> {
  const answer = await client.post(path, body);
  expect([answer.status, await answer.text()]).toMatchObject([200, expect.anything()]);
  return provider.bodies[0] ?? expect.fail("nothing was sent");
}

const messages = [{ role: "user", content: "Hi." }];
const schema = { type: "object", properties: {} };
const CHAT_TOOL = { type: "function", function: { name: "t", description: "T.", parameters: schema } };
const OWN_TOOL = { name: "t", description: "T.", parameters: schema };
const CODE = { type: "code_execution_20250825", name: "code_execution" };
const MESSAGES_TOOL = { name: "t", description: "T.", input_schema: schema };
const options = { model: GPT, tools: [OWN_TOOL] };
const clock = { provider: "openai", model: GPT, skill: "clock" };
const responses = { openai: { api: "responses" } };

describe("a tool choice of the caller reaches the provider; without one, Hull sends none to OpenAI's models", () => {
  it.each<[string, string, object]>([
    ["a call, to chat completions", "/llm/call", { prompt: "Hi.", options }],
    ["a call, to responses", "/llm/call", { prompt: "Hi.", options: { ...options, ...responses } }],
    ["a run, to chat completions", "/runs", { prompt: "Hi.", options: clock }],
    ["a run, to responses", "/runs", { prompt: "Hi.", options: { ...clock, ...responses } }],
  ])("%s", async (_, path, body) => {
    expect(await sent(path, body)).not.toHaveProperty("tool_choice");
    provider.bodies = [];
    const chosen = JSON.parse(JSON.stringify(body), (name, value) =>
      name === "options" ? { ...value, tool_choice: "auto" } : value,
    );
    expect((await sent(path, chosen)).tool_choice).toBe("auto");
  });

  const whole = { skills: [{ type: "custom", skill_id: "cat" }], injection: "full" };
  it.each<[string, string, object, string]>([
    ["a chat completion", "/v1/chat/completions", { tools: [CHAT_TOOL] }, "auto"],
    ["one whose tools Hull runs", "/v1/chat/completions", { tools: [CHAT_TOOL], container: whole }, "auto"],
    ["a message of Anthropic's client", "/v1/messages", { tools: [MESSAGES_TOOL], max_tokens: 9 }, "auto"],
  ])("%s", async (_, path, body, auto) => {
    const ask = { model: GPT, messages, ...body };
    expect(await sent(path, ask)).not.toHaveProperty("tool_choice");
    provider.bodies = [];
    const tool_choice = path === "/v1/messages" ? { type: "auto" } : "auto";
    expect((await sent(path, { ...ask, tool_choice })).tool_choice).toBe(auto);
  });

  it("a response", async () => {
    const tools = [{ type: "function", name: "t", description: "T.", parameters: schema }];
    const ask = { model: GPT, input: "Hi.", store: false, tools };
    expect(await sent("/v1/responses", ask)).not.toHaveProperty("tool_choice");
    provider.bodies = [];
    expect((await sent("/v1/responses", { ...ask, tool_choice: "auto" })).tool_choice).toBe("auto");
  });
});

describe("the switch for one tool call at a time", () => {
  const whole = { skills: [{ type: "custom", skill_id: "cat" }], injection: "full" };
  const [chat, own] = [
    { messages, tools: [CHAT_TOOL] },
    { messages, max_tokens: 9, tools: [MESSAGES_TOOL] },
  ];
  const response = { input: "Hi.", store: false, tools: [{ ...OWN_TOOL, type: "function" }] };
  const single = { disable_parallel_tool_use: true };
  const off = { parallel_tool_calls: false };
  it.each<[string, object]>([
    ["/v1/chat/completions", { ...chat, ...off }],
    ["/v1/chat/completions", { ...chat, ...off, container: whole }],
    ["/v1/messages", { ...own, tool_choice: { type: "auto", ...single } }],
    ["/v1/messages", { ...own, tool_choice: { type: "auto", ...single }, container: whole }],
    ["/v1/responses", { ...response, ...off }],
  ])("reaches either vendor: %s %j", async (path, ask) => {
    expect(await sent(path, { ...ask, model: GPT })).toMatchObject(off);
    provider.bodies = [];
    expect((await sent(path, { ...ask, model: CLAUDE })).tool_choice).toEqual({ type: "auto", ...single });
  });

  it("goes along with a tool choice, and adds nothing to it", async () => {
    const forced = { ...own, tool_choice: { type: "any", ...single } };
    expect(await sent("/v1/messages", { ...forced, model: GPT })).toMatchObject({
      tool_choice: "required",
      ...off,
    });
    provider.bodies = [];
    const none = { ...chat, ...off, tool_choice: "none" };
    expect((await sent("/v1/chat/completions", { ...none, model: CLAUDE })).tool_choice).toEqual({
      type: "none",
    });
    provider.bodies = [];
    const free = { ...own, tool_choice: { type: "auto" } };
    expect(await sent("/v1/messages", { ...free, model: GPT })).not.toHaveProperty("parallel_tool_calls");
    provider.bodies = [];
    const on = { ...chat, parallel_tool_calls: true, model: CLAUDE };
    expect((await sent("/v1/chat/completions", on)).tool_choice).toEqual({ type: "auto" });
  });

  it("is left out for models that refuse it, with a warning", async () => {
    const answer = await client.post("/v1/chat/completions", { ...chat, ...off, model: "o3" });
    expect(answer.headers.get("x-hull-ignored")).toBe("parallel_tool_calls");
    expect(answer.headers.get("x-hull-warnings")).toBe("option_ignored");
    expect(provider.bodies[0]).not.toHaveProperty("parallel_tool_calls");
  });
});

describe("an effort of Anthropic's client, where Hull runs the tools", () => {
  const container = { skills: [{ type: "custom", skill_id: "cat" }], injection: "full" };
  const OPUS = "claude-opus-4-6";
  const ask = { max_tokens: 9000, messages, container };
  it.each<[string, object, object]>([
    ["max", {}, { thinking: { type: "adaptive" } }],
    ["low", {}, { thinking: { type: "adaptive" } }],
    [
      "xhigh",
      { thinking: { type: "enabled", budget_tokens: 2000 } },
      { thinking: { type: "enabled", budget_tokens: 2000 } },
    ],
    ["medium", { thinking: { type: "disabled" } }, {}],
  ])("reaches Anthropic unchanged: %s, %j", async (effort, more, thinking) => {
    const body = await sent("/v1/messages", { ...ask, model: OPUS, output_config: { effort }, ...more });
    expect(body).toMatchObject({ output_config: { effort }, ...thinking });
  });

  it("reaches other providers as the nearest level, and x-hull-ignored names it", async () => {
    const asked = (effort: string) =>
      client.post("/v1/messages", { ...ask, model: "o3", output_config: { effort } });
    const answers = [await asked("max"), await asked("high")];
    expect(answers.map(({ headers }) => headers.get("x-hull-ignored"))).toEqual([
      "output_config.effort",
      null,
    ]);
    expect(provider.bodies.map(({ reasoning_effort }) => reasoning_effort)).toEqual(["high", "high"]);
  });
});

describe("a skill", () => {
  const surfaces: [string, (skill: string) => [string, object]][] = [
    ["its route", (skill) => [`/skills/${skill}`, { input: "Hi." }]],
    ["a run", (skill) => ["/runs", { prompt: "Hi.", options: { skill } }]],
    ["a run of a session", (skill) => ["/sessions/s/runs", { prompt: "Hi.", options: { skill } }]],
    ["a sub-agent", (skill) => ["/sub-agents", { task: "Hi.", options: { skill } }]],
    ["a message", (skill) => ["/v1/messages", { model: `skill/${skill}`, max_tokens: 99, messages }]],
    ["a chat completion", (skill) => ["/v1/chat/completions", { model: `skill/${skill}`, messages }]],
    ["a response", (skill) => ["/v1/responses", { model: `skill/${skill}`, input: "Hi.", store: false }]],
  ];
  beforeAll(() => client.post("/sessions", { id: "s" }));

  it.each(surfaces)("has its effort reach a model that can think, and no other: %s", async (_, asked) => {
    expect((await sent(...asked("sage"))).reasoning_effort).toBe("high");
    provider.bodies = [];
    expect(await sent(...asked("echo"))).not.toHaveProperty("reasoning_effort");
  });

  it.each([
    ...surfaces,
    ["a stored response", (skill: string) => ["/v1/responses", { model: `skill/${skill}`, input: "Hi." }]],
  ] satisfies typeof surfaces)("warns the caller if its effort has no effect: %s", async (_, asked) => {
    const answer = await client.post(...asked("echo"));
    const told = `${answer.headers.get("x-hull-warnings")} ${await answer.text()}`;
    expect(told).toContain("option_ignored");
    if (!told.startsWith("option_ignored")) expect(told).toContain("effort has no effect: the model gpt-4o");
  });

  /** Objects of sessions have settings of their own. */
  const configurable = surfaces.filter(([name]) => name !== "a sub-agent" && name !== "a run of a session");
  const ruled = (rule: object) =>
    new Client({
      ...KEYS,
      HULL_LLM: JSON.stringify({
        llm: { model_defaults: { "gpt-4o": { temperature: 0.3 } } },
        capabilities: { provider: { openai: [{ model_match: "gpt-4o", ...rule }] } },
      }),
    });

  it.each(configurable)("gets the parameters of [llm.model_defaults]: %s", async (_, asked) => {
    const answer = await ruled({ native_tools: true }).post(...asked("echo"));
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Done.")]);
    expect(provider.bodies[0]).toMatchObject({ temperature: 0.3 });
  });

  it.each(configurable)(
    "that names no model gets its provider's default one, whatever model calls without one get: %s",
    async (_, asked) => {
      const answer = await new Client({ ...KEYS, HULL_LLM_MODEL: "claude-opus-4-6" }).post(...asked("usual"));
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Done.")]);
      expect(provider.bodies.map(({ model }) => model)).toEqual(["claude-haiku-4-5-20251001"]);
    },
  );

  it.each(configurable)("warns of more tools than its model takes: %s", async (_, asked) => {
    const answer = await ruled({ native_tools: true, max_tools: 1 }).post(...asked("busy"));
    const told = `${answer.headers.get("x-hull-warnings")} ${await answer.text()}`;
    expect([answer.status, told]).toEqual([200, expect.stringContaining("too_many_tools")]);
  });

  it.each(configurable)("offers no reading of files to a model without tools: %s", async (_, asked) => {
    const answer = await ruled({ native_tools: false }).post(...asked("reader"));
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Done.")]);
    expect(provider.bodies[0]).not.toHaveProperty("tools");
  });

  it("never writes tools into the system text, where a caller could not tell a call from the answer", async () => {
    provider.turns = [{ text: '{"done": true}' }];
    const answer = await ruled({ native_tools: false }).post("/skills/careful", { input: "Hi." });
    expect([answer.status, provider.bodies.length]).toEqual([200, 1]);
    const { messages } = provider.bodies[0] ?? {};
    expect(JSON.stringify(messages)).toContain("Answer in JSON.");
    expect(JSON.stringify(messages)).not.toContain("talk");
  });

  it.each(configurable)("asks the host delegate before a call that needs an approval: %s", async (_, ask) => {
    const HULL_CONFIG = JSON.stringify({ host: { url: HOST }, approvals: { skills: { careful: "safe" } } });
    const hosted = new Client({ ...KEYS, HULL_CONFIG });
    for (const decision of ["approve", "deny"]) {
      [provider.asked, provider.bodies] = [[], []];
      provider.decided = { decision, reason: "Not today." };
      provider.turns = [{ tool_calls: [{ name: "talk", arguments: {} }] }, { text: '{"done": true}' }];
      const answer = await hosted.post(...ask("careful"));
      expect([answer.status, await answer.text()]).toMatchObject([200, expect.stringContaining("done")]);
      expect(provider.asked).toEqual([
        expect.stringMatching(/^\{"method":"session\/request_permission".*"talk"/),
      ]);
      const read = JSON.stringify(provider.bodies[1]?.messages);
      expect(read).toContain(decision === "approve" ? "a a a" : "Not today.");
    }
  });

  it.each([{ reasoning_effort: "low" }, { thinking: "low" }])("gives way to the caller's %j", async (own) => {
    const body = { prompt: "Hi.", options: { skill: "sage", ...own } };
    expect((await sent("/runs", body)).reasoning_effort).toBe("low");
  });

  it.each(surfaces.filter(([name]) => name !== "a sub-agent"))(
    "is named with its run by the headers, and counts in the metrics: %s",
    async (_, asked) => {
      const other = new Client(KEYS);
      const [path, body] = asked("sage");
      for (const stream of [false, true]) {
        const wanted = path.startsWith("/v1") ? { ...body, stream } : body;
        const sent = { accept: stream ? "text/event-stream" : "*/*", "content-type": "application/json" };
        const init = { method: "POST", headers: sent, body: JSON.stringify(wanted) };
        const answer = await other.fetch(path, init);
        const { headers } = answer;
        expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Done.")]);
        expect(headers.get("x-hull-skill")).toMatch(/^sage@[0-9a-f]{12}$/);
        expect(headers.get("x-hull-execution-id") ?? headers.get("x-hull-run-id")).toMatch(/^(ex|run)_/);
      }
      const counted = async () => (await other.fetch("/metrics")).text();
      await expect.poll(counted).toContain('hull_runs_total{skill="sage",status="200"} 2\n');
    },
  );
});

describe("the cache marks of a system prompt", () => {
  const system = [
    { type: "text", text: "Be brief.\n" },
    { type: "text", text: "A long text.", cache_control: { type: "ephemeral", ttl: "1h" } },
    { type: "text", text: "Today is Monday.\n" },
  ];
  const whole = { skills: [{ type: "custom", skill_id: "cat" }], injection: "full" };

  it("survive where Hull runs the tools of a model of Anthropic; a list stays one without them", async () => {
    const ask = { model: CLAUDE, max_tokens: 99, messages, container: whole };
    const { system: blocks } = await sent("/v1/messages", { ...ask, system });
    const skills = { type: "text", text: expect.stringContaining("# Available Skills") };
    expect(blocks).toEqual([...system, skills]);
    provider.bodies = [];
    const unmarked = [{ type: "text", text: "Be brief." }];
    expect((await sent("/v1/messages", { ...ask, system: unmarked })).system).toEqual([...unmarked, skills]);
  });

  it("survive from a chat completion to a model of Anthropic", async () => {
    const asked = [
      { role: "developer", content: "First." },
      { role: "system", content: system },
      ...messages,
    ];
    const { system: blocks } = await sent("/v1/chat/completions", { model: CLAUDE, messages: asked });
    expect(blocks).toEqual([{ type: "text", text: "First." }, ...system]);
  });

  it("are left out of a chat completion to others, which get the list", async () => {
    const listed = system.map(({ type, text }) => ({ type, text }));
    const ask = { model: GPT, messages: [{ role: "system", content: system }, ...messages] };
    expect((await sent("/v1/chat/completions", ask)).messages[0]).toEqual({
      role: "system",
      content: listed,
    });
    provider.bodies = [];
    const { messages: told } = await sent("/v1/chat/completions", { ...ask, container: whole });
    const skills = { type: "text", text: expect.stringContaining("# Available Skills") };
    expect(told[0]).toEqual({ role: "system", content: [...listed, skills] });
  });

  it("are left out for others, which get one text", async () => {
    const { messages: told } = await sent("/v1/messages", { model: GPT, max_tokens: 99, messages, system });
    const content = "Be brief.\n\n\nA long text.\n\nToday is Monday.\n";
    expect(told).toMatchObject([{ role: "system", content }, { role: "user" }]);
  });
});

it("a call of a skill with output: json asks for JSON also after it has waited for an approval", async () => {
  const approvals = { skills: { careful: "safe" } };
  const guarded = new Client({ ...KEYS, HULL_CONFIG: JSON.stringify({ approvals }) });
  await guarded.post("/sessions", { id: "careful" });
  provider.turns = [{ tool_calls: [{ name: "talk", arguments: {} }] }, { text: "{}" }];
  const ask = "/skills/careful?session_id=careful&wait=idle";
  const waiting = await guarded.post(ask, { input: "Say it in JSON." });
  expect(await waiting.json()).toMatchObject({ status: "awaiting_approval" });
  const path = "/sessions/careful/approvals";
  const { data } = await (await guarded.fetch(path)).json<{
    data: { id: string; arguments_digest: string }[];
  }>();
  const [{ id, arguments_digest } = expect.fail("no approval waits")] = data;
  await guarded.post(`${path}/${id}`, { decision: "approve", scope: "once", arguments_digest });
  await expect.poll(() => provider.bodies.length).toBe(2);
  const form = { type: "json_object" };
  expect(provider.bodies.map(({ response_format }) => response_format)).toEqual([form, form]);
});

describe("max_tool_output_bytes cuts the answer of a handler", () => {
  const readBy = async (path: string, body: object): Promise<string> => {
    provider.bodies = [];
    provider.turns = [{ tool_calls: [{ name: "talk", arguments: {} }] }];
    await sent(path, body);
    return JSON.stringify(provider.bodies[1]?.messages.at(-1)).replace(/"tool_use_id":"[^"]*"/, "");
  };

  it.each(LIMITS)("to %s bytes, in a session too", async (bytes) => {
    const slug = `cuts-${bytes}`;
    await client.post("/sessions", { id: slug });
    const read = await readBy(`/skills/${slug}`, { input: "Hi." });
    expect(read.length).toBeGreaterThan(bytes);
    expect(read.length).toBeLessThan(bytes + 500);
    expect(await readBy(`/skills/${slug}?session_id=${slug}`, { input: "Hi." })).toBe(read);
  });

  it.each(LIMITS)("to %s bytes in a run of the skill too, unless an option says less", async (bytes) => {
    const skill = `cuts-${bytes}`;
    const read = await readBy("/runs", { prompt: "Hi.", options: { skill } });
    expect(read).toBe(await readBy(`/skills/${skill}`, { input: "Hi." }));
    for (const less of [{ tool_output_max_chars: 1000 }, { compaction: { tool_output_max_chars: 1000 } }]) {
      const short = await readBy("/runs", { prompt: "Hi.", options: { skill, ...less } });
      expect(short.length).toBeLessThan(1500);
    }
  });
});

describe("a stream", () => {
  const START =
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":1}}}\n\n';
  const PING = 'event: ping\ndata: {"type":"ping"}\n\n';
  const named = new Client({ ...KEYS, HULL_LLM_TIMEOUT: "0.04" });
  /** @param more comes again and again after the beginning; `null`: nothing does */
  const flowing = (more: string | null): Response => {
    const send = (stream: ReadableStreamDefaultController, text: string): void =>
      stream.enqueue(new TextEncoder().encode(text));
    const body = new ReadableStream({
      start: (stream) => send(stream, START),
      pull: (stream) =>
        more === null
          ? new Promise(() => undefined)
          : new Promise((resolve) => setTimeout(resolve, 5)).then(() => send(stream, more)),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };

  it.each<[string, Client, string, object, string | null]>([
    [
      "ends a run of a skill after its idle_timeout_ms if it falls silent",
      client,
      "/runs",
      { skill: "brisk" },
      null,
    ],
    ["ends a run of a skill after its timeout_ms if it continues", client, "/runs", { skill: "hasty" }, PING],
    ["ends a call after its option timeout if it continues", client, "/llm/call", { timeout: 0.04 }, PING],
    ["ends a run after HULL_LLM_TIMEOUT if it continues", named, "/runs", {}, PING],
  ])("%s", async (_, asks, path, own, more) => {
    vi.stubGlobal("fetch", async () => flowing(more));
    const options = { provider: "anthropic", model: CLAUDE, llm_retries: 0, ...own };
    const answer = await asks.post(path, { prompt: "Hi.", options });
    expect(await answer.json()).toMatchObject({ code: "provider_timeout", timeout_ms: 40 });
  });

  it("ends a call of a skill under /v1 after its timeout_ms if it continues", async () => {
    vi.stubGlobal("fetch", async () => flowing(PING));
    const ask = { model: "skill/hasty-claude", max_tokens: 9, messages };
    expect(await (await client.post("/v1/messages", ask)).text()).toContain("40 ms");
  });

  const run = (options: object) => ({ prompt: "Hi.", options: { ...options, llm_retries: 0 } });
  it.each<[string, string, object, number]>([
    ["a call of a skill", "/skills/usual", { input: "Hi." }, 60_000],
    ["one in a session", "/skills/usual?session_id=waits", { input: "Hi." }, 60_000],
    ["a run of a skill", "/runs", run({ skill: "usual" }), 60_000],
    ["one whose options say it", "/runs", run({ skill: "usual", timeout: 90 }), 90_000],
    ["a run of no skill", "/runs", run({ provider: "anthropic" }), 120_000],
  ])("begins in time: %s", async (_, path, body, limit) => {
    await client.post("/sessions", { id: "waits" });
    const { now } = Date;
    let ahead = 0;
    vi.spyOn(Date, "now").mockImplementation(() => now() + ahead);
    vi.stubGlobal("fetch", (_: unknown, { signal }: RequestInit) => {
      ahead += limit + 5_000;
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    });
    const answer = await client.post(path, body).finally(() => vi.restoreAllMocks());
    expect(await answer.json()).toMatchObject({ code: "provider_timeout", timeout_ms: limit });
  });
});

/** The answer to a request whose body arrives this much later, in ms. */
async function late(ms: number, path: string, body: string, type = "text/plain"): Promise<Response> {
  const now = Date.now.bind(Date);
  let ahead = 0;
  vi.spyOn(Date, "now").mockImplementation(() => now() + ahead);
  const pull = (stream: ReadableStreamDefaultController<Uint8Array>): void => {
    ahead = ms;
    stream.enqueue(new TextEncoder().encode(body));
    stream.close();
  };
  const sent = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
  return client
    .fetch(path, { method: "POST", body: sent, headers: { "content-type": type } })
    .finally(() => vi.restoreAllMocks());
}

describe("a call of a skill whose last text is the answer", () => {
  it("has deadline_ms for the whole request, also for the time in which its input arrives", async () => {
    const answer = await late(120_000, "/skills/due", "Hi.");
    expect([answer.status, await answer.json()]).toMatchObject([504, { code: "deadline_exceeded" }]);
  });

  it("sends the whole conversation, however near the model's window", async () => {
    const call = (id: string): FakeTurn => ({ tool_calls: [{ id, name: "talk", arguments: {} }] });
    // Results of 150,000 tokens in a window of 200,000, and more messages than a compaction keeps.
    provider.turns = [...["c1", "c2", "c3", "c4", "c5", "c6", "c7"].map(call), { text: "Done." }];
    const answer = await client.post("/skills/long", { input: "Hi." });
    expect([answer.status, provider.bodies.length]).toEqual([200, 8]);
    expect(JSON.stringify(provider.bodies[7]).length).toBeGreaterThan(7 * 600_000);
  });

  it("answers 503 for a provider that the deployment does not have: the request is not wrong", async () => {
    const bare = new Client({ HULL_ENV: "local" });
    const answer = await bare.post("/skills/usual", { input: "Hi." });
    expect([answer.status, await answer.json()]).toMatchObject([503, { code: "provider_not_configured" }]);
  });

  it.each<[where: string, path: string, body: object]>([
    [
      "in the system text",
      "/v1/chat/completions",
      { messages, container: { skills: [{ type: "custom", skill_id: "reader" }], injection: "full" } },
    ],
    [
      "in its folder",
      "/v1/responses",
      {
        input: "Hi.",
        store: false,
        tools: [
          {
            type: "shell",
            environment: {
              type: "container_auto",
              skills: [{ type: "skill_reference", skill_id: "reader" }],
            },
          },
        ],
      },
    ],
  ])("offers no loading of a skill that the model finds %s", async (_, path, body) => {
    const request = await sent(path, { model: GPT, ...body });
    expect(JSON.stringify(request)).toContain("reader");
    expect(JSON.stringify(request.tools ?? [])).not.toContain("load_skill");
    expect(JSON.stringify(request)).not.toContain("<available_skills>");
  });

  it("has no more tokens than the skill and a client of the vendor's API both permit", async () => {
    const permitted = async (max_tokens: number) => {
      provider.bodies = [];
      return (await sent("/v1/messages", { model: "skill/usual", max_tokens, messages })).max_tokens;
    };
    expect([await permitted(9), await permitted(99_999)]).toEqual([9, 4096]);
  });

  it("of a vendor's client has a skill in the system text once: the model cannot load it, too", async () => {
    const container = { skills: [{ type: "custom", skill_id: "cat" }], injection: "full" };
    const body = await sent("/v1/messages", { model: CLAUDE, max_tokens: 9, messages, container });
    expect(JSON.stringify(body.system).split("## Skill: cat")).toHaveLength(2);
    expect(JSON.stringify(body)).not.toContain("load_skill");
  });

  it("of a vendor's client has 600 s for the whole request if no skill says less", async () => {
    const ask = { model: CLAUDE, max_tokens: 9, messages, tools: [CODE] };
    const statusAfter = async (ms: number) =>
      (await late(ms, "/v1/messages", JSON.stringify(ask), "application/json")).status;
    expect([await statusAfter(500_000), await statusAfter(700_000)]).toEqual([200, 504]);
  });

  it("of a vendor's client has the client's tool instead of Hull's one of the same name, and says so", async () => {
    const own = { ...MESSAGES_TOOL, name: "bash_code_execution" };
    const answer = await client.post("/v1/messages", {
      model: CLAUDE,
      max_tokens: 9,
      messages,
      tools: [CODE, own],
    });
    expect([answer.status, answer.headers.get("x-hull-warnings")]).toEqual([200, "option_ignored"]);
    const sent = Array.from(provider.bodies[0]?.tools as { name: string; description: string }[]);
    expect(sent.filter(({ name }) => name === own.name)).toMatchObject([{ description: "T." }]);
  });

  it("has a tool of code execution instead of the skill's tool of the same name", async () => {
    const tools = [CODE];
    const body = await sent("/v1/messages", { model: "skill/shells", max_tokens: 9, messages, tools });
    const names = Array.from(body.tools as { name: string }[], ({ name }) => name);
    expect(names).toContain("bash_code_execution");
    expect(names).toEqual([...new Set(names)]);
  });
});
