/** Sessions over HTTP: their life, their limits and their errors. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { deploymentOf } from "../../src/deployment.ts";
import { SESSION_IDS } from "../../src/engine/session-id.ts";
import { sessionObject } from "../../src/run/session-client.ts";
import { FIXED_ROUTES, type OperationId } from "../../src/skill/fixed-routes.ts";
import { said } from "../support/workflow-graphs.ts";
import { Client } from "./served.ts";
import {
  ASK,
  asking,
  type Body,
  client,
  codeOf,
  get,
  post,
  run,
  send,
  session,
  texts,
  until,
} from "./session-client.ts";
import { type Tenant, tenant } from "./tenant.ts";

describe("a session", () => {
  it("is opened twice and stays one, can be read, and is gone with everything when it is deleted", async () => {
    const first = await post("/sessions", { id: "one", metadata: { user: "u1" } });
    expect([first.status, first.headers.get("location")]).toEqual([201, "/sessions/one"]);
    expect(await first.json()).toMatchObject({
      id: "one",
      state: "active",
      length: 0,
      metadata: { user: "u1" },
    });
    expect((await post("/sessions", { id: "one" })).status).toBe(200);
    const made = await (await post("/sessions")).json<{ id: string }>();
    expect(made.id).toMatch(/^ses_[0-9a-f]{32}$/);
    await run("/sessions/one", "hello");
    expect(await get("/sessions/one/length")).toEqual({ length: 2 });
    await client.env.FILES.put("sessions/default/one/files/a.txt", "a");
    await client.env.FILES.put("sessions/default/one2/a.txt", "another's");
    expect((await send("DELETE", "/sessions/one")).status).toBe(204);
    const none = await client.fetch("/sessions/one");
    expect((await none.clone().json<{ detail: string }>()).detail).toContain("POST /sessions opens one");
    expect(await codeOf(none)).toEqual([404, "not_found"]);
    expect(await get("/sessions/one/exists")).toEqual({ exists: false });
    const { objects } = await client.env.FILES.list({ prefix: "sessions/default/one" });
    expect(objects.map(({ key }) => key)).toEqual(["sessions/default/one2/a.txt"]);
    const { data } = await get<{ data: { id: string }[] }>("/sessions?limit=1000");
    expect(data.map(({ id }) => id)).not.toContain("one");
    expect((await post("/sessions", { id: "one" })).status).toBe(201);
    expect(await texts("/sessions/one")).toEqual([]);
  });

  it("without an id is one for the same Idempotency-Key, whose answers are the same", async () => {
    const key = { "idempotency-key": "opened" };
    const open = (metadata: Body) => post("/sessions", { metadata }, key);
    const [first, again] = [await open({ n: 1 }), await open({ n: 1 })];
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(await again.json()).toEqual(await first.json());
    expect(await codeOf(await open({ n: 2 }))).toEqual([422, "idempotency_key_reused"]);
  });

  it("with an id answers a repeated Idempotency-Key with the first answer, and another body with a conflict", async () => {
    const open = (body: Body, key: string) => post("/sessions", body, { "idempotency-key": key });
    const first = await open({ id: "named", metadata: { n: 1 } }, "named");
    const made = await first.json();
    await run("/sessions/named", "hello");
    const again = await open({ id: "named", metadata: { n: 1 } }, "named");
    expect([first.status, again.status, await again.json()]).toEqual([201, 201, made]);
    expect(await codeOf(await open({ id: "named", metadata: { n: 2 } }, "named"))).toEqual([
      422,
      "idempotency_key_reused",
    ]);
    const imported = { id: "named", transcript: await get("/sessions/named/transcript?view=raw") };
    expect(await codeOf(await open(imported, "named"))).toEqual([422, "idempotency_key_reused"]);
    const later = await open({ id: "named" }, "another");
    expect([later.status, await later.json()]).toMatchObject([200, { length: 2 }]);
    // A key belongs to one request, whatever session that names.
    for (const other of [{ id: "renamed", metadata: { n: 1 } }, { metadata: { n: 1 } }])
      expect(await codeOf(await open(other, "named"))).toEqual([422, "idempotency_key_reused"]);
    expect(await get("/sessions/renamed/exists")).toEqual({ exists: false });
  });

  /** Bodies of the routes that need one. */
  const SENT: Partial<Record<OperationId, Body>> = {
    answerToolCall: { tool_call_id: "x", content: "x" },
    decideApproval: { decision: "deny" },
    forkSessionAt: { keep_first: 1 },
    injectMessage: { message: { role: "user", content: "x" } },
    sendFeedback: { kind: "hint", content: "x" },
    sendMessage: { content: "x" },
    startRun: { prompt: "x", options: { provider: "mock" } },
    trimSession: { keep_last: 1 },
  };
  /** The routes that answer otherwise, and why. */
  const NEVER_404: Partial<Record<OperationId, string>> = {
    sessionExists: "it answers whether the session exists",
  };
  const OF_SESSION = FIXED_ROUTES.flatMap(([id, method, path]) =>
    path.startsWith("/sessions/:id") && NEVER_404[id] === undefined
      ? [{ id, method, path: path.replace("/sessions/:id", "").replace(/:\w+(?:\{[^}]*\})?/g, "x") }]
      : [],
  );

  it.each(OF_SESSION)(
    "is 404 if it does not exist: $method $path, also for another tenant's and for an invalid id",
    async ({ id, method, path }) => {
      const body = method === "GET" || method === "DELETE" ? undefined : (SENT[id] ?? {});
      await post("/sessions", { id: "mine" });
      expect(await codeOf(await send(method, `/sessions/none${path}`, body))).toEqual([404, "not_found"]);
      expect(await codeOf(await send(method, `/sessions/no%20id${path}`, body))).toEqual([404, "not_found"]);
      const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
      expect(await codeOf(await stranger.fetch(`/sessions/mine${path}`, init))).toEqual([404, "not_found"]);
    },
  );
  let stranger: Tenant;
  beforeAll(async () => {
    stranger = await tenant("stranger", "invoke");
  });

  it("GET /sessions refuses values of stages other than true and false", async () => {
    expect((await client.fetch("/sessions?stages=false")).status).toBe(200);
    for (const value of ["zz", "1", ""])
      expect(await codeOf(await client.fetch(`/sessions?stages=${value}`))).toEqual([400, "bad_request"]);
  });

  it("is listed, the newest first, a page at a time, for its tenant alone", async () => {
    const owner = await tenant("lister", "invoke");
    for (const id of ["l1", "l2", "l3"]) {
      const body = JSON.stringify({ id });
      expect((await owner.fetch("/sessions", { method: "POST", body })).status).toBe(201);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const page = await owner.get<{ data: { id: string }[]; next_cursor: string }>("/sessions?limit=2");
    expect(page.data.map(({ id }) => id)).toEqual(["l3", "l2"]);
    const rest = await owner.get<Body>(`/sessions?limit=2&cursor=${encodeURIComponent(page.next_cursor)}`);
    expect(rest).toMatchObject({ data: [{ id: "l1", state: "active", parent_id: null }], next_cursor: null });
    expect((await owner.fetch("/sessions?cursor=x")).status).toBe(400);
  });

  it("checks every field of bodies", async () => {
    const path = await session();
    for (const [to, body, field] of [
      ["/sessions", { id: "a b" }, "id"],
      ["/sessions", { name: "x" }, "name"],
      [`${path}/trim`, {}, "keep_last"],
      [`${path}/compact`, { keep: 1 }, "keep"],
      [`${path}/compact`, { strategy: "custom" }, "strategy"],
      [`${path}/compact`, { options: { keep: 1 } }, "options.keep"],
      [`${path}/inject`, { message: { content: "x" } }, "message.role"],
      [`${path}/inject`, { message: { role: "user" } }, "message.content"],
      [`${path}/messages`, { content: "x", delivery: "soon" }, "delivery"],
      [`${path}/messages`, { content: [{ type: "video" }] }, "content.0.type"],
      [`${path}/approvals/x`, { decision: "approve" }, "arguments_digest"],
      [`${path}/runs`, { prompt: "x", optoins: {} }, "optoins"],
      [`${path}/runs`, { prompt: "x", options: { max_iterations: "x" } }, "options.max_iterations"],
    ] as const) {
      const response = await post(to, body);
      const { errors = [] } = await response.json<{ errors?: { path: string }[] }>();
      expect([to, response.status, errors[0]?.path]).toEqual([to, 422, field]);
    }
    expect(await codeOf(await post(`${path}/runs?wait=long`, { prompt: "x" }))).toEqual([400, "bad_request"]);
    for (const options of [{ compact_strategy: "custom" }, { compaction: { strategy: "custom" } }]) {
      expect(await codeOf(await run(path, "x", options))).toEqual([400, "invalid_request"]);
    }
  });
});

const OLLAMA = { provider: "ollama", model: "m" };
const idOf = (path: string) => path.split("/").at(-1);

describe("the conversation", () => {
  it("continues from run to run, also when its object was evicted", async () => {
    const path = await session();
    expect((await run(path, "one")).status).toBe(200);
    const object = sessionObject({ env: client.env, tenant: "default" }, path.slice("/sessions/".length));
    await evictDurableObject(object);
    const second = await (await run(path, "two", { mock: [{ text: "second" }] })).json<Body>();
    expect(second.mock_calls).toMatchObject([
      { messages: [{ content: "one" }, { role: "assistant" }, { content: "two" }] },
    ]);
    expect(await texts(path)).toEqual(["one", "The mock model got a prompt of 1 word: one", "two", "second"]);
    const page = await get<{ data: Body[]; next_cursor: string }>(`${path}/messages?limit=3`);
    const rest = await get(`${path}/messages?cursor=${page.next_cursor}`);
    expect([page.data.length, rest]).toMatchObject([3, { data: [{ content: "second" }], next_cursor: null }]);
  });

  it("is continued by calls that name it, and kept", async () => {
    const path = await session();
    const session_id = path.slice("/sessions/".length);
    const call = (prompt: string, options: Body = {}, headers: Record<string, string> = {}) =>
      post("/llm/call", { prompt, options: { provider: "mock", session_id, ...options } }, headers);
    expect(await (await call("one", { mock: [{ text: "1" }] })).json()).toMatchObject({ text: "1" });
    const key = { "idempotency-key": "call" };
    for (let times = 0; times < 2; times += 1) await call("two", { mock: [{ text: "2" }] }, key);
    const { mock_calls } = await (await run(path, "three", { mock: [{ text: "3" }] })).json<Body>();
    expect(mock_calls).toMatchObject([{ messages: { length: 5 } }]);
    expect(await texts(path)).toEqual(["one", "1", "two", "2", "three", "3"]);
    expect(await codeOf(await call("x", { session_id: "none" }))).toEqual([404, "not_found"]);
    await run(path, "go", { tools: [ASK], mock: asking });
    expect(await codeOf(await call("x"))).toEqual([409, "run_in_progress"]);
  });

  it.each<[string, string, (text: string) => Body]>([
    ["structured", '{"a":1}', (prompt) => ({ prompt, schema: { type: "object", required: ["a"] } })],
    ["completion", "tail", (prefix) => ({ prefix })],
  ])("has the messages of a %s call that continues it, once", async (operation, answer, body) => {
    const path = await session();
    const session_id = path.slice("/sessions/".length);
    await run(path, "one", { mock: [{ text: "1" }] });
    const ask = (options: Body = {}) => {
      const asked = { provider: "mock", session_id, mock: [{ text: answer }], ...options };
      return post(`/llm/${operation}`, { ...body("two"), options: asked }, { "idempotency-key": operation });
    };
    const first = await (await ask()).json<Body>();
    expect(await (await ask()).json()).toEqual(first);
    expect(first.mock_calls).toMatchObject([
      { messages: [{ content: "one" }, { content: "1" }, { content: expect.stringContaining("two") }] },
    ]);
    expect(await texts(path)).toEqual(["one", "1", expect.stringContaining("two"), answer]);
    const elsewhere = post(`/llm/${operation}`, { ...body("x"), options: { session_id: "none" } });
    expect(await codeOf(await elsewhere)).toEqual([404, "not_found"]);
    await client.fetch(`/budgets/session:${session_id}`, {
      method: "PUT",
      body: JSON.stringify({ window: "total", max_output_tokens: 1 }),
    });
    const refused = await post(`/llm/${operation}`, {
      ...body("x"),
      options: { provider: "mock", session_id, mock: [{ text: answer }] },
    });
    expect(await refused.text()).toContain("budget_exceeded");
    expect(await texts(path)).toHaveLength(4);
  });

  it("is trimmed, compacted, added to and reset", async () => {
    const path = await session();
    for (const prompt of ["one", "two", "three"]) await run(path, prompt, { mock: [{ text: `${prompt}!` }] });
    expect(await (await post(`${path}/trim`, { keep_last: 4 })).json()).toMatchObject({ length: 4 });
    expect(await texts(path)).toEqual(["two", "two!", "three", "three!"]);
    const compacted = await (
      await post(`${path}/compact`, { keep_last: 2, summary: "They counted." })
    ).json<Body>();
    expect(compacted).toMatchObject({ compacted: { mode: "manual", archived_messages: 2 } });
    const after = await texts(path);
    expect(after).toEqual([expect.stringContaining("They counted."), "three", "three!"]);
    expect((await get(path)).summary).toContain("They counted.");
    expect(await (await post(`${path}/compact`, { keep_last: 12 })).json()).toMatchObject({
      compacted: null,
    });
    const message = { role: "assistant", content: "By the way." };
    await post(`${path}/inject`, { message });
    expect((await texts(path)).at(-1)).toBe("By the way.");
    expect(await codeOf(await post(`${path}/inject`, { message: { role: "system", content: "x" } }))).toEqual(
      [400, "invalid_request"],
    );
    expect(await (await post(`${path}/reset`)).json()).toMatchObject({ length: 0, summary: null });
  });

  it("secrets of the deployment are cut out of everything that shows it", async () => {
    const key = "sk-ant-canary-0123456789";
    const keyed = new Client({ HULL_ENV: "local", ANTHROPIC_API_KEY: key });
    const answers: [string, string][] = [];
    const ask = async (path: string, body?: Body): Promise<void> => {
      const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      answers.push([path, await (await keyed.fetch(path, init)).text()]);
    };
    const path = "/sessions/secretive";
    await ask("/sessions", { id: "secretive", metadata: { note: key } });
    for (const text of [`it is ${key}`, "two", "three"])
      await ask(`${path}/inject`, { message: { role: "user", content: text } });
    await ask(`${path}/compact`, { strategy: "truncate", keep_first: 0, keep_last: 1 });
    await ask(`${path}/inject`, { message: { role: "user", content: "four" } });
    await ask(`${path}/trim`, { keep_last: 3 });
    await ask(`${path}/fork`, { dst: "secretive-fork" });
    await ask(`${path}/archive`, {});
    await ask(`${path}/resume`, {});
    for (const further of ["", "/messages", "/events/list", "/transcript?view=raw"])
      await ask(path + further);
    for (const other of ["/sessions", "/sessions/secretive-fork", "/console/sessions/secretive"])
      await ask(other);
    await ask("/workflows/execute", { task: `use ${key}`, graph: { nodes: { a: said("done") } } });
    await ask("/workflows/runs");
    expect(answers.at(-1)?.[1]).toContain('"task":"use ');
    const leaks = answers.filter(([, text]) => text.includes(key)).map(([asked]) => asked);
    expect(leaks).toEqual([]);
    const whole = answers.find(([asked]) => asked === path)?.[1];
    expect(whole).toContain("it is [redacted]");
  });

  it("a model writes the summary where it is asked to", async () => {
    const path = await session();
    for (const prompt of ["one", "two"]) await run(path, prompt, { mock: [{ text: `${prompt}!` }] });
    const options = { provider: "mock", mock: [{ text: "All about numbers." }] };
    const key = { "idempotency-key": "compact" };
    const ask = (keep_last: number) => post(`${path}/compact`, { strategy: "llm", keep_last, options }, key);
    const first = await (await ask(2)).json();
    expect(first).toMatchObject({ compacted: expect.anything() });
    expect((await texts(path))[0]).toContain("All about numbers.");
    await run(path, "three", { mock: [{ text: "three!" }] });
    const after = await texts(path);
    // The same request has the same answer, and takes effect once.
    expect([await (await ask(2)).json(), await texts(path)]).toEqual([first, after]);
    expect(await codeOf(await ask(1))).toEqual([422, "idempotency_key_reused"]);
  });

  it("a summary that was cut is taken, and the answer says so", async () => {
    const path = await session();
    for (const prompt of ["one", "two"]) await run(path, prompt, { mock: [{ text: `${prompt}!` }] });
    const options = { provider: "mock", mock: [{ text: "All ab", stop_reason: "max_tokens" }] };
    const answer = await post(`${path}/compact`, { strategy: "llm", keep_last: 2, options });
    expect(await answer.json()).toMatchObject({
      compacted: expect.anything(),
      warnings: [{ code: "answer_cut" }],
    });
    expect((await texts(path))[0]).toContain("All ab");
  });

  it.each<[string, (path: string) => Promise<Response>]>([
    ["summary", (path) => post(`${path}/compact`, { strategy: "llm", keep_last: 2, options: OLLAMA })],
    ["call", (path) => post("/llm/call", { prompt: "x", options: { ...OLLAMA, session_id: idOf(path) } })],
  ])(
    "a %s that is under way when the session is removed does not reach the next session of its id",
    async (_, ask) => {
      const path = await session();
      for (const prompt of ["one", "two"]) await run(path, prompt, { mock: [{ text: `${prompt}!` }] });
      let [asked, released] = [false, false];
      vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
        const { signal } = new Request(input, init);
        for (asked = true; !released; ) {
          signal.throwIfAborted();
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        const message = { role: "assistant", content: "All about numbers." };
        return Response.json({
          id: "c",
          model: "m",
          choices: [{ index: 0, finish_reason: "stop", message }],
        });
      });
      try {
        const answer = ask(path);
        while (!asked) await new Promise((resolve) => setTimeout(resolve, 5));
        expect((await send("DELETE", path)).status).toBe(204);
        await post("/sessions", { id: idOf(path) });
        const added = { message: { role: "user", content: "new" } };
        const statuses = [await post(`${path}/inject`, added), await post(`${path}/inject`, added)];
        expect(statuses.map(({ status }) => status)).toEqual([200, 200]);
        released = true;
        expect(await codeOf(await answer)).toEqual([404, "not_found"]);
        expect(await texts(path)).toEqual(["new", "new"]);
      } finally {
        vi.unstubAllGlobals();
      }
    },
  );

  describe("a call whose model answers after something else has begun", () => {
    /** The answer to each request to the model; `null`: the model has not answered yet. */
    const answers: (string | null)[] = [];
    const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
    beforeEach(() => {
      answers.length = 0;
      vi.stubGlobal("fetch", async () => {
        const index = answers.push(null) - 1;
        while (answers[index] === null) await pause();
        const message = { role: "assistant", content: answers[index] };
        return Response.json({
          id: "c",
          model: "m",
          choices: [{ index: 0, finish_reason: "stop", message }],
        });
      });
    });
    afterEach(() => {
      vi.unstubAllGlobals();
    });
    const asked = async <T>(begun: Promise<T>, count = 1): Promise<{ begun: Promise<T> }> => {
      while (answers.length < count) await pause();
      return { begun };
    };
    const call = (path: string, body: Body, headers: Record<string, string> = {}) =>
      asked(post("/llm/call", { ...body, options: { ...OLLAMA, session_id: idOf(path) } }, headers));
    const parked = async (path: string, options: Body = {}) => {
      const begun = await run(path, "go", { tools: [ASK], mock: asking, ...options });
      return begun.json<{ run_id: string; awaiting: { tool_call_id: string }[] }>();
    };

    it.each<[string, Record<string, string>]>([
      ["", {}],
      [" under a key", { "idempotency-key": "late-call" }],
    ])("a run%s: has its answer, and comes after the run", async (_, headers) => {
      const path = await session();
      const { begun } = await call(path, { prompt: "one" }, headers);
      const { run_id, awaiting } = await parked(path);
      await post(`${path}/messages`, { content: "last", delivery: "wait_for_completion" });
      answers[0] = "1";
      const answer = await (await begun).json<Body>();
      expect(answer).toMatchObject({ text: "1" });
      expect(answer).not.toHaveProperty("warnings");
      expect(await texts(path)).toEqual(["go", ""]);
      await post(`${path}/tool-results`, { tool_call_id: awaiting[0]?.tool_call_id, content: "Ann" });
      const { result } = await until(`${path}/runs/${run_id}`, "done");
      expect(result).toMatchObject({ text: "thanks", deferred_user_messages: [{ content: "last" }] });
      expect(await texts(path)).toEqual(["go", "", "Ann", "thanks", "last", "one", "1"]);
    });

    it("a run that is cancelled: comes after it too", async () => {
      const path = await session();
      const { begun } = await call(path, { prompt: "one" });
      const { run_id } = await parked(path);
      answers[0] = "1";
      expect((await begun).status).toBe(200);
      await post(`${path}/runs/${run_id}/cancel`);
      expect((await texts(path)).slice(-2)).toEqual(["one", "1"]);
    });

    it("a compaction: is added after it", async () => {
      const path = await session();
      for (const prompt of ["one", "two"]) await run(path, prompt, { mock: [{ text: `${prompt}!` }] });
      const { begun } = await call(path, { prompt: "three" });
      const compact = post(`${path}/compact`, { strategy: "llm", keep_last: 2, options: OLLAMA });
      const { begun: compacted } = await asked(compact, 2);
      answers[0] = "3";
      answers[1] = "The summary.";
      expect(await (await begun).json()).toMatchObject({ text: "3" });
      expect((await compacted).status).toBe(200);
      expect((await texts(path)).slice(1)).toEqual(["two", "two!", "three", "3"]);
    });

    it.each<[string, (path: string) => Promise<unknown>, string]>([
      ["a run that results of tools cannot follow", parked, "results of tools cannot follow the run"],
      ["the end of the session's work", (path) => post(`${path}/archive`), "it is archived"],
    ])("%s: has its answer, with a warning", async (_, happens, reason) => {
      const path = await session();
      const options = { provider: "mock", mock: asking, tools: [ASK], session_id: idOf(path) };
      const first = await post("/llm/call", { prompt: "go", options });
      const { tool_calls } = await first.json<{ tool_calls: { id: string }[] }>();
      const messages = [{ role: "tool", tool_call_id: tool_calls[0]?.id, content: "Ann" }];
      const { begun } = await asked(
        post("/llm/call", { options: { ...OLLAMA, messages, session_id: idOf(path) } }),
      );
      await happens(path);
      answers[0] = "1";
      expect(await (await begun).json()).toMatchObject({
        text: "1",
        warnings: [{ code: "not_added_to_session", message: expect.stringContaining(reason) }],
      });
      expect(await texts(path)).not.toContain("1");
    });

    it("the end of the session's work, and a failed call: no warning of missing messages", async () => {
      const path = await session();
      vi.stubGlobal("fetch", async () => {
        await post(`${path}/archive`);
        return new Response("", { status: 401 });
      });
      const options = { ...OLLAMA, session_id: idOf(path) };
      const answer = await post("/llm/structured", { prompt: "one", schema: { type: "object" }, options });
      const envelope = await answer.json<Body>();
      expect(envelope).toMatchObject({ ok: false, error_category: "auth" });
      expect(envelope).not.toHaveProperty("warnings");
    });
  });

  it.each<[string, Body, string[]]>([
    ["is cut", { text: "Half a summ", stop_reason: "length" }, ["answer_cut"]],
    ["is refused", { text: "No.", stop_reason: "refusal" }, ["model_refused", "compaction_truncated"]],
    ["fails", { error: { category: "auth", message: "no key" } }, ["compaction_truncated"]],
  ])("a run warns if the summary of its older messages %s", async (_, summary, codes) => {
    const path = await session();
    await run(path, "one", { mock: [{ text: "one!" }] });
    const short = { auto_compact: true, compact_threshold: 1, compact_keep_last: 1, compact_strategy: "llm" };
    const mock = [summary, { text: "two!" }];
    const body = await (await run(path, "two", { ...short, llm_retries: 0, mock })).json<Body>();
    expect(body).toMatchObject({ text: "two!", warnings: codes.map((code) => ({ code })) });
  });

  it.each<[string, Body, string]>([
    ["fails", { error: { category: "auth", message: "no such key" } }, "provider_auth_failed"],
    ["writes nothing", { text: " ", output_tokens: 0 }, "provider_empty_answer"],
    ["refuses", { text: "I would rather not.", stop_reason: "refusal" }, "model_refused"],
  ])(
    "a model that %s leaves the conversation unchanged, and the caller learns of it",
    async (_, mock, code) => {
      const path = await session();
      for (const prompt of ["one", "two"]) await run(path, prompt, { mock: [{ text: `${prompt}!` }] });
      const options = { provider: "mock", llm_retries: 0, mock: [mock] };
      const answer = await post(`${path}/compact`, { strategy: "llm", keep_last: 2, options });
      expect(await codeOf(answer)).toEqual([502, code]);
      expect(await texts(path)).toEqual(["one", "one!", "two", "two!"]);
      expect((await run(path, "three", { mock: [{ text: "three!" }] })).status).toBe(200);
    },
  );

  it("forks: a copy with its lineage, which changes independently", async () => {
    const path = await session();
    const id = path.slice("/sessions/".length);
    await run(path, "one", { mock: [{ text: "1" }] });
    const fork = await post(`${path}/fork`, { dst: `${id}-fork` });
    expect([fork.status, fork.headers.get("location")]).toEqual([201, `${path}-fork`]);
    expect(await fork.json()).toMatchObject({
      parent_id: id,
      length: 2,
      branched_at_event_index: 2,
    });
    await run(path, "two", { mock: [{ text: "2" }] });
    await run(`${path}-fork`, "other", { mock: [{ text: "3" }] });
    expect(await texts(path)).toEqual(["one", "1", "two", "2"]);
    expect(await texts(`${path}-fork`)).toEqual(["one", "1", "other", "3"]);
    const at = await (await post(`${path}/fork-at`, { keep_first: 2 })).json<{ id: string }>();
    expect(at).toMatchObject({ length: 2, branched_at_event_index: 2 });
    const empty = await post(`${path}-fork/fork-at`, { keep_first: 0 });
    expect(await empty.json()).toMatchObject({ length: 0, branched_at_event_index: 0 });
    expect(await get(`${path}/ancestry`)).toEqual({
      parent_id: null,
      child_ids: [`${id}-fork`, at.id].sort(),
      branched_at_event_index: null,
    });
    expect(await codeOf(await post(`${path}/fork`, { dst: `${id}-fork` }))).toEqual([409, "session_exists"]);
  });

  it("an archived session takes nothing until it is resumed", async () => {
    const path = await session();
    for (const [change, state] of [
      ["archive", "archived"],
      ["abandon", "abandoned"],
      ["close", "closed"],
    ] as const) {
      expect(await (await post(`${path}/${change}`)).json()).toMatchObject({ state });
      expect(await codeOf(await run(path, "x"))).toEqual([409, "session_not_active"]);
      expect(await codeOf(await post(`${path}/messages`, { content: "x" }))).toEqual([
        409,
        "session_not_active",
      ]);
      expect(await (await post(`${path}/resume`)).json()).toMatchObject({ state: "active", woken: false });
    }
    expect((await run(path, "x")).status).toBe(200);
  });
});

it("a run reports that it used a soft budget up, even if it waited in between", async () => {
  const path = await session();
  const query = `?session_id=${path.slice("/sessions/".length)}`;
  const usage = { input_tokens: 1_000_000, output_tokens: 1 };
  const mock = [{ ...asking[0], ...usage }, { text: "thanks" }];
  expect((await send("PUT", `/llm/budget${query}`, { max_cost: 0.5 })).status).toBe(200);
  // The isolate of the session learns of it within seconds.
  const object = sessionObject({ env: client.env, tenant: "default" }, path.slice("/sessions/".length));
  await runInDurableObject(object, (instance) => {
    deploymentOf(Reflect.get(instance, "env")).policies.delete("default");
  });
  const options = { provider: "anthropic", model: "claude-sonnet-4-20250514", tools: [ASK], mock };
  const { run_id } = await (await run(path, "go", options)).json<{ run_id: string }>();
  await send("PUT", `/llm/budget${query}`, { max_cost: 1000 });
  await post(`${path}/tool-results`, { tool_call_id: "mock_call_1", content: "Ann" });
  const { result } = await until(`${path}/runs/${run_id}`, "done");
  expect(result).toMatchObject({ status: "done", budget_exceeded: true });
});

describe("tasks with a session of their own", () => {
  const KINDS = { "/daemons/:id": "daemon", "/tasks/:id": "task", "/workflows/runs/:id": "workflow run" };
  const BODIES: Partial<Record<OperationId, Body | string>> = {
    inputTask: { task: "x" },
    sendEvent: "x",
    migrateWorkflowRun: { graph: {} },
    forkWorkflowRun: { from: "a" },
    signalWorkflowRun: { name: "x" },
    decideWorkflowApproval: { node: "a", decision: "approve" },
  };
  const routes = FIXED_ROUTES.flatMap(([id, method, path]) => {
    const kind = Object.entries(KINDS).find(([prefix]) => path.startsWith(prefix));
    return kind === undefined ? [] : [{ id, method, path, what: kind[1] }];
  });

  it.each(routes)("$method $path names the kind, whether the id is unknown or malformed", async (route) => {
    const { id, method, path, what } = route;
    const detailOf = async (sent: string): Promise<unknown> => {
      const answer = await send(method, path.replace(":id", sent), BODIES[id]);
      const { code, detail } = await answer.json<Body>();
      expect([answer.status, code]).toEqual([404, "not_found"]);
      return detail;
    };
    expect(await detailOf("none")).toBe(`There is no ${what} "none".`);
    for (const [sent, said] of [
      ["..%2fx", "../x"],
      ["nope!", "nope!"],
    ] as const)
      expect(await detailOf(sent)).toBe(`There is no ${what} "${said}". An id has ${SESSION_IDS}.`);
  });

  it.each(["/runs", "/llm/call"])("%s with an empty session_id says what an id is", async (path) => {
    const answer = await send("POST", path, { prompt: "x", options: { session_id: "" } });
    expect((await answer.json<Body>()).detail).toBe(`There is no session "". An id has ${SESSION_IDS}.`);
  });
});
