/** Daemons over HTTP. */
import { evictDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { readEvents } from "../support/sse.ts";
import { ASK, asking, type Body, client, codeOf, get, post, send } from "./session-client.ts";

interface Summary extends Body {
  id: string;
  status: string;
  daemon_state: string;
}

const spawn = async (body: Body, headers: Record<string, string> = {}): Promise<Summary> => {
  const response = await post("/daemons", { task: "Watch.", provider: "mock", ...body }, headers);
  expect([response.status, response.status === 201 ? null : await response.clone().text()]).toEqual([
    201,
    null,
  ]);
  return response.json<Summary>();
};
const event = (id: string, payload: unknown, headers?: Record<string, string>) =>
  post(`/daemons/${id}/events`, payload, headers);
const one = (id: string) => get<Summary>(`/daemons/${id}`);
/** Waits until a fact is one of a daemon's. */
async function until(id: string, wanted: Body): Promise<Summary> {
  for (;;) {
    const daemon = await one(id);
    if (Object.entries(wanted).every(([name, value]) => daemon[name] === value)) return daemon;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// Isolates learn at once only about further limits of a tenant that has had limits since they first asked.
beforeAll(async () => {
  await send("PUT", "/budgets/tenant", { window: "total", max_output_tokens: 1_000_000 });
});

describe("a daemon", () => {
  it("is spawned, handles events one by one, is stopped, and continues with its history", async () => {
    const spawned = await spawn({
      name: "mail",
      mock: [{ text: "ready" }, { text: "one" }, { text: "two" }],
    });
    const { id } = spawned;
    expect(spawned).toMatchObject({
      name: "mail",
      status: "running",
      daemon_state: "idle",
      session_id: id,
      skill: null,
      persist_path: `daemons/${id}`,
      snapshot_path: `daemons/${id}/daemon.json`,
      event_queue_capacity: 1024,
      pending_event_count: 0,
      queued_event_count: 0,
      next_wake_at: null,
      last_wake: null,
      pending_wakes: [],
    });
    const stored = {
      _type: "daemon_snapshot",
      daemon_state: "idle",
      total_iterations: 1,
      total_text: "ready",
    };
    expect(await one(id)).toMatchObject(stored);
    const files = `/sessions/${id}/files`;
    expect(await get(files)).toMatchObject({
      data: [{ path: `daemons/${id}/daemon.json` }, { path: `daemons/${id}/daemon.meta.json` }],
    });
    expect(await get(`${files}/daemons/${id}/daemon.json`)).toMatchObject(stored);
    expect(await get(`${files}/daemons/${id}/daemon.meta.json`)).toMatchObject({ id, name: "mail" });
    const sent = await event(id, { mail: 1 });
    expect([sent.status, await sent.json()]).toMatchObject([202, { queued_event_count: 1 }]);
    const handled = await until(id, { total_iterations: 2, daemon_state: "idle" });
    expect(await get(`${files}/daemons/${id}/daemon.json`)).toMatchObject({ total_text: "readyone" });
    expect(handled).toMatchObject({
      total_text: "readyone",
      last_iteration_text: "one",
      queued_event_count: 0,
      pending_events: [],
      last_wake: { reason: "event" },
      recorded_messages: [
        { role: "user", content: "Watch." },
        { role: "assistant", content: "ready" },
        { role: "user", content: '{"mail":1}' },
        { role: "assistant", content: "one" },
      ],
    });
    const stopped = await (await post(`/daemons/${id}/stop`)).json<Summary>();
    expect(stopped).toMatchObject({ status: "stopped", daemon_state: "idle", result: { status: "idle" } });
    expect(await codeOf(await event(id, "x"))).toEqual([409, "daemon_not_running"]);
    expect(await codeOf(await post(`/daemons/${id}/wake`))).toEqual([409, "daemon_not_running"]);
    const resumed = await (await post(`/daemons/${id}/resume`)).json<Summary>();
    expect(resumed).toMatchObject({ id, status: "running", daemon_state: "idle", session_id: id });
    expect(await codeOf(await post(`/daemons/${id}/resume`))).toEqual([409, "daemon_running"]);
    expect(await one(id)).toMatchObject({ total_iterations: 2, recorded_messages: { length: 4 } });
    await event(id, { mail: JSON.rawJSON("12345678901234567890") });
    expect(await until(id, { total_iterations: 3, daemon_state: "idle" })).toMatchObject({
      last_iteration_text: "two",
      queued_event_count: 0,
      recorded_messages: { 4: { content: '{"mail":12345678901234567890}' }, 5: { content: "two" } },
    });
    const { data } = await get<{ data: Body[] }>("/daemons?limit=1000");
    expect(data).toContainEqual(expect.objectContaining({ id, name: "mail", status: "running" }));
    // A later version of Hull may have another word.
    await client.env.DB.prepare("UPDATE daemons SET status = 'dreaming' WHERE id = ?").bind(id).run();
    const { data: later } = await get<{ data: object[] }>("/daemons?limit=1000");
    expect(later).toContainEqual(expect.objectContaining({ id, status: "dreaming" }));
    expect((await send("DELETE", `/daemons/${id}`)).status).toBe(204);
    expect(await codeOf(await send("GET", `/daemons/${id}`))).toEqual([404, "not_found"]);
    expect(JSON.stringify(await get("/daemons?limit=1000"))).not.toContain(id);
  });

  it("fails with its run, and can be started again", async () => {
    const mock = [{ error: { category: "auth", message: "no such key" } }, { text: "better" }];
    const { id } = await spawn({ mock });
    expect(await until(id, { status: "failed" })).toMatchObject({
      daemon_state: "error",
      error: { status: 502 },
    });
    await post(`/daemons/${id}/resume`);
    expect(await until(id, { status: "running", daemon_state: "idle" })).toMatchObject({
      total_text: "better",
    });
  });

  it("keeps an event or a message that a budget withheld from the model", async () => {
    const { id } = await spawn({ mock: [{ text: "ready" }, { text: "one" }, { text: "two" }] });
    const limit = (max_output_tokens: number) =>
      send("PUT", `/budgets/session:${id}`, { window: "total", max_output_tokens });
    const spent = { daemon_state: "budget_exhausted", status: "stopped" };
    await limit(1);
    await event(id, { mail: 1 });
    expect(await until(id, spent)).toMatchObject({ pending_event_count: 1, total_text: "ready" });
    await limit(1_000_000);
    await post(`/daemons/${id}/resume`);
    expect(await until(id, { daemon_state: "idle", queued_event_count: 0 })).toMatchObject({
      last_iteration_text: "one",
    });
    await limit(1);
    await post(`/sessions/${id}/messages`, { content: "And you?" });
    await until(id, spent);
    await limit(1_000_000);
    await post(`/daemons/${id}/resume`);
    await until(id, { daemon_state: "idle", last_iteration_text: "two" });
  });

  it("a path belongs to a running daemon, and finds it again", async () => {
    const { id } = await spawn({ persist_path: "state/a" });
    const second = await post("/daemons", { task: "x", provider: "mock", state_dir: "state/a" });
    expect([second.status, await second.json()]).toMatchObject([
      409,
      { code: "daemon_path_taken", persist_path: "state/a" },
    ]);
    await post(`/daemons/${id}/stop`);
    const resumed = await post("/daemons/resume", { persist_path: "state/a" });
    expect([resumed.status, await resumed.json()]).toMatchObject([200, { id, status: "running" }]);
    expect(await codeOf(await post("/daemons/resume", { persist_path: "none" }))).toEqual([404, "not_found"]);
  });

  it("has no body of more than 1 MiB", async () => {
    const answer = await post("/daemons", { task: "x".repeat(1024 * 1024), provider: "mock" });
    expect([answer.status, await answer.json()]).toMatchObject([413, { limit: 1024 * 1024 }]);
  });

  it("the same Idempotency-Key is the same daemon, and the same event", async () => {
    const key = { "idempotency-key": "spawn-1" };
    const first = await spawn({ mock: [{ text: "ready" }] }, key);
    expect((await spawn({ mock: [{ text: "ready" }] }, key)).id).toBe(first.id);
    for (const _ of [1, 2]) await event(first.id, "once", { "idempotency-key": "event-1" });
    const { recorded_messages } = await until(first.id, { total_iterations: 2, daemon_state: "idle" });
    expect(JSON.stringify(recorded_messages).match(/"user","content":"once"/g)).toHaveLength(1);
  });

  it("behaves in the same way if a run of a session begins it", async () => {
    await post("/sessions", { id: "lodger" });
    const run = await post("/sessions/lodger/runs", {
      prompt: "go",
      options: { provider: "mock", daemon: true, mock: [{ text: "ready" }, { text: "done" }] },
    });
    expect(await run.json()).toMatchObject({ status: "idle", wake_sources: ["message", "event", "resume"] });
    expect(await one("lodger")).toMatchObject({
      status: "running",
      persist_path: null,
      daemon_state: "idle",
    });
    await event("lodger", "knock");
    expect(await until("lodger", { total_iterations: 2, daemon_state: "idle" })).toMatchObject({
      total_text: "readydone",
    });
    await post("/sessions", { id: "plain" });
    expect(await codeOf(await send("GET", "/daemons/plain"))).toEqual([404, "not_found"]);
    expect(await codeOf(await send("DELETE", "/daemons/plain"))).toEqual([404, "not_found"]);
    expect((await send("GET", "/sessions/plain")).status).toBe(200);
  });
});

describe("the stream of a daemon's run", () => {
  const EVENTS = { accept: "text/event-stream" };
  const go = async (id: string, query: string, options: Body = {}): Promise<Response> => {
    await post("/sessions", { id });
    const given = { provider: "mock", daemon: true, mock: [{ text: "one" }, { text: "two" }], ...options };
    return post(`/sessions/${id}/runs${query}`, { prompt: "go", options: given }, EVENTS);
  };

  it.each(["?wait=idle", ""])("ends when it is idle: %j", async (query) => {
    const id = query === "" ? "usual" : "asked";
    const events = await readEvents(await go(id, query));
    expect(events.at(-1)).toMatchObject({
      event: "done",
      data: { ok: true, status: "idle", text: "one", wake_sources: ["message", "event", "resume"] },
    });
    // The stream continues after the last number.
    await event(id, "knock");
    await until(id, { total_iterations: 2, daemon_state: "idle" });
    const { data } = await get<{ data: { id: string; event: string }[] }>(
      `/sessions/${id}/events/list?limit=500`,
    );
    const seen = data.findIndex((each) => each.id === events.at(-1)?.id);
    expect(data.slice(seen + 1).map((each) => each.event)).toContain("daemon_wake");
    expect(data.map((each) => each.event)).not.toContain("done");
  });

  it("ends with its run where the caller waits for that, with calls for the client where a run rests", async () => {
    const ended = await readEvents(
      await go("terminal", "?wait=terminal", { wake_interval_ms: 1, max_iterations: 2 }),
    );
    expect(ended.at(-1)).toMatchObject({
      event: "done",
      data: { status: "budget_exhausted", text: "onetwo" },
    });
    const asks = { daemon: false, tools: [ASK], mock: asking };
    const events = await readEvents(await go("asks", "?wait=idle", asks));
    expect(events.at(-1)).toMatchObject({
      event: "done",
      data: { status: "awaiting_tool", awaiting: [{ name: "ask" }] },
    });
  });
});

describe("a run without a session", () => {
  const run = async (query: string, options: Body): Promise<Body> => {
    const mock = [{ text: "one" }, { text: "two" }, { text: "three" }];
    const all = { provider: "mock", daemon: true, mock, ...options };
    return (await post(`/runs${query}`, { prompt: "go", options: all })).json<Body>();
  };
  const ended = { wake_sources: [], daemon_state: "idle", status: "idle", iterations: 1 };

  it.each<[string, Body, Body]>([
    ["", {}, ended],
    ["?wait=terminal", {}, ended],
    ["", { wake_interval_ms: 1 }, ended],
    ["?wait=terminal", { require_successful_tools: ["edit"] }, ended],
    [
      "?wait=terminal",
      { wake_interval_ms: 1, max_iterations: 2 },
      { status: "budget_exhausted", daemon_state: "budget_exhausted", iterations: 2, text: "onetwo" },
    ],
  ])("%s %j", async (query, options, wanted) => {
    expect(await run(query, options)).toMatchObject(wanted);
  });

  it("continues after its answer was promised: none, with a place to look", async () => {
    const response = await post("/runs?wait=none", {
      prompt: "go",
      options: { provider: "mock", daemon: true },
    });
    expect([response.status, response.headers.get("location")]).toEqual([
      202,
      expect.stringMatching(/^\/executions\/ex_/),
    ]);
  });
});

describe("files", () => {
  const put = (id: string, path: string, body: string) =>
    client.fetch(`/sessions/${id}/files/${path}`, { method: "PUT", body });
  const drop = (id: string, path: string) => send("DELETE", `/sessions/${id}/files/${path}`);
  const idle = (id: string, total_iterations: number) =>
    until(id, { total_iterations, daemon_state: "idle" });

  it("wake it if they are watched and are made, changed or removed; others do not", async () => {
    const mock = ["ready", "a", "b", "c", "d"].map((text) => ({ text }));
    const { id } = await spawn({ mock, watch_paths: ["in", "note.txt", "*.csv"] });
    await put(id, "other.txt", "x");
    await put(id, "in/a.txt", "1");
    const made = await idle(id, 2);
    expect(made).toMatchObject({
      last_wake: { reason: "watch" },
      watch_state: { "in/a.txt": expect.any(Number) },
    });
    expect(JSON.stringify(made.recorded_messages)).toMatch(/kind=.{1,2}watch.{1,2}>[^<]*- in\/a\.txt/);
    await put(id, "in/a.txt", "2");
    await idle(id, 3);
    await drop(id, "in/a.txt");
    const dropped = await idle(id, 4);
    expect(dropped.watch_state).toEqual({});
    await put(id, "table.csv", "1");
    await idle(id, 5);
    const { transcript_events, pending_wakes } = await one(id);
    expect(pending_wakes).toEqual([]);
    expect(JSON.stringify(transcript_events).match(/"watch_paths":\["in\/a.txt"\]/g)).toHaveLength(3);
  });

  it("wake it by the kinds of change that it asks for", async () => {
    const mock = ["ready", "a", "b"].map((text) => ({ text }));
    // The same name in another form of Unicode.
    const { id } = await spawn({ mock, watch_paths: "u\u0308.txt", watch_events: ["change"] });
    await put(id, "%C3%BC.txt", "1");
    await put(id, "%C3%BC.txt", "2");
    await idle(id, 2);
    await drop(id, "a.txt");
    expect(await one(id)).toMatchObject({ total_iterations: 2, daemon_state: "idle", pending_wakes: [] });
  });

  it("hold its snapshot once somebody looks at them: wakes that nobody follows store no contents", async () => {
    const mock = ["ready", "a", "b", "c", "d"].map((text) => ({ text }));
    const { id } = await spawn({ mock });
    const wakes = async (from: number, to: number): Promise<void> => {
      for (let count = from; count <= to; count += 1) {
        await event(id, { count });
        await until(id, { total_iterations: count, daemon_state: "idle" });
      }
    };
    const contents = async (): Promise<number> => {
      const { objects } = await client.env.FILES.list({ prefix: `sessions/default/${id}/` });
      return objects.length;
    };
    const snapshot = (): Promise<Body> => get(`/sessions/${id}/files/daemons/${id}/daemon.json`);
    await wakes(2, 4);
    expect(await contents()).toBe(0);
    expect(await snapshot()).toMatchObject({ daemon_state: "idle", total_text: "readyabc" });
    expect(await get(`/sessions/${id}/files`)).toMatchObject({
      data: [{ path: `daemons/${id}/daemon.json` }, { path: `daemons/${id}/daemon.meta.json` }],
    });
    expect(await contents()).toBe(2);
    await wakes(5, 5);
    expect(await contents()).toBe(2);
    expect(await snapshot()).toMatchObject({ total_iterations: 5, total_text: "readyabcd" });
    // The snapshot that its owner has replaced stays, also for another instance of the object.
    await put(id, `daemons/${id}/daemon.json`, '{"own":1}');
    const { SESSIONS } = client.env;
    await evictDurableObject(SESSIONS.get(SESSIONS.idFromName(`default/${id}`)));
    expect(await snapshot()).toEqual({ own: 1 });
  });

  it("hold the snapshot of a daemon that has ended without anybody looking", async () => {
    const { id } = await spawn({ mock: [{ text: "ready" }] });
    await post(`/daemons/${id}/stop`);
    await vi.waitFor(async () => {
      const { objects } = await client.env.FILES.list({ prefix: `sessions/default/${id}/` });
      expect(objects).toHaveLength(2);
    }, 20_000);
  });

  it("hold its snapshot where configured, and another run continues with it", async () => {
    const { id } = await spawn({
      persist_path: "state/b",
      mock: [{ text: "ready" }],
      watch_paths: ["state"],
    });
    const read = (path: string): Promise<Body> => get(`/sessions/${id}/files/${path}`);
    expect(await read("state/b/daemon.json")).toMatchObject({
      _type: "daemon_snapshot",
      daemon_state: "idle",
      total_iterations: 1,
      total_text: "ready",
      visible_messages: [{ content: "Watch." }, { content: "ready" }],
    });
    expect(await read("state/b/daemon.meta.json")).toMatchObject({ id, status: "running" });
    // What it writes itself does not wake it.
    expect(await one(id)).toMatchObject({ total_iterations: 1, snapshot_path: "state/b/daemon.json" });
    await post(`/daemons/${id}/stop`);
    await post("/sessions", { id: "heir" });
    const snapshot = await (await client.fetch(`/sessions/${id}/files/state/b/daemon.json`)).text();
    await put("heir", "from.json", snapshot);
    const options = { provider: "mock", daemon: true, resume_path: "from.json", mock: [{ text: "more" }] };
    await post("/sessions/heir/runs", { prompt: "ignored", options });
    await event("heir", "knock");
    expect(await idle("heir", 2)).toMatchObject({
      visible_messages: [
        { content: "Watch." },
        { content: "ready" },
        { content: "knock" },
        { content: "more" },
      ],
    });
    // A snapshot of its own run counts nothing twice.
    const watched = { provider: "mock", daemon: true, idle_watchdog_attempts: 0 };
    const ended = "/sessions/self/runs?wait=terminal";
    await post("/sessions", { id: "self" });
    await post(ended, { prompt: "Watch.", options: { ...watched, persist_path: "own.json" } });
    await post(ended, { prompt: "ignored", options: { ...watched, resume_path: "own.json" } });
    expect(await (await client.fetch("/sessions/self/files/own.json")).json()).toMatchObject({
      daemon_state: "watchdog",
      total_iterations: 1,
    });
    await post("/sessions", { id: "stranger" });
    const none = await post("/sessions/stranger/runs", { prompt: "x", options });
    expect(await codeOf(none)).toEqual([400, "invalid_request"]);
    const nested = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    const message = `{"role":"tool","tool_call_id":"c","content":${nested}}`;
    const deep = `{"_type":"daemon_snapshot","total_iterations":1,"visible_messages":[${message}]}`;
    await put("stranger", "from.json", deep);
    const refused = await post("/sessions/stranger/runs", { prompt: "x", options });
    expect(await codeOf(refused)).toEqual([400, "invalid_request"]);
  });
});

describe("refuses", () => {
  it.each([
    [{}, "task"],
    [{ task: "" }, "task"],
    [{ task: "x", cron: "61 * * * *" }, "cron"],
    [{ task: "x", time_zone: "Mars/Base" }, "time_zone"],
    // No date is that far ahead.
    [{ task: "x", wake_interval_ms: Number.MAX_SAFE_INTEGER }, "wake_interval_ms"],
    [{ task: "x", approval_timeout_ms: Number.MAX_SAFE_INTEGER }, "approval_timeout_ms"],
    [{ task: "x", approval_timeout_s: 1e100 }, "approval_timeout_s"],
    [{ task: "x", watch_paths: ["in", "/tmp/in"] }, "watch_paths"],
    [{ task: "x", watch_paths: "in/../../out" }, "watch_paths"],
    [{ task: "x", event_queue_capacity: 0 }, "event_queue_capacity"],
    [{ task: "x", persist_path: "../x" }, "persist_path"],
    [{ task: "x", persist_path: "/x" }, "persist_path"],
    [{ task: "x", nonsense: 1 }, "nonsense"],
    [{ task: "x", "options.cron": 1 }, "options.cron"],
    // Also options that a daemon sets itself.
    [{ task: "x", persistent: "no" }, "persistent"],
    [{ task: "x", daemon: 1 }, "daemon"],
    [{ task: "x", webhook: { secret_env: "X" } }, "webhook.header"],
    [{ task: "x", webhook: { secret_env: "OPENAI_API_KEY", header: "x-sig" } }, "webhook.secret_env"],
    [{ task: "x", webhook: { secret_env: "HULL_ADMIN_KEY", header: "x-sig" } }, "webhook.secret_env"],
    [{ task: "x", webhook: { secret_env: "WEBHOOK_NOT_SET", header: "x-sig" } }, "webhook.secret_env"],
    [{ task: "x", webhook: { secret_env: "DATABASE_URL", header: "x-sig" } }, "webhook.secret_env"],
    [
      {
        task: "x",
        webhook: {
          secret_env: "WEBHOOK_SECRET",
          header: "x-sig",
          timestamp_header: "x-at",
          tolerance_s: 43_201,
        },
      },
      "webhook.tolerance_s",
    ],
    [{ task: "x", webhook: { secret_env: "X", header: "Authorization" } }, "webhook.header"],
  ])("%j", async (body, path) => {
    const response = await post("/daemons", { provider: "mock", ...body });
    const { errors } = await response.json<{ errors: { path: string }[] }>();
    expect([response.status, errors.map((error) => error.path)]).toEqual([422, [path]]);
  });

  it("with an error that quotes the caller's own values unchanged, and names options as in the body", async () => {
    const response = await post("/daemons", { provider: "mock", task: "x", time_zone: "options.Mars" });
    const { detail } = await response.json<{ detail: string }>();
    expect(detail).toContain('"options.Mars"');
    expect(detail).not.toContain("options.time_zone");
  });
});
