/** Sessions over HTTP: agent-runtime.md §12.1, contract.md "Rulings". */
import { evictDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { sessionObject } from "../../src/session/conversation/address.ts";
import { readEvents } from "../support/sse.ts";
import { Client } from "./served.ts";
import { type Tenant, tenant } from "./tenant.ts";

const client = new Client();
type Body = Record<string, unknown>;

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  client.fetch(path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const post = (path: string, body?: unknown, headers?: Record<string, string>) =>
  send("POST", path, body, headers);
const get = async <T = Body>(path: string): Promise<T> => (await client.fetch(path)).json<T>();
const codeOf = async (response: Response): Promise<[number, unknown]> => {
  const { code } = await response.json<Body>();
  return [response.status, code];
};

let count = 0;
async function session(): Promise<string> {
  const id = `s${++count}`;
  expect((await post("/sessions", { id })).status).toBe(201);
  return `/sessions/${id}`;
}
const run = (path: string, prompt: string, options: Body = {}, headers: Record<string, string> = {}) =>
  post(`${path}/runs`, { prompt, options: { provider: "mock", ...options } }, headers);
const texts = async (path: string): Promise<unknown[]> => {
  const { data } = await get<{ data: { content: unknown }[] }>(`${path}/messages`);
  return data.map(({ content }) => content);
};
/** Waits until a run has a status. */
async function until(path: string, status: string): Promise<Body> {
  for (;;) {
    const document = await get(path);
    if (document.status === status) return document;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
const ASK = { name: "ask", description: "Asks a person.", parameters: { q: { type: "string" } } };
const asking = [{ tool_calls: [{ name: "ask", arguments: { q: "name?" } }] }, { text: "thanks" }];

describe("a session", () => {
  it("is opened twice and is one, shows itself, and is gone with everything when it is deleted", async () => {
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
    expect(await codeOf(await client.fetch("/sessions/one"))).toEqual([404, "not_found"]);
    expect(await get("/sessions/one/exists")).toEqual({ exists: false });
    const { objects } = await client.env.FILES.list({ prefix: "sessions/default/one" });
    expect(objects.map(({ key }) => key)).toEqual(["sessions/default/one2/a.txt"]);
    const { data } = await get<{ data: { id: string }[] }>("/sessions?limit=1000");
    expect(data.map(({ id }) => id)).not.toContain("one");
    expect((await post("/sessions", { id: "one" })).status).toBe(201);
    expect(await texts("/sessions/one")).toEqual([]);
  });

  it.each([
    ["GET", "", undefined],
    ["DELETE", "", undefined],
    ["GET", "/length", undefined],
    ["GET", "/ancestry", undefined],
    ["GET", "/messages", undefined],
    ["GET", "/events", undefined],
    ["GET", "/runs", undefined],
    ["GET", "/runs/r", undefined],
    ["GET", "/approvals", undefined],
    ["POST", "/reset", {}],
    ["POST", "/trim", { keep_last: 1 }],
    ["POST", "/compact", {}],
    ["POST", "/inject", { message: { role: "user", content: "x" } }],
    ["POST", "/fork", {}],
    ["POST", "/fork-at", { keep_first: 1 }],
    ["POST", "/close", {}],
    ["POST", "/archive", {}],
    ["POST", "/abandon", {}],
    ["POST", "/resume", {}],
    ["POST", "/messages", { content: "x" }],
    ["POST", "/feedback", { kind: "hint", content: "x" }],
    ["POST", "/tool-results", { tool_call_id: "x", content: "x" }],
    ["POST", "/approvals/x", { decision: "deny" }],
    ["POST", "/runs", { prompt: "x", options: { provider: "mock" } }],
    ["POST", "/runs/r/cancel", {}],
  ])(
    "that there is none of: %s %s is 404, for another tenant's and for what is no id",
    async (method, path, body) => {
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

  it("bodies are checked to the field", async () => {
    const path = await session();
    for (const [to, body, field] of [
      ["/sessions", { id: "a b" }, "id"],
      ["/sessions", { name: "x" }, ""],
      [`${path}/trim`, {}, "keep_last"],
      [`${path}/compact`, { keep: 1 }, ""],
      [`${path}/compact`, { strategy: "custom" }, "strategy"],
      [`${path}/inject`, { message: { content: "x" } }, "message.role"],
      [`${path}/messages`, { content: "x", delivery: "soon" }, "delivery"],
      [`${path}/messages`, { content: [{ type: "video" }] }, "content"],
      [`${path}/approvals/x`, { decision: "approve" }, "arguments_digest"],
      [`${path}/runs`, { prompt: "x", optoins: {} }, ""],
      [`${path}/runs`, { prompt: "x", options: { max_iterations: "x" } }, "options.max_iterations"],
    ] as const) {
      const response = await post(to, body);
      const { errors = [] } = await response.json<{ errors?: { path: string }[] }>();
      expect([to, response.status, errors[0]?.path]).toEqual([to, 422, field]);
    }
    expect(await codeOf(await post(`${path}/runs?wait=long`, { prompt: "x" }))).toEqual([400, "bad_request"]);
  });
});

describe("the conversation", () => {
  it("goes on from run to run, also when its object was evicted", async () => {
    const path = await session();
    expect((await run(path, "one")).status).toBe(200);
    const object = sessionObject(client.env, "default", path.slice("/sessions/".length));
    await evictDurableObject(object);
    const second = await (await run(path, "two", { mock: [{ text: "second" }] })).json<Body>();
    expect(second.mock_calls).toMatchObject([
      { messages: [{ content: [{ text: "one" }] }, { role: "assistant" }, { content: [{ text: "two" }] }] },
    ]);
    expect(await texts(path)).toEqual([
      "one",
      "The mock model got a prompt of 1 words: one",
      "two",
      "second",
    ]);
    const page = await get<{ data: Body[]; next_cursor: string }>(`${path}/messages?limit=3`);
    const rest = await get(`${path}/messages?cursor=${page.next_cursor}`);
    expect([page.data.length, rest]).toMatchObject([3, { data: [{ content: "second" }], next_cursor: null }]);
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

  it("a model writes the summary where it is asked to", async () => {
    const path = await session();
    for (const prompt of ["one", "two"]) await run(path, prompt, { mock: [{ text: `${prompt}!` }] });
    const options = { provider: "mock", mock: [{ text: "All about numbers." }] };
    await post(`${path}/compact`, { strategy: "llm", keep_last: 2, options });
    expect((await texts(path))[0]).toContain("All about numbers.");
  });

  it("forks: a copy with its lineage, which goes its own way", async () => {
    const path = await session();
    const id = path.slice("/sessions/".length);
    await run(path, "one", { mock: [{ text: "1" }] });
    const fork = await post(`${path}/fork`, { dst: `${id}-fork` });
    expect([fork.status, fork.headers.get("location")]).toEqual([201, `${path}-fork`]);
    expect(await fork.json()).toMatchObject({
      parent_id: id,
      length: 2,
      branched_at_event_index: expect.any(Number),
    });
    await run(path, "two", { mock: [{ text: "2" }] });
    await run(`${path}-fork`, "other", { mock: [{ text: "3" }] });
    expect(await texts(path)).toEqual(["one", "1", "two", "2"]);
    expect(await texts(`${path}-fork`)).toEqual(["one", "1", "other", "3"]);
    const at = await (await post(`${path}/fork-at`, { keep_first: 2 })).json<{
      id: string;
      length: number;
    }>();
    expect(at.length).toBe(2);
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

describe("a run", () => {
  it("is answered later where that is preferred, and can be looked at", async () => {
    const path = await session();
    const response = await run(path, "one two", {}, { prefer: "respond-async" });
    const document = await response.json<{
      id: string;
      run_id: string;
      session_id: string;
      status: string;
    }>();
    const { run_id } = document;
    expect([response.status, response.headers.get("preference-applied")]).toEqual([202, "respond-async"]);
    expect(document).toEqual({ id: run_id, run_id, session_id: path.slice(10), status: expect.any(String) });
    expect(response.headers.get("location")).toBe(`${path}/runs/${run_id}`);
    const done = await until(`${path}/runs/${run_id}`, "done");
    expect(done.result).toMatchObject({ run_id, status: "done", text: expect.stringContaining("one two") });
    const none = await post(`${path}/runs?wait=none`, { prompt: "x", options: { provider: "mock" } });
    expect(none.status).toBe(202);
    await until(`${path}/runs/${(await none.json<{ id: string }>()).id}`, "done");
    const { data } = await get<{ data: Body[] }>(`${path}/runs?limit=1`);
    expect(data).toMatchObject([{ status: "done" }]);
    expect(data[0]).not.toHaveProperty("result");
  });

  it("is one for the same Idempotency-Key, and no other body's", async () => {
    const path = await session();
    const key = { "idempotency-key": "k1" };
    const first = await (await run(path, "one", {}, key)).json<Body>();
    const again = await run(path, "one", {}, key);
    expect([again.headers.get("x-hull-replayed"), await again.json()]).toEqual(["1", first]);
    expect(await codeOf(await run(path, "two", {}, key))).toEqual([422, "idempotency_key_reused"]);
    const events = await run(path, "one", {}, { ...key, accept: "text/event-stream" });
    expect((await readEvents(events)).at(-1)).toMatchObject({
      event: "done",
      data: { run_id: first.run_id },
    });
    expect(await texts(path)).toHaveLength(2);
    const message = () => post(`${path}/messages`, { content: "hi" }, { "idempotency-key": "k2" });
    expect(await (await message()).json()).toEqual(await (await message()).json());
    expect(await texts(path)).toHaveLength(2);
    await run(path, "now", { mock: [{ text: "ok" }] });
    expect(await texts(path)).toEqual([expect.anything(), expect.anything(), "hi", "now", "ok"]);
  });

  it("streams from its first event to its done, and the session's stream knows its ids", async () => {
    const path = await session();
    const id = path.slice("/sessions/".length);
    await run(path, "before");
    const stream = await run(path, "one", { mock: [{ text: "a b" }] }, { accept: "text/event-stream" });
    expect(stream.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const events = await readEvents(stream);
    expect(events.map(({ event }) => event)).toEqual(["start", "delta", "round", "done"]);
    expect(events.at(-1)?.data).toMatchObject({ ok: true, status: "done", text: "a b" });
    const numbers = events.map((event) => Number(event.id.slice(id.length + 1)));
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
    expect(events.map((event) => event.id)).toEqual(numbers.map((number) => `${id}:${number}`));
    const all = await firstOf(`${path}/events?after=0`, (numbers[0] ?? 0) + 3);
    expect(all.slice(-4).map((event) => event.id)).toEqual(events.map((event) => event.id));
    const rest = await firstOf(`${path}/events?after=${numbers[1]}`, 2);
    expect(rest.map(({ event }) => event)).toEqual(["round", "done"]);
    for (const bad of ["x", "s:1", `${id}:`]) {
      const response = await client.fetch(`${path}/events`, { headers: { "last-event-id": bad } });
      expect(await codeOf(response)).toEqual([400, "bad_request"]);
    }
  });

  it("that its provider refuses is that error, and an error of the run", async () => {
    const path = await session();
    const mock = [{ error: { category: "auth", message: "no such key" } }];
    const response = await run(path, "x", { mock });
    expect(response.status).toBe(502);
    const { code } = await response.json<{ code: string }>();
    const { data } = await get<{ data: { run_id: string; status: string }[] }>(`${path}/runs`);
    expect(data).toMatchObject([{ status: "error" }]);
    expect(await get(`${path}/runs/${data[0]?.run_id}`)).toMatchObject({ status: "error", error: { code } });
    const stream = await run(path, "x", { mock }, { accept: "text/event-stream" });
    const events = await readEvents(stream);
    expect(events.slice(-2)).toMatchObject([
      { event: "error", data: { code } },
      { event: "done", data: { ok: false, status: "error" } },
    ]);
    expect((await run(path, "again")).status).toBe(200);
  });

  it("waits for the client's own tool; a second run is refused meanwhile", async () => {
    const path = await session();
    const response = await run(path, "go", { tools: [ASK], mock: asking });
    const waiting = await response.json<{ status: string; run_id: string; awaiting: Body[] }>();
    expect(waiting).toMatchObject({
      status: "awaiting_tool",
      awaiting: [{ name: "ask", arguments: { q: "name?" } }],
    });
    const { run_id, awaiting } = waiting;
    const [call] = awaiting;
    for (const [to, body] of [
      ["runs", { prompt: "x", options: { provider: "mock" } }],
      ["reset", {}],
      ["trim", { keep_last: 1 }],
      ["compact", {}],
      ["inject", { message: { role: "user", content: "x" } }],
      ["fork", {}],
      ["archive", {}],
    ] as const) {
      expect([to, ...(await codeOf(await post(`${path}/${to}`, body)))]).toEqual([
        to,
        409,
        "run_in_progress",
      ]);
    }
    expect(await get(`${path}/runs/${run_id}`)).toMatchObject({ status: "awaiting_tool", awaiting });
    const answer = { tool_call_id: call?.tool_call_id, content: { name: "Ann" } };
    expect(await codeOf(await post(`${path}/tool-results`, { ...answer, tool_call_id: "x" }))).toEqual([
      404,
      "not_found",
    ]);
    expect((await post(`${path}/tool-results`, answer)).status).toBe(200);
    const done = await until(`${path}/runs/${run_id}`, "done");
    expect(done.result).toMatchObject({ text: "thanks", tools_used: ["ask"], successful_tools: ["ask"] });
    expect(await codeOf(await post(`${path}/tool-results`, answer))).toEqual([409, "tool_call_closed"]);
    expect((await texts(path))[2]).toBe('{\n  "name": "Ann"\n}');
  });

  it("waits for an approval that is bound to the arguments and good once", async () => {
    const path = await session();
    const approval_policy = { require_approval: ["ask"] };
    const options = { tools: [ASK], mock: asking, approval_policy };
    const { run_id } = await (await run(path, "go", options)).json<{ run_id: string }>();
    expect(await get(`${path}/runs/${run_id}`)).toMatchObject({ status: "awaiting_approval" });
    const { data } = await get<{ data: { id: string; arguments_digest: string }[] }>(`${path}/approvals`);
    const [approval] = data;
    expect(approval).toMatchObject({
      ...{ run_id, tool: "ask", arguments: { q: "name?" } },
      arguments_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const to = `${path}/approvals/${approval?.id}`;
    const { arguments_digest } = approval ?? {};
    const wrong = { decision: "approve", arguments_digest: "0".repeat(64) };
    expect(await codeOf(await post(to, wrong))).toEqual([409, "approval_closed"]);
    expect(await codeOf(await post(`${to}x`, { decision: "deny" }))).toEqual([404, "not_found"]);
    expect((await post(to, { decision: "approve", scope: "once", arguments_digest })).status).toBe(200);
    await until(`${path}/runs/${run_id}`, "awaiting_tool");
    expect(await codeOf(await post(to, { decision: "deny" }))).toEqual([409, "approval_closed"]);
    expect(await get(`${path}/approvals`)).toEqual({ data: [], next_cursor: null });
  });

  it("that is denied learns why; once approved for the session it is not asked again", async () => {
    const path = await session();
    const approval_policy = { require_approval: ["ask"] };
    const options = { tools: [ASK], mock: asking, approval_policy };
    const open = async () => {
      const { run_id } = await (await run(path, "go", options)).json<{ run_id: string }>();
      const { data } = await get<{ data: { id: string; arguments_digest: string }[] }>(`${path}/approvals`);
      return { run_id, approval: data[0] };
    };
    const first = await open();
    await post(`${path}/approvals/${first.approval?.id}`, { decision: "deny", reason: "not today" });
    const { result } = await until(`${path}/runs/${first.run_id}`, "done");
    expect(result).toMatchObject({ rejected_tools: ["ask"], successful_tools: [] });
    expect((await texts(path))[2]).toContain("not today");
    const second = await open();
    const { arguments_digest } = second.approval ?? {};
    const forAll = { decision: "approve", scope: "session", arguments_digest };
    await post(`${path}/approvals/${second.approval?.id}`, forAll);
    await until(`${path}/runs/${second.run_id}`, "awaiting_tool");
    await post(`${path}/runs/${second.run_id}/cancel`);
    const third = await (await run(path, "go", options)).json<Body>();
    expect(third.status).toBe("awaiting_tool");
  });

  it("is cancelled, and the next one works", async () => {
    const path = await session();
    const { run_id } = await (await run(path, "go", { tools: [ASK], mock: asking })).json<{
      run_id: string;
    }>();
    const cancelled = await post(`${path}/runs/${run_id}/cancel`);
    expect(await cancelled.json()).toMatchObject({ status: "cancelled", error: { code: "run_cancelled" } });
    expect((await post(`${path}/runs/${run_id}/cancel`)).status).toBe(200);
    expect(await codeOf(await run(path, "go", {}, { "idempotency-key": "c" }))).toEqual([200, undefined]);
    // What the cancelled run left open has a result, so that a provider takes the conversation.
    expect((await texts(path))[2]).toContain("interrupted");
  });

  it("a message that comes while it waits is not lost", async () => {
    const path = await session();
    const { run_id, awaiting } = await (
      await run(path, "go", { tools: [ASK], mock: [...asking, { text: "and more" }] })
    ).json<{ run_id: string; awaiting: { tool_call_id: string }[] }>();
    const said = await post(`${path}/messages`, { content: "one more thing", delivery: "finish_step" });
    expect([said.status, await said.json()]).toMatchObject([202, { run_id, delivery: "finish_step" }]);
    await post(`${path}/messages`, { content: "for the end", delivery: "wait_for_completion" });
    await post(`${path}/feedback`, { kind: "hint", content: "be brief" });
    await post(`${path}/tool-results`, { tool_call_id: awaiting[0]?.tool_call_id, content: "Ann" });
    const { result } = await until(`${path}/runs/${run_id}`, "done");
    expect(result).toMatchObject({ deferred_user_messages: [{ role: "user", content: "for the end" }] });
    expect(await texts(path)).toEqual([
      ...["go", "", "Ann", "one more thing", '<hull_feedback kind="hint">be brief</hull_feedback>'],
      ...["thanks", "for the end"],
    ]);
  });
});

/** The first so many events of a stream that has no end. */
async function firstOf(path: string, wanted: number) {
  const response = await client.stream(path);
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (text.split("\n\n").length <= wanted) {
    const piece = await reader?.read();
    text += decoder.decode(piece?.value, { stream: true });
  }
  await reader?.cancel();
  return readEvents(new Response(text));
}
