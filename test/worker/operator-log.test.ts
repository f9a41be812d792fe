/** What the operator learns about failures: the log has the cause of each, and metrics count it where it happened. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { RequestContext } from "../../src/http/context.ts";
import { detachedContext } from "../../src/run/context.ts";
import { inSpan } from "../../src/run/spans.ts";
import { openSession } from "../../src/session/session.ts";
import { sweepUnsettled } from "../../src/session/unsettled-runs.ts";
import { FakeRunner, RUNNER_URL } from "./fake-runner.ts";
import { withFaults } from "./faulty-storage.ts";
import { bindings } from "./file-bindings.ts";
import { Client, mockSkill } from "./served.ts";

const LOOK = "tools: [{name: look, description: Looks., command: [look]}]\n";
const DIGS = {
  "SKILL.md": mockSkill("digs"),
  "tools.json": JSON.stringify([{ name: "dig", description: "Digs.", script: "dig.py" }]),
  "dig.py": "print(1)",
};
const PASSES = "---\nname: passes\ndescription: Passes.\nproxy: https://up.example/\nmethod: GET\n---\n";
const SETTINGS = {
  HULL_ENV: "local",
  HULL_RUNNER_URL: RUNNER_URL,
  HULL_RUNNER_SECRET: "s".repeat(32),
};
const client = new Client(SETTINGS);
const traced = new Client({ ...SETTINGS, HULL_TRACE: "1" });

let lines: Record<string, unknown>[];
let runner: FakeRunner;
beforeAll(() =>
  client.publish({ plain: mockSkill("plain"), looks: mockSkill("looks", LOOK), digs: DIGS, passes: PASSES }),
);
beforeEach(() => {
  lines = [];
  runner = new FakeRunner();
  vi.stubGlobal("fetch", runner.fetch);
  for (const level of ["log", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((line: string) => lines.push(JSON.parse(line)));
  }
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const post = (
  path: string,
  body: object,
  headers: Record<string, string> = {},
  asked = client,
): Promise<Response> =>
  asked.fetch(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
const line = async (event: string): Promise<Record<string, unknown>> => {
  const found = () => lines.find((one) => one.event === event);
  await expect.poll(found).toBeDefined();
  return found() ?? {};
};
const counters = async (): Promise<string> => (await client.fetch("/metrics")).text();

it.each([
  ["looks", "look", { runtime: "process", outcome: "runner_unavailable" }],
  ["digs", "dig", { runtime: "runner", outcome: "unavailable" }],
])(
  "a call of a tool of %s that does not reach the runner: a line with the cause, and a count",
  async (skill, name, ended) => {
    runner.instead = () => {
      throw new TypeError("connect ECONNREFUSED");
    };
    const mock = [{ tool_calls: [{ name, arguments: {} }] }, { text: "Never mind." }];
    const run = await post("/runs", { prompt: "go", options: { skill, mock } });
    expect(await run.json()).toMatchObject({ status: "done" });
    const cause = expect.stringContaining("ECONNREFUSED");
    expect(await line("tool_call")).toMatchObject({ tool: name, ...ended, error: { cause } });
    expect(await counters()).toContain(`hull_tool_calls_total{outcome="${ended.outcome}"} 1\n`);
  },
);

describe("a fault of Hull in a run", () => {
  const options = { mock: [{ text: "unreached" }] };
  beforeEach(async () => {
    await post("/sessions", { id: "broken" });
    await client.fetch("/budgets/tenant", {
      method: "PUT",
      body: JSON.stringify({ window: "day", max_output_tokens: 1_000_000 }),
      headers: { "content-type": "application/json" },
    });
    const ledger = bindings.LEDGER.get(bindings.LEDGER.idFromName("tenant:default"));
    await runInDurableObject(ledger, (_, { storage }) => {
      storage.sql.exec("ALTER TABLE reservation RENAME TO lost");
    });
    lines = [];
  });
  afterEach(() =>
    runInDurableObject(
      bindings.LEDGER.get(bindings.LEDGER.idFromName("tenant:default")),
      (_, { storage }) => {
        storage.sql.exec("ALTER TABLE lost RENAME TO reservation");
      },
    ),
  );

  it.each([
    ["a run", "request", () => post("/runs", { prompt: "go", options })],
    ["a skill", "request", () => client.fetch("/skills/plain", { method: "POST", body: "go" })],
    ["a keyed run", "execution", () => post("/runs", { prompt: "go", options }, { "idempotency-key": "k1" })],
    ["a call", "request", () => post("/llm/call", { prompt: "go", options })],
    ["a session's run", "run", () => post("/sessions/broken/runs", { prompt: "go", options })],
  ])("%s: its line has the cause", async (_, event, send) => {
    await send();
    expect(await line(event)).toMatchObject({
      code: "internal",
      error: { cause: expect.stringContaining("no such table") },
    });
  });
});

it.each([
  ["request", "/runs", {}],
  ["execution", "/runs", { "idempotency-key": "whose" }],
  ["run", "/sessions/whose/runs", {}],
])("the line %s and those of failed attempts say whose they are", async (event, path, headers) => {
  await post("/sessions", { id: "whose" });
  const options = { skill: "plain", llm_retries: 0, mock: [{ error: { category: "overloaded" } }] };
  const request_id = `whose-${event}`;
  const { status } = await post(path, { prompt: "go", options }, { "x-request-id": request_id, ...headers });
  expect(status).toBe(503);
  const whose = { request_id, tenant: "default" };
  expect(await line("model_attempt_failed")).toMatchObject({
    ...whose,
    skill: "plain",
    session_id: event === "run" ? "whose" : null,
  });
  await expect.poll(() => lines).toContainEqual(expect.objectContaining({ event, ...whose }));
});

it("a deployment whose database does not answer is not ready", async () => {
  vi.stubGlobal("fetch", async () => new Response("{}"));
  const fresh = new Client(SETTINGS);
  const ask = () => fresh.fetch("/readyz");
  const fault = { binding: "DB", method: "prepare", of: "SELECT 1 FROM api_keys" } as const;
  const { answer } = await withFaults(fresh.env, fault, 9, ask);
  const parts = { catalog: "ok", runner: "ok" };
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ ...parts, database: "storage_unavailable" });
  expect(await (await ask()).json()).toMatchObject({ status: "ok", ...parts, database: "ok" });
});

it("a fault in a session says in whose", async () => {
  await post("/sessions", { id: "damaged" });
  await post("/sessions/damaged/runs", { prompt: "go", options: { provider: "mock" } });
  const stub = client.env.SESSIONS.get(client.env.SESSIONS.idFromName("default/damaged"));
  await runInDurableObject(stub, (_, { storage }) => {
    storage.sql.exec("UPDATE records SET data = ?", new Uint8Array([123]));
  });
  await evictDurableObject(stub);
  await client.fetch("/sessions/damaged/messages");
  expect(await line("record_unreadable")).toMatchObject({ session_id: "damaged", tenant: "default" });
});

it("a failure that nobody waits for says whose work it was", async () => {
  const request = new Request("http://localhost/", { headers: { "x-request-id": "request-1" } });
  const kept: Promise<unknown>[] = [];
  const context = new RequestContext(request, client.deployment, (work) => void kept.push(work));
  context.admit({ tenant: "acme", key_id: null, scopes: [], operator: false });
  context.within(request).background(Promise.reject(new Error("gone")));
  await Promise.all(kept);
  await post("/sessions", { id: "behind" });
  const stub = client.env.SESSIONS.get(client.env.SESSIONS.idFromName("default/behind"));
  await runInDurableObject(stub, async (_, state) => {
    const { conversation } = openSession(state, client.env);
    expect(conversation.id).toBe("behind");
    conversation.background(Promise.reject(new Error("gone")));
  });
  const failed = { event: "background_failed", error: "Error: gone" };
  await expect
    .poll(() => lines.filter(({ event }) => event === failed.event))
    .toEqual([
      { ...failed, request_id: "request-1", tenant: "acme" },
      { ...failed, session_id: "behind", tenant: "default" },
    ]);
});

it("a runner that is down gives one line, and another one when it answers again", async () => {
  const options = {
    skill: "looks",
    mock: [{ tool_calls: [{ name: "look", arguments: {} }] }, { text: "done" }],
  };
  const run = async (session: string): Promise<string> => {
    await post("/sessions", { id: session });
    return (await post(`/sessions/${session}/runs`, { prompt: "go", options })).text();
  };
  const down = expect.stringContaining(
    `look failed: The runner at ${RUNNER_URL}, which executes scripts and tools, cannot be reached.`,
  );
  let tries = 0;
  runner.instead = () => {
    tries += 1;
    return new Response("no container", { status: 503 });
  };
  expect([await run("waits"), tries]).toEqual([down, 7]);
  expect([await run("tries"), tries]).toEqual([down, 8]);
  runner.instead = null;
  expect(await run("answered")).not.toContain("look failed");
  const about = lines.filter(({ event }) => String(event).startsWith("runner_"));
  expect(about).toEqual([
    { event: "runner_down", runner: `at ${RUNNER_URL}`, error: "status 503" },
    { event: "runner_up", runner: `at ${RUNNER_URL}` },
  ]);
});

describe("the counters of model calls", () => {
  it.each([
    ["model_refused", { text: "I will not.", stop_reason: "refusal" }],
    ["answer_cut", { text: "Hal", stop_reason: "max_tokens" }],
  ])("and the line of the request have %s for an incomplete answer", async (code, mock) => {
    const options = { provider: "xai", model: "grok-4", mock: [mock] };
    const response = await post("/runs", { prompt: "go", options });
    expect(await response.json()).toMatchObject({ status: "done" });
    expect(await counters()).toContain(`hull_model_calls_total{provider="xai",outcome="${code}"} 1\n`);
    expect(await line("request")).toMatchObject({ status: 200, model_outcome: code });
    const { id } = await (await post("/sessions", {})).json<{ id: string }>();
    await post(`/sessions/${id}/runs`, { prompt: "go", options });
    expect(await line("run")).toMatchObject({ status: "done", stop_reason: mock.stop_reason });
  });

  it("count each target of a call for itself, one that failed before another answered too", async () => {
    const options = {
      provider: "openai",
      model: "gpt-4o",
      fallback_chain: ["anthropic"],
      llm_retries: 0,
      mock: [{ error: { category: "overloaded" } }, { text: "hello" }],
    };
    const response = await post("/runs", { prompt: "go", options });
    expect(await response.json()).toMatchObject({ status: "done" });
    const counted = await counters();
    expect(counted).toMatch(/^hull_model_calls_total\{provider="openai",outcome="provider_error"\} 1$/m);
    expect(counted).toMatch(/^hull_model_call_duration_seconds_count\{provider="openai"\} 1$/m);
    expect(counted).toMatch(/^hull_model_calls_total\{provider="anthropic",outcome="ok"\} 1$/m);
  });
});

it.each(["text/plain", "text/event-stream"])(
  "a proxied body of %s that breaks off: its line has the code, once",
  async (type) => {
    const pieces = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("data: 1\n\n"));
        await pieces.promise;
        controller.error(new TypeError("reset"));
      },
    });
    vi.stubGlobal("fetch", async () => new Response(body, { headers: { "content-type": type } }));
    const response = await client.stream("/skills/passes");
    const reader = response.body?.getReader();
    await reader?.read();
    // A later request is logged meanwhile.
    await client.fetch("/healthz");
    expect(await line("request")).toMatchObject({ path: "/healthz" });
    lines = [];
    pieces.resolve();
    const rest = async () => {
      while ((await reader?.read())?.done === false);
    };
    await rest().catch(() => {});
    expect(await line("request")).toMatchObject({
      status: 200,
      code: "upstream_body_truncated",
      skill: "passes",
    });
    expect(lines.filter(({ event }) => event === "request")).toHaveLength(1);
  },
);

describe("spans in the log", () => {
  const ask = (path: string, body: object) => post(path, body, {}, traced);
  const spanOf = async (event: string) => {
    const { spans } = await line(event);
    const all: { name: string }[] = Array.isArray(spans) ? spans : [];
    return { all, agent: all.find(({ name }) => name.startsWith("invoke_agent")) };
  };

  it("one that encloses more than fit is kept", async () => {
    const origin = { requestId: "r", tenant: "default", startedAt: Date.now() };
    const context = detachedContext(traced.deployment, origin, () => {});
    const none = () => ({});
    await inSpan(context, "outer", none, async () => {
      for (let n = 0; n < 250; n++) await inSpan(context, "inner", none, async () => {});
    });
    const names = (context.spans ?? []).map(({ name }) => name);
    expect([names.length, names.at(-1)]).toEqual([200, "outer"]);
  });

  it("a session's run that fails has the code of its error", async () => {
    await ask("/sessions", { id: "fails" });
    const options = { mock: [{ error: { category: "auth" } }] };
    await ask("/sessions/fails/runs", { prompt: "go", options });
    const { agent } = await spanOf("run");
    expect(agent).toMatchObject({ "error.type": (await line("run")).code });
  });

  it("the line of a session's run that is cancelled says so", async () => {
    const begun = Promise.withResolvers<void>();
    vi.stubGlobal("fetch", (_: unknown, { signal }: RequestInit) => {
      begun.resolve();
      return new Promise((_resolve, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason)),
      );
    });
    await ask("/sessions", { id: "stops" });
    const options = { skill: "looks", mock: [{ tool_calls: [{ name: "look", arguments: {} }] }] };
    const run = await ask("/sessions/stops/runs?wait=none", { prompt: "go", options });
    const { run_id } = await run.json<{ run_id: string }>();
    await begun.promise;
    await ask(`/sessions/stops/runs/${run_id}/cancel`, {});
    expect((await spanOf("run")).agent).toMatchObject({ "error.type": "run_cancelled" });
  });
});

it("a download is logged when its bytes have gone, when its client has left, or when R2 breaks off", async () => {
  const sent = await client.fetch("/files?filename=a.bin", { method: "POST", body: "x".repeat(300_000) });
  const { id } = await sent.json<{ id: string }>();
  await line("request");
  lines = [];
  const { FILES } = client.env;
  const broken = new Client(SETTINGS);
  const body = (): ReadableStream => {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    void writer.write(new Uint8Array(10)).then(() => writer.abort(new Error("R2 is gone")));
    return readable;
  };
  const get = async (...asked: [string]) => ({ ...(await FILES.get(...asked)), body: body() });
  broken.env.FILES = new Proxy(FILES, {
    get: (target, name) => (name === "get" ? get : Reflect.get(target, name).bind(target)),
  });
  await expect((await broken.stream(`/files/${id}`)).text()).rejects.toThrow();
  expect(await line("request")).toMatchObject({
    status: 200,
    code: "internal",
    error: { cause: "the bytes broke off: Error: R2 is gone" },
  });
  for (const leaves of [false, true]) {
    lines = [];
    const left = new AbortController();
    const { body } = await client.stream(`/files/${id}`, { signal: left.signal });
    const reader = body?.getReader();
    await reader?.read();
    expect(lines).toEqual([]);
    if (leaves) {
      left.abort();
      await reader?.cancel();
    } else while ((await reader?.read())?.done === false);
    const { status, code = null } = await line("request");
    expect([status, code]).toEqual([200, leaves ? "client_closed_request" : null]);
  }
});

it.each([
  { text: "I will not.", stop_reason: "refusal" },
  { text: "Hal", stop_reason: "max_tokens" },
])("HULL_LOG=failures keeps what is not a whole answer: %j", async (mock) => {
  const quiet = new Client({ ...SETTINGS, HULL_LOG: "failures" });
  const prompt = { prompt: "go", options: { mock: [mock] } };
  const id = `kept-${mock.stop_reason}`;
  await post("/sessions", { id }, {}, quiet);
  await post("/runs", prompt, {}, quiet);
  await line("request");
  await post("/runs", prompt, { "idempotency-key": id }, quiet);
  await line("execution");
  await post(`/sessions/${id}/runs`, prompt, {}, quiet);
  await line("run");
});

it("HULL_LOG=failures leaves out what succeeds, also what outlives its call", async () => {
  const quiet = new Client({ ...SETTINGS, HULL_LOG: "failures" });
  const prompt = { prompt: "go", options: { mock: [{ text: "hello" }] } };
  await post("/sessions", { id: "quiet" }, {}, quiet);
  await post("/runs", prompt, {}, quiet);
  await post("/runs", prompt, { "idempotency-key": "quiet" }, quiet);
  await post("/sessions/quiet/runs", prompt, {}, quiet);
  await quiet.fetch("/nowhere");
  expect(await line("request")).toMatchObject({ path: "/nowhere" });
  expect(lines.map(({ event }) => event)).toEqual(["request"]);
});

const asked = { messages: [{ role: "user", content: "go" }], model: "skill/plain" };
it.each([
  ["/runs", { prompt: "go", options: { skill: "plain" } }],
  ["/runs", { prompt: "go", options: { skill: "plain", mock: [{ error: { category: "auth" } }] } }],
  ["/v1/messages", { ...asked, max_tokens: 9 }],
  ["/v1/messages", { ...asked, max_tokens: 9, stream: true }],
  ["/v1/chat/completions", asked],
  ["/v1/responses", { model: "skill/plain", input: "go", store: false }],
  ["/skills/plain", { input: "go" }],
])("%s %j: the line has what a run's line has", async (path, body) => {
  const response = await post(path, body);
  await response.text();
  expect(await line("request")).toMatchObject({
    path,
    skill: "plain",
    digest: expect.any(String),
    execution_id: response.headers.get("x-hull-execution-id"),
    usage: { input_tokens: expect.any(Number), cost_usd: 0 },
    rounds: expect.any(Number),
    tool_calls: 0,
    ...(response.ok ? {} : { code: "provider_auth_failed" }),
  });
});

const node = { kind: "subagent", mode: "llm", model_policy: { skill: "plain" } };
it.each([
  ["/tasks", { task: "go", node }],
  ["/tasks", { task: "go", graph: { nodes: { a: {} } }, options: { skill: "plain" } }],
  ["/sub-agents", { task: "go", options: { skill: "plain", background: true } }],
  ["/daemons", { task: "go", skill: "plain" }],
  ["/workflows/execute", { task: "go", graph: { nodes: { a: {} } }, options: { skill: "plain" } }],
])("%s %j: the answer, its line and that of its run name the skill", async (path, body) => {
  const response = await post(path, body);
  expect([response.ok, response.headers.get("x-hull-skill")]).toEqual([
    true,
    expect.stringMatching(/^plain@[0-9a-f]{12}$/),
  ]);
  expect(await line("request")).toMatchObject({ path, skill: "plain", digest: expect.any(String) });
  if (path !== "/daemons") expect(await line("run")).toMatchObject({ skill: "plain" });
});

it("a stored response: the line of its request and that of its run name its execution", async () => {
  const response = await post("/v1/responses", { model: "skill/plain", input: "go" });
  const execution_id = response.headers.get("x-hull-execution-id");
  expect(execution_id).toMatch(/^ex_/);
  for (const event of ["request", "execution"]) expect(await line(event)).toMatchObject({ execution_id });
});

it("a sweep that cannot reach a run's object says why", async () => {
  const tools = [{ name: "ask", description: "Asks.", parameters: {} }];
  const mock = [{ tool_calls: [{ name: "ask", arguments: {} }] }];
  await post("/sessions", { id: "swept" });
  await post("/sessions/swept/runs?wait=idle", { prompt: "go", options: { tools, mock } });
  const unreachable = () => {
    throw new TypeError(`no such object: ${SETTINGS.HULL_RUNNER_SECRET}`);
  };
  const SESSIONS = Object.assign(Object.create(client.env.SESSIONS), { get: unreachable });
  await sweepUnsettled({ ...client.env, SESSIONS }, Date.now() + 48 * 3_600_000);
  const cause = expect.stringContaining("no such object: [redacted]");
  expect(await line("run_not_looked_after")).toMatchObject({ code: "internal", error: { cause } });
});

it("a structured answer that does not match: its lines contain nothing of the model's answer", async () => {
  const schema = {
    type: "object",
    properties: { who: { enum: ["a"] } },
    required: ["who"],
    additionalProperties: false,
  };
  const said = JSON.stringify({ who: "Jane Roe", "jane@example.org": 1 });
  const options = {
    response_format: "json",
    schema,
    schema_retries: 1,
    mock: [{ text: said }, { text: said }],
  };
  await post("/runs", { prompt: "go", options });
  expect(await line("schema_retry")).toMatchObject({ attempt: 1 });
  expect(JSON.stringify(lines)).not.toMatch(/jane/i);
});
