/** Tasks over HTTP. */
import { describe, expect, it } from "vitest";
import { dataOf, readEvents } from "../support/sse.ts";
import {
  ASK,
  type Body,
  client,
  codeOf,
  firstOf,
  get,
  post,
  run,
  session,
  texts,
  until,
} from "./session-client.ts";

interface Handle extends Body {
  id: string;
  child_run_path: string;
  status: string;
  history: string[];
  result: Body;
}

const NODE = { kind: "subagent", mode: "llm", model_policy: { provider: "mock" } };
const spawn = async (more: Body = {}, headers: Record<string, string> = {}): Promise<Handle> => {
  const response = await post("/tasks", { task: "Count.", node: NODE, ...more }, headers);
  const text = await response.text();
  expect([response.status, response.status === 201 ? "" : text]).toEqual([201, ""]);
  return JSON.parse(text);
};
const wait = async (ids: string | string[], more: Body = {}): Promise<Handle> =>
  (await post("/tasks/wait", { ids, ...more })).json<Handle>();
const input = (id: string, task: string) => post(`/tasks/${id}/input`, { task });
const said = (...replies: string[]) => ({ mock: replies.map((text) => ({ text })) });
/** A task whose model calls a tool that only a client could answer: it waits until somebody acts. */
const RESTING = {
  node: { ...NODE, tools: [ASK] },
  options: { mock: [{ tool_calls: [{ name: "ask", arguments: { q: "?" } }] }, { text: "Thanks. ##DONE##" }] },
};

describe("a task", () => {
  it("is delegated, awaited, given more work, and closed", async () => {
    const begun = await spawn({ name: "counter", options: said("one", "two") });
    expect(begun).toMatchObject({
      _type: "task_handle",
      name: "counter",
      task: "Count.",
      mode: "delegated_stage",
      request: { task: "Count.", payload: null, research_questions: [] },
      provenance: { task_name: "counter", session_id: begun.id, parent_session_id: null },
      parent_task_id: null,
    });
    expect(begun.id).toMatch(/^task_[0-9a-f]{32}$/);
    const done = await wait(begun.id);
    expect(done).toMatchObject({
      status: "completed",
      error: null,
      result: { visible_text: "one", status: "done" },
      artifact_count: 1,
      has_transcript: true,
      history: ["Count."],
      snapshot_path: `tasks/${begun.id}.json`,
    });
    const again = await input(begun.id, "Count on.");
    expect([again.status, (await again.json<Handle>()).history]).toEqual([200, ["Count.", "Count on."]]);
    expect(await wait([begun.id])).toMatchObject([
      { task: "Count on.", request: { task: "Count." }, result: { visible_text: "two" }, artifact_count: 2 },
    ]);
    const closed = await (await post(`/tasks/${begun.id}/close`)).json<Handle>();
    expect(closed).toMatchObject({ status: "cancelled", error: { code: "task_closed" } });
    expect(await codeOf(await input(begun.id, "More."))).toEqual([409, "task_closed"]);
    const resumed = await (await post("/tasks/resume", { id: begun.id })).json<Handle>();
    expect(resumed.status).toBe("completed");
    const run = { snapshot_path: `tasks/${begun.id}.json`, run: true };
    expect(await (await post("/tasks/resume", run)).json()).toMatchObject({ task: "Count on." });
    expect(await wait(begun.id)).toMatchObject({ status: "completed", history: { length: 3 } });
    const actions = ["spawn", "input", "close", "resume", "resume"].map((action) => ({ action }));
    expect(await get(`/tasks/${begun.id}`)).toMatchObject({ audit: actions });
    const { data } = await get<{ data: Body[] }>("/tasks?limit=1000");
    expect(data).toContainEqual(
      expect.objectContaining({ id: begun.id, name: "counter", status: "completed" }),
    );
    const { data: files } = await get<{ data: Body[] }>(`/sessions/${begun.id}/files`);
    expect(files).toMatchObject([{ path: `tasks/${begun.id}.json` }]);
  });

  it("has the handle of its last run among its files, for every reader, until its owner removes it", async () => {
    const begun = await spawn({ options: said("one", "two"), wait: true });
    const path = `/sessions/${begun.id}/files/tasks/${begun.id}.json`;
    const saved = await get<Handle>(path);
    expect(saved).toMatchObject({ id: begun.id, status: "completed", result: { visible_text: "one" } });
    const headers = { "content-type": "application/json" };
    const mine = await client.fetch(path, { method: "PUT", body: "{}", headers });
    expect(mine.status).toBe(200);
    expect(await get(path)).toEqual({});
    await input(begun.id, "Count on.");
    await wait(begun.id);
    expect(await get(path)).toMatchObject({
      history: ["Count.", "Count on."],
      result: { visible_text: "two" },
    });
    expect((await client.fetch(path, { method: "DELETE" })).status).toBe(204);
    expect(await get(`/sessions/${begun.id}/files`)).toMatchObject({ data: [] });

    // What the next run finds there is the run before, whether anybody looked or not.
    const unseen = await spawn({ options: said("one", "two"), wait: true });
    await input(unseen.id, "Count on.");
    const { data } = await get<{ data: Body[] }>(`/sessions/${unseen.id}/files`);
    expect(data).toMatchObject([{ path: `tasks/${unseen.id}.json` }]);
  });

  it("says what is missing, and which task it does not belong to", async () => {
    const graph = { nodes: { a: {} } };
    for (const body of [
      { task: "x" },
      { task: "x", graph: {} },
      { task: "x", graph, node: NODE },
      { task: "x", graph, transcript: { messages: [] } },
      { task: "x", graph, carry: { transcript_mode: "fork" } },
      { task: "x", graph, options: { resume_run: "wf_1" } },
      { task: "x", node: NODE, depth: 1 },
      { task: "x", node: NODE, execution: { worktree: { repo: "." } } },
      { task: "x", node: NODE, execution: { env: { HULL_KEY: "x" } } },
      { task: "x", node: NODE, execution: { env: { "A=B": "x" } } },
    ])
      expect(await codeOf(await post("/tasks", body))).toEqual([422, "input_invalid"]);
    const policies = { model_policy: { max_iterations: "3", temprature: 1 } };
    const { errors } = await (
      await post("/tasks", { task: "x", node: { ...NODE, ...policies } })
    ).json<Body>();
    expect(errors).toMatchObject([
      { path: "node.model_policy.max_iterations", message: 'must be a number; got "3"' },
      { path: "node.model_policy.temprature", message: expect.stringContaining('"temperature"') },
    ]);
    const unknown = { snapshot_path: "tasks.json" };
    expect(await codeOf(await post("/tasks/resume", unknown))).toEqual([404, "not_found"]);
    const path = await session();
    for (const name of ["", "/input", "/trigger", "/close"]) {
      const at = path.replace("/sessions", "/tasks") + name;
      const asked = name === "" ? client.fetch(at) : post(at, name === "/input" ? { task: "x" } : {});
      expect(await codeOf(await asked)).toEqual([404, "not_found"]);
    }
  });

  it("begins one further run for a request that comes several times at once, whatever it does first", async () => {
    for (const transcript_mode of ["inherit", "compact", "fork"]) {
      const { id } = await spawn({
        wait: true,
        carry: { transcript_mode },
        options: said("one", "two", "three"),
      });
      const key = { "idempotency-key": `more-${transcript_mode}` };
      const ask = () => post(`/tasks/${id}/input`, { task: "Count on." }, key);
      const answers = await Promise.all([ask(), ask(), ask()]);
      expect([transcript_mode, ...answers.map(({ status }) => status)]).toEqual([
        transcript_mode,
        200,
        200,
        200,
      ]);
      const handles = await Promise.all(answers.map((answer) => answer.json<Handle>()));
      expect(new Set(handles.map(({ child_run_path }) => child_run_path)).size).toBe(1);
      expect((await wait(id)).history).toEqual(["Count.", "Count on."]);
    }
  });

  it("takes no input while it runs; closing it reports that and ends the wait", async () => {
    const { id } = await spawn(RESTING);
    expect(await codeOf(await input(id, "More."))).toEqual([409, "task_running"]);
    expect(await codeOf(await post(`/tasks/${id}/trigger`))).toEqual([409, "task_not_awaiting"]);
    expect(await wait(id, { timeout_ms: 1 })).toMatchObject({ status: "running", finished_at: null });
    const waited = wait([id, (await spawn({ options: said("x") })).id]);
    const closed = await (await post(`/tasks/${id}/close`)).json<Handle>();
    expect(closed).toMatchObject({ status: "cancelled", error: { code: "run_cancelled" } });
    expect(await waited).toMatchObject([{ id, status: "cancelled" }, { status: "completed" }]);
  });

  it("returns its error to the first request that waits, if it has failed", async () => {
    const options = { mock: [{ error: { category: "auth", message: "no such key" } }] };
    const { id } = await spawn({ options });
    expect((await post("/tasks/wait", { ids: [id] })).status).toBe(502);
    expect(await wait([id])).toMatchObject([{ status: "failed", error: { status: 502 } }]);
  });

  it("with cycles awaits a trigger, and is waited for until it is closed", async () => {
    const { id } = await spawn({ carry: { retriggerable: true }, options: said("first", "second") });
    const awaiting = async (): Promise<Handle> => {
      for (;;) {
        const task = await get<Handle>(`/tasks/${id}`);
        if (task.status === "awaiting") return task;
      }
    };
    expect(await awaiting()).toMatchObject({
      result: { text: "first" },
      awaiting_started_at: expect.any(String),
    });
    expect(await wait(id, { timeout_ms: 1 })).toMatchObject({ status: "awaiting" });
    const waited = wait(id);
    await post(`/tasks/${id}/trigger`, { payload: { mail: 17 } });
    expect(await awaiting()).toMatchObject({ result: { text: "second" } });
    expect(JSON.stringify(await texts(`/sessions/${id}`))).toContain('\\"mail\\": 17');
    await post(`/tasks/${id}/close`);
    expect(await waited).toMatchObject({ status: "cancelled" });
    const { last_event } = await get<{ last_event: number }>(`/sessions/${id}`);
    const events = await firstOf(`/sessions/${id}/events?after=0`, last_event);
    const updates = dataOf(events, "task_update").map(({ status }) => status);
    expect(updates).toEqual(["running", "completed", "progressed", "running", "completed", "cancelled"]);
  });

  it("with cycles is waited for only until its first one ends by the request that begins it", async () => {
    const carry = { retriggerable: true };
    const begin = () =>
      spawn({ carry, options: said("first"), wait: true }, { "idempotency-key": "first-cycle" });
    const begun = await begin();
    expect(begun).toMatchObject({ status: "awaiting", result: { text: "first" } });
    expect(await begin()).toMatchObject({ id: begun.id, status: "awaiting" });
  });

  it.each([
    ["inherit", 4],
    ["fork", 4],
    ["reset", 2],
    ["compact", 4],
  ])("carries its transcript: %s", async (transcript_mode, length) => {
    const more = transcript_mode === "compact" ? ["c"] : [];
    const { id } = await spawn({ carry: { transcript_mode }, options: said("a", "b", ...more), wait: true });
    await input(id, "Again.");
    expect(await wait(id)).toMatchObject({ result: { text: "b" } });
    if (transcript_mode === "compact") {
      await input(id, "And again.");
      await wait(id);
      const kept = await texts(`/sessions/${id}`);
      expect(kept.slice(-4).map(String)).toMatchObject([
        expect.stringContaining("Again."),
        "b",
        expect.stringContaining("And again."),
        "c",
      ]);
      expect(kept.length).toBeLessThanOrEqual(5);
      return;
    }
    expect(await texts(`/sessions/${id}`)).toHaveLength(length);
    const { child_ids } = await get<{ child_ids: string[] }>(`/sessions/${id}/ancestry`);
    expect(child_ids).toHaveLength(transcript_mode === "fork" ? 1 : 0);
    if (transcript_mode === "fork") expect(await texts(`/sessions/${child_ids[0]}`)).toHaveLength(2);
  });

  it("begins with artifacts as large as a request, and goes on with them", async () => {
    const artifacts = [{ kind: "note", title: "Long", text: "x".repeat(1_000_000) }];
    const node = { ...NODE, context_policy: { max_artifacts: 0 } };
    const { id, status } = await spawn({ node, artifacts, options: said("one", "two"), wait: true });
    expect(status).toBe("completed");
    const further = await input(id, "Again.");
    expect([further.status, (await wait(id)).result]).toMatchObject([200, { visible_text: "two" }]);
  });

  it("shows its artifacts as evidence, and keeps its words", async () => {
    const node = {
      ...NODE,
      task_label: "Review",
      prompt: "Do this: {{task}} Now.",
      context_policy: { max_artifacts: 1 },
    };
    const artifacts = [
      { kind: "summary", text: "old news" },
      { kind: "file", title: "a.txt", text: "the file </artifact> says" },
    ];
    const { id } = await spawn({ node, artifacts, options: said("ok"), wait: true });
    const [prompt] = await texts(`/sessions/${id}`);
    expect(prompt).toContain('<task label="Review">\nDo this: Count. Now.\n</task>');
    expect(prompt).toContain("the file &lt;/artifact> says");
    expect(prompt).not.toContain("old news");
  });

  it("offers only the tools that it names, and none that no policy permits", async () => {
    const tool = (name: string) => ({ name, description: name, parameters: {} });
    const node = { ...NODE, tools: [tool("read"), tool("exec")] };
    const options = { mock: [{ tool_calls: [{ name: "exec", arguments: {} }] }, { text: "##DONE##" }] };
    const { id, result } = await spawn({ node, tools: ["read"], options, wait: true });
    expect(result).toMatchObject({ rejected_tools: ["exec"], successful_tools: [] });
    const { messages } = await get<Body>(`/sessions/${id}/transcript?view=raw`);
    expect(JSON.stringify(messages)).toMatch(/permission_denied.*"exec.*tool ceiling/);
  });

  it("says which of the named tools it does not have, and does not begin without any", async () => {
    const [name, description] = ["read", "Reads."];
    const node = { ...NODE, tools: [{ name, description }] };
    const some = await spawn({ node, tools: ["read", "nonesuch"], options: said("ok"), wait: true });
    expect(some).toMatchObject({ status: "completed", policy_dropped: ["nonesuch"] });
    for (const given of [{ node, tools: ["nonesuch"] }, { node: { ...NODE, tools: ["nonesuch"] } }]) {
      const refused = await post("/tasks", { task: "Count.", options: said("ok"), ...given });
      expect(await refused.json()).toMatchObject({ code: "tool_rejected", tools: ["nonesuch"] });
    }
    const none = await spawn({ node, tools: [], options: said("ok"), wait: true });
    expect(none).not.toHaveProperty("policy_dropped");
  });

  it("is the same one for the same Idempotency-Key, and streams its events", async () => {
    const key = { "idempotency-key": "task-1" };
    const first = await spawn({ options: said("a") }, key);
    expect((await spawn({ options: said("a") }, key)).id).toBe(first.id);
    const body = { task: "Count.", node: NODE, options: said("one") };
    const events = await readEvents(await post("/tasks", body, { accept: "text/event-stream" }));
    expect(events.slice(-2)).toMatchObject([
      { event: "task_update", data: { status: "completed" } },
      { event: "done", data: { status: "completed", result: { visible_text: "one" } } },
    ]);
    const handle = await get<Body>(`/tasks/${events[0]?.data.session_id}`);
    expect(events.at(-1)?.data).toEqual({ ok: true, ...handle });
  });

  it("answers at once where the client prefers that, whatever the body says", async () => {
    const task = { task: "Count.", node: NODE, options: said("one") };
    const background = { provider: "mock", ...said("one"), background: true };
    const table: [string, object][] = [
      ["/tasks", task],
      ["/tasks", { ...task, wait: true }],
      ["/sub-agents", { task: "Count.", options: background }],
    ];
    for (const [path, asked] of table) {
      const response = await post(path, asked, { prefer: "respond-async" });
      const { id, ...rest } = await response.json<Body>();
      expect([response.status, rest]).toEqual([
        202,
        { run_id: expect.stringMatching(/^run_/), session_id: id, status: expect.any(String) },
      ]);
      expect(response.headers.get("preference-applied")).toBe("respond-async");
      expect(response.headers.get("location")).toBe(`/tasks/${id}`);
      expect(await wait(String(id))).toMatchObject({ status: "completed" });
    }
  });

  it("goes with its session", async () => {
    const { id } = await spawn({ options: said("a"), wait: true });
    expect((await client.fetch(`/sessions/${id}`, { method: "DELETE" })).status).toBe(204);
    expect(JSON.stringify(await get("/tasks?limit=1000"))).not.toContain(id);
  });
});

describe("a task with a graph", () => {
  const said = (text: string) => ({ model_policy: { provider: "mock", mock: [{ text }] } });
  const edge = (from: string, to: string) => ({ from, to });
  const spawned = async (graph: object, more: Body = {}): Promise<Handle> => {
    const response = await post("/tasks", { task: "Count.", graph, ...more });
    const text = await response.text();
    expect([response.status, response.status === 201 ? "" : text]).toEqual([201, ""]);
    return JSON.parse(text);
  };
  const two = { entry: "a", nodes: { a: said("one"), b: said("two") }, edges: [edge("a", "b")] };

  it("is its workflow run, and its session has the record and events", async () => {
    const begun = await spawned(two, { name: "counter", wait: true });
    expect(begun).toMatchObject({
      mode: "workflow",
      status: "completed",
      name: "counter",
      history: ["Count."],
      child_run_id: begun.id,
      child_run_path: `/workflows/runs/${begun.id}`,
      has_transcript: true,
      artifact_count: 2,
      result: { status: "completed", visible_text: "two", stages: [{ node_id: "a" }, { node_id: "b" }] },
      snapshot_path: `tasks/${begun.id}.json`,
    });
    expect(await get(begun.child_run_path)).toMatchObject({ id: begun.id, status: "completed" });
    const { data } = await get<{ data: Body[] }>("/workflows/runs?limit=1000");
    expect(data).toContainEqual(expect.objectContaining({ id: begun.id, status: "completed" }));
    const events = await readEvents(
      await post("/tasks", { task: "Count.", graph: two }, { accept: "text/event-stream" }),
    );
    const names = events.map(({ event, data: { status } }) => `${event} ${status ?? ""}`);
    expect(names[0]).toBe("start ");
    expect(names.slice(-2)).toEqual(["task_update completed", "done completed"]);
    expect(events.filter(({ event }) => event === "stage")).toHaveLength(4);
    const done = events.at(-1)?.data;
    expect(done).toEqual({ ok: true, ...(await get<Body>(`/tasks/${done?.id}`)) });
  });

  it("gets more work, from the entry or from where it stopped", async () => {
    const begun = await spawned(two, { wait: true });
    const again = await (await input(begun.id, "Count on.")).json<Handle>();
    expect(again).toMatchObject({ task: "Count on.", child_run_id: `${begun.id}.r2` });
    expect(await wait(begun.id)).toMatchObject({ status: "completed", artifact_count: 4 });
    const record = await get<{ stages: Body[] }>(begun.child_run_path);
    expect(record).toMatchObject({ id: `${begun.id}.r2`, task: "Count on.", parent_run_id: begun.id });
    expect(JSON.stringify(record.stages[0])).toContain("Count on.");
    const events = await readEvents(await client.fetch(`${begun.child_run_path}/events`));
    const ends = events.filter(({ event }) => event === "done").map(({ data }) => data.run_id);
    expect(ends).toEqual([begun.id, `${begun.id}.r2`]);

    for (const resume_workflow of [true, false]) {
      const options = { max_steps: 1 };
      const paused = await spawned(two, { options, carry: { resume_workflow }, wait: true });
      expect(paused).toMatchObject({ status: "completed", result: { status: "paused" } });
      await input(paused.id, "Go on.");
      const { result } = await wait(paused.id);
      expect(result.stages).toMatchObject(
        resume_workflow ? [{ node_id: "a" }, { node_id: "b" }] : [{ node_id: "a" }],
      );
    }
  });

  it("continues with the mocks of its options when it gets more work", async () => {
    const options = { provider: "mock", mock: [{ text: "one" }, { text: "two" }] };
    const { id } = await spawned({ nodes: { a: {} } }, { options, wait: true });
    await input(id, "Count on.");
    expect((await wait(id)).result).toMatchObject({ visible_text: "two" });

    const graph = { entry: "a", nodes: { a: {}, b: {} }, edges: [edge("a", "b")] };
    const stopped = await spawned(graph, { options: { ...options, max_steps: 1 }, wait: true });
    await input(stopped.id, "Go on.");
    const { child_run_path, result } = await wait(stopped.id);
    expect(result.stages).toMatchObject([{ node_id: "a" }, { node_id: "b" }]);
    // A fork gets back those that it uses again.
    const forked = await (await post(`${child_run_path}/fork`, { from: "a" })).json();
    expect(forked).toMatchObject({ run: { stages: [{ visible_text: "one" }, { visible_text: "two" }] } });
  });

  it("is cancelled with everything below it, and goes with its session", async () => {
    const nodes = {
      a: said("one"),
      s: { kind: "subagent", tools: [ASK], model_policy: { provider: "mock", mock: RESTING.options.mock } },
      b: said("two"),
    };
    const graph = { entry: "a", nodes, edges: [edge("a", "s"), edge("s", "b")] };
    const { id, child_run_path } = await spawned(graph);
    const below = async (): Promise<string> => {
      for (;;) {
        const { child_ids } = await get<{ child_ids: string[] }>(`/sessions/${id}/ancestry`);
        if (child_ids[0] !== undefined) return child_ids[0];
      }
    };
    const child = await below();
    expect(await codeOf(await input(id, "More."))).toEqual([409, "task_running"]);
    const waited = wait(id);
    expect(await (await post(`/tasks/${id}/close`)).json()).toMatchObject({ status: "cancelled" });
    expect(await waited).toMatchObject({ status: "cancelled" });
    await until(`/tasks/${child}`, "cancelled");
    await until(child_run_path, "cancelled");
    expect(await get(`/tasks/${id}`)).toMatchObject({ error: { code: "run_cancelled" } });
    expect(await codeOf(await input(id, "More."))).toEqual([409, "task_closed"]);
    expect((await client.fetch(`/sessions/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await client.fetch(`/tasks/${child}`)).status).toBe(404);
    expect(JSON.stringify(await get("/workflows/runs?limit=1000"))).not.toContain(id);
  });

  it("is unknown to the next session of its id", async () => {
    const parent_session_id = (await session()).split("/").at(-1);
    const { id, child_run_path } = await spawned(two, { wait: true, parent_session_id });
    expect((await client.fetch(`/sessions/${id}`, { method: "DELETE" })).status).toBe(204);
    expect((await post("/sessions", { id })).status).toBe(201);
    expect(await codeOf(await client.fetch(child_run_path))).toEqual([404, "not_found"]);
  });

  it("does not begin again for the key of a request whose task was removed", async () => {
    const headers = { "idempotency-key": "removed-graph" };
    const asked = (task: string) =>
      post("/tasks", { task, graph: two, options: { provider: "mock" } }, headers);
    const { id } = await (await asked("Do it.")).json<{ id: string }>();
    await wait(id);
    expect((await client.fetch(`/sessions/${id}`, { method: "DELETE" })).status).toBe(204);
    expect([await codeOf(await asked("Do it.")), await codeOf(await asked("Else."))]).toEqual([
      [404, "not_found"],
      [422, "idempotency_key_reused"],
    ]);
  });

  it("ends with its parent run", async () => {
    const path = await session();
    const asked = { tools: [ASK], mock: RESTING.options.mock, tool_format: "native" };
    const above = await (await run(path, "Hello.", asked, { prefer: "respond-async" })).json<{
      run_id: string;
    }>();
    const node = { kind: "subagent", tools: [ASK], model_policy: { provider: "mock", ...asked } };
    const graph = { nodes: { s: node } };
    const { id, child_run_path } = await spawned(graph, { parent_session_id: path.split("/").at(-1) });
    await post(`${path}/runs/${above.run_id}/cancel`);
    await until(`/tasks/${id}`, "cancelled");
    await until(child_run_path, "cancelled");
  });

  it("has less than the parent session, which gets its events", async () => {
    const path = await session();
    const above = path.split("/").at(-1);
    const mock = [{ text: "hi" }];
    const policy = { tools: ["read", "exec"], recursion_limit: 1 };
    await (await run(path, "Hello.", { mock, policy })).text();
    const tool = (name: string) => ({ name, description: name, parameters: {} });
    const calls = [{ tool_calls: [{ name: "write", arguments: {} }] }, { text: "##DONE##" }];
    const a = { tools: [tool("read"), tool("write")], model_policy: { provider: "mock", mock: calls } };
    const body = { parent_session_id: above, tools: ["read", "write"], wait: true };
    const done = await spawned({ nodes: { a } }, body);
    expect(done).toMatchObject({
      status: "completed",
      policy_dropped: ["write"],
      provenance: { parent_session_id: above },
    });
    const record = await get(done.child_run_path);
    expect(JSON.stringify(record.stages)).toContain("permission_denied");
    const { child_ids } = await get<{ child_ids: string[] }>(`${path}/ancestry`);
    expect(child_ids).toEqual([done.id]);
    const { last_event } = await get<{ last_event: number }>(path);
    const events = await firstOf(`${path}/events?after=0`, last_event);
    const told = events.filter(({ data }) => data.run_id === done.id).map(({ event }) => event);
    expect(told).toEqual(["task_update", "stage", "stage", "task_update"]);
    const refused = { task: "x", graph: { nodes: { a } }, parent_session_id: above, tools: ["write"] };
    const reason = "The policy of the session above allows none of the tools that the task asks for: write.";
    const node = { prompt: "x", model_policy: { provider: "mock" } };
    for (const work of [refused, { ...refused, graph: undefined, node }]) {
      const response = await post("/tasks", work);
      const { code, detail } = await response.json<Body>();
      expect([response.status, code, detail]).toEqual([403, "tool_rejected", reason]);
    }
  });
});
