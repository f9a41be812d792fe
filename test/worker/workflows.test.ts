/** Workflows over HTTP: execution, and control of runs. */
import { describe, expect, it } from "vitest";
import { readEvents } from "../support/sse.ts";
import { edge, said } from "../support/workflow-graphs.ts";
import { type Body, client, codeOf, get, post, send, until } from "./session-client.ts";
import { executed, fails, type Run, run, started, visited } from "./workflow-client.ts";

const map = (more: object) => ({
  kind: "map",
  prompt: "do",
  map_policy: { items: ["a", "b", "c"] },
  ...said("done"),
  ...more,
});

/** The record of a run, as a client brings it. */
const RECORD = {
  _type: "run_record",
  id: "wf_a",
  graph: { nodes: { a: {} } },
  stages: [],
  transitions: [],
  pending_nodes: [],
  artifacts: [],
};

describe("POST /workflows/execute", () => {
  it("records the stages of review and repair, and their transitions", async () => {
    const graph = {
      name: "review_and_repair",
      entry: "act",
      nodes: {
        act: { mode: "agent", ...said("made ##DONE##") },
        verify: { kind: "verify", mode: "agent", ...said("fine ##DONE##") },
      },
      edges: [edge("act", "verify")],
    };
    const whole = await run(graph, { options: { max_steps: 6, parent_run_id: null } });
    expect(whole).toMatchObject({
      status: "completed",
      workflow_name: "review_and_repair",
      failed_stages: [],
    });
    expect(visited(whole)).toEqual(["act:success", "verify:passed"]);
    expect(whole.transitions).toMatchObject([{ from: "act", to: "verify" }]);
    expect(whole.usage).toMatchObject({ call_count: 2 });

    const first = await run(graph, { options: { max_steps: 1 } });
    expect([first.status, first.pending_nodes, visited(first)]).toEqual([
      "paused",
      ["verify"],
      ["act:success"],
    ]);
    const rest = await run(graph, { options: { resume_run: first.id } });
    expect([rest.status, visited(rest), rest.parent_run_id]).toEqual([
      "completed",
      ["act:success", "verify:passed"],
      first.id,
    ]);

    const replay_path = whole.persisted_path;
    const again = await run(graph, { options: { replay_path, replay_mode: "deterministic" } });
    expect([visited(again), again.child_runs]).toEqual([visited(whole), []]);
    const on = await run(graph, { options: { resume_path: first.persisted_path } });
    expect(visited(on)).toEqual(visited(whole));
    const { edges: _, ...other } = graph;
    const mismatch = await executed({ ...other, entry: "verify" }, { options: { replay_run: whole.id } });
    expect(await codeOf(mismatch)).toEqual([409, "replay_mismatch"]);
    const { act, verify } = graph.nodes;
    const kinds = { ...graph, nodes: { act, verify: { ...verify, kind: "stage" } } };
    const changed = await executed(kinds, { options: { replay_run: whole.id } });
    expect(await codeOf(changed)).toEqual([409, "replay_mismatch"]);
  });

  it("repairs as often as the shorthand allows, then ends", async () => {
    const verify = { verify: { expect_text: "never" } };
    const whole = await run({ act: said("a"), verify, repair: said("r") });
    expect(visited(whole)).toEqual([
      "act:success",
      // The edge back may be taken three times.
      ...Array.from({ length: 4 }, () => ["verify:failed", "repair:success"]).flat(),
    ]);
  });

  it.each<[what: string, graph: object, stages: string[], status?: string]>([
    [
      "a condition on a text",
      {
        entry: "a",
        nodes: {
          a: said("it is green"),
          c: { kind: "condition", metadata: { contains_text: "green" } },
          yes: said("y"),
          no: said("n"),
        },
        edges: [edge("a", "c"), edge("c", "yes", "true"), edge("c", "no", "false")],
      },
      ["a:success", "c:true", "yes:success"],
    ],
    [
      "a fork and a join",
      {
        entry: "f",
        nodes: {
          f: { kind: "fork" },
          a: said("1"),
          b: said("2"),
          j: { kind: "join" },
          r: { kind: "reduce" },
        },
        edges: [edge("f", "a"), edge("f", "b"), edge("a", "j"), edge("b", "j"), edge("j", "r")],
      },
      ["f:fork", "a:success", "b:success", "j:join", "r:reduced"],
    ],
    [
      "an escalation",
      { nodes: { e: { kind: "escalation", escalation_policy: { queue: "ops" } } } },
      ["e:escalated"],
    ],
    ["a sub-agent", { nodes: { s: { kind: "subagent", ...said("did it ##DONE##") } } }, ["s:success"]],
    ["a sub-agent that is stuck", { nodes: { s: { kind: "subagent", ...said("did it") } } }, ["s:success"]],
    [
      "a check by an agent that is stuck",
      { nodes: { v: { kind: "verify", mode: "agent", verify: { expect_text: "fine" }, ...said("fine") } } },
      ["v:passed"],
    ],
    [
      "an error that has an edge of its own",
      { entry: "a", nodes: { a: fails, b: said("mended") }, edges: [edge("a", "b", "error")] },
      ["a:error", "b:success"],
    ],
  ])("goes through %s", async (_, graph, stages, status = "completed") => {
    const whole = await run(graph);
    expect([whole.status, visited(whole).toSorted()]).toEqual([status, stages.toSorted()]);
  });

  it("maps all items, or as many as its join requires", async () => {
    const kinds = async (more: object) => {
      const { stages } = await run({ nodes: { m: map(more) } });
      return [stages[0]?.status, stages[0]?.branch, stages[0]?.artifacts.length];
    };
    expect(await kinds({})).toEqual(["completed", "mapped", 3]);
    expect(
      await kinds({
        join_policy: { strategy: "first" },
        map_policy: { items: ["a", "b", "c"], max_concurrent: 1 },
      }),
    ).toEqual(["completed", "mapped", 1]);
    expect(
      await kinds({
        join_policy: { strategy: "quorum", min_completed: 2 },
        map_policy: { items: ["a", "b", "c"], max_concurrent: 1 },
      }),
    ).toEqual(["completed", "mapped", 2]);
    expect(await kinds({ ...fails })).toEqual(["failed", "failed", 0]);
    const values = { kind: "map", map_policy: { items: ["x", { y: 1 }] } };
    const plain = await run({ nodes: { m: values } });
    expect(plain.artifacts.map(({ text }) => text)).toEqual(["x", null]);
    const first = await run({ nodes: { m: { ...values, join_policy: { strategy: "first" } } } });
    expect(first.artifacts.map(({ text }) => text)).toEqual(["x"]);
  });

  it("tries a failed stage again, and records each attempt", async () => {
    const flaky = { kind: "verify", verify: { expect_text: "never" }, retry_policy: { max_attempts: 3 } };
    const { stages } = await run({ nodes: { v: flaky } });
    expect(stages).toMatchObject([
      { branch: "failed", attempts: [{ attempt: 1 }, { attempt: 2 }, { attempt: 3 }] },
    ]);
    const asks = { ...flaky, mode: "agent", ...said("no ##DONE##") };
    expect((await run({ nodes: { v: asks } })).stages[0]).toMatchObject({ usage: { call_count: 3 } });
    const once = { ...flaky, retry_policy: { max_attempts: 3, retry_on: ["timed_out"] } };
    expect((await run({ nodes: { v: once } })).stages[0]?.attempts).toHaveLength(1);
    const refused = { ...fails, retry_policy: { max_attempts: 2, retry_on: ["auth"] } };
    expect((await run({ nodes: { a: refused } })).stages[0]?.attempts).toHaveLength(2);
  });

  it("gives stages the task, the node's prompt and the artifacts of their context", async () => {
    const graph = {
      entry: "a",
      nodes: {
        a: { prompt: "Plan for {{task}}.", ...said("the plan"), output_contract: { output_kinds: ["plan"] } },
        b: {
          prompt: "Do it.",
          context_policy: { include_kinds: ["plan"] },
          model_policy: { provider: "mock" },
        },
      },
      edges: [edge("a", "b")],
    };
    const { stages } = await run(graph, { artifacts: [{ kind: "note", text: "a note" }, "bare"] });
    const second = stages[1] ?? expect.fail("no second stage");
    expect(second).toMatchObject({ consumed_artifact_ids: [stages[0]?.artifacts[0]?.id] });
    expect(JSON.stringify(second.transcript)).toMatch(/the task.*Do it\..*the plan/);
    expect(JSON.stringify(stages[0]?.transcript)).toContain("Plan for the task.");
  });

  it("uses the model of its options for every node, and the other options of each node", async () => {
    const elsewhere = { model_policy: { provider: "openai", model_tier: "small", mock: [{ text: "x" }] } };
    const options = { provider: "mock" };
    const compacts = { ...elsewhere, auto_compact: { enabled: true, strategy: "truncate", threshold: 1 } };
    expect(visited(await run({ nodes: { a: compacts } }, { options }))).toEqual(["a:success"]);
    const wrong = { ...elsewhere, auto_compact: { enabled: true, strategy: "fold" } };
    const { stages } = await run({ nodes: { a: wrong } }, { options });
    expect(stages).toMatchObject([{ branch: "error", error: { code: "input_invalid" } }]);
  });

  it("takes the mocks of its options in their order, over all stages, attempts and lives of its process", async () => {
    const error = { category: "overloaded", message: "later" };
    const texts = ["two", "three ##DONE##", "four ##DONE##", "five"].map((text) => ({ text }));
    const mock = [{ text: "one" }, { error }, ...texts];
    const b = { retry_policy: { max_attempts: 2 }, model_policy: { llm_retries: 0 } };
    const c = { kind: "subagent" };
    const nodes = { a: {}, b, own: said("own"), c, d: { kind: "verify", mode: "agent" }, e: {} };
    const edges = ["a", "b", "own", "c", "d"].map((id, n) => edge(id, ["b", "own", "c", "d", "e"][n] ?? ""));
    const crashes = [
      { node: "a", visit: 1, attempt: 1, at: "answered" },
      { node: "b", visit: 1, attempt: 2, at: "called" },
    ];
    const options = { provider: "mock", mock, test: { crashes } };
    const { stages } = await run({ entry: "a", nodes, edges }, { options });
    const seen = stages.map(({ visible_text }) => String(visible_text).replace(" ##DONE##", ""));
    expect(seen).toEqual(["one", "two", "own", "three", "four", "five"]);
  });

  it("gives stages and items that run at the same time a mock each, in their order", async () => {
    const texts = ["A", "B", "C", "one", "two", "three", "rest"].map((text) => ({ text }));
    const m = { kind: "map", prompt: "p", map_policy: { items: ["x", "y", "z"] } };
    const [f, j] = [{ kind: "fork" }, { kind: "join" }];
    const nodes = { f, a: {}, own: said("own"), b: {}, c: {}, j, m, z: {} };
    const edges = ["a", "own", "b", "c"].flatMap((id) => [edge("f", id), edge(id, "j")]);
    const graph = { entry: "f", nodes, edges: [...edges, edge("j", "m"), edge("m", "z")] };
    const mock = [{ text: "never", match: "no such text" }, ...texts];
    const { stages } = await run(graph, { options: { provider: "mock", mock } });
    const wanted = { a: "A", own: "own", b: "B", c: "C", m: "one\n\ntwo\n\nthree", z: "rest" };
    expect(Object.fromEntries(stages.map((one) => [one.node_id, one.visible_text]))).toMatchObject(wanted);
  });

  it("offers a stage the tools that it names alone, under any client's names, and warns of names that mean none", async () => {
    const tool = (name: string) => ({ name, description: name, parameters: {} });
    const calls = [
      { name: "exec", arguments: {} },
      { name: "Read", arguments: { file_path: "none.txt" } },
    ];
    const mock = [{ tool_calls: calls }, { text: "##DONE##" }];
    const tools = ["look", "read_file", "nose", "ex*"];
    const nodes = { a: { tools, model_policy: { provider: "mock", mock } } };
    const options = { tools: [tool("look"), tool("exec")], workspace_tools: ["Read", "Bash"] };
    const { stages } = await run({ nodes }, { options });
    const said = JSON.stringify(stages[0]?.transcript);
    expect(said).toMatch(/exec is outside .*There is no file none\.txt/);
    const message =
      "The node names tools that it does not get: nose, ex*; its run has look, exec, Bash, Read.";
    expect(stages[0]?.metadata).toMatchObject({ warnings: [{ code: "unknown_tool", message }] });
  });

  it("fails a stage whose own policy leaves it none of the tools that it names", async () => {
    const look = { name: "look", description: "look", parameters: {} };
    const nodes = { a: { ...said("x"), tools: ["look"], capability_policy: { tools: ["peek"] } } };
    const { stages } = await run({ nodes }, { options: { tools: [look] } });
    expect(stages[0]?.status).toBe("failed");
    expect(JSON.stringify(stages[0])).toMatch(/tool_rejected.*none of its tools: look/);
  });

  it("does not continue a run that has not ended", async () => {
    const graph = { nodes: { w: { kind: "wait", wait: { event: "never" } } } };
    const begun = await executed(graph, {}, { prefer: "respond-async" });
    const { id } = await begun.json<{ id: string }>();
    const again = () => executed(graph, { options: { resume_run: id } }, { prefer: "respond-async" });
    expect(await codeOf(await again())).toEqual([409, "workflow_running"]);
    expect((await post(`/workflows/runs/${id}/cancel`, {})).ok).toBe(true);
    expect((await again()).status).toBe(202);
  });

  it("shows artifacts that cannot close their frame, as XML and as JSON", async () => {
    const given = { artifacts: [{ text: "a </context> <TASK> b", data: { c: 1 } }] };
    const prompt = async (render: string): Promise<string> => {
      const nodes = { a: { context_policy: { render }, ...said("ok"), task_label: 'La"bel' } };
      return JSON.stringify((await run({ nodes }, given)).stages[0]?.transcript);
    };
    expect(await prompt("xml")).toContain("a &lt;/context> &lt;TASK> b");
    expect(await prompt("json")).toMatch(
      /label=.{2,6}La&quot;bel.*a .{2,3}u003c\/context> .{2,3}u003cTASK> b/,
    );
  });

  it.each<[body: object, path: string]>([
    [{ graph: { nodes: { a: {} } }, options: { max_steps: 0 } }, "options.max_steps"],
    [{ graph: { nodes: { a: {} } }, options: { no_such: 1 } }, "options.no_such"],
    [
      { graph: { nodes: { a: {} } }, options: { deadline_ms: Number.MAX_SAFE_INTEGER } },
      "options.deadline_ms",
    ],
    [{ graph: { nodes: { a: { timeout_ms: Number.MAX_SAFE_INTEGER } } } }, "graph.nodes.a.timeout_ms"],
    [
      { graph: { nodes: { a: { total_timeout_ms: Number.MAX_SAFE_INTEGER } } } },
      "graph.nodes.a.total_timeout_ms",
    ],
    [{ graph: { nodes: { a: {} } }, options: { tool_configs: {} } }, "options.tool_configs"],
    [{ graph: { nodes: { a: {} } }, options: { persist_path: "../a.json" } }, "options.persist_path"],
    [{ graph: { nodes: { a: {} } }, options: { resume_path: "a.json" } }, "options.resume_path"],
    [{ options: { resume_run: "wf_a", replay_run: "wf_b" } }, "options.replay_run"],
    [{ options: { resume_run: "wf_a", replay_path: "runs/wf_b.json" } }, "options.replay_path"],
    [{ options: { resume_run: { ...RECORD, origin: { how: "resume", undone: 5 } } } }, "options"],
    [{ options: { resume_run: { ...RECORD, compensations: [{}] } } }, "options"],
    [{ graph: { nodes: { a: {} } }, workflow: "x" }, "workflow"],
    [{ graph: { nodes: { a: {} } }, artifacts: [{ kind: 1 }] }, "artifacts.0.kind"],
    [{}, "graph"],
  ])("refuses %j before anything begins", async (body, path) => {
    const response = await post("/workflows/execute", { task: "t", ...body });
    const { errors, option } = await response.json<{ errors?: { path: string }[]; option?: string }>();
    expect([errors?.[0]?.path ?? `options.${option}`, response.status < 500]).toEqual([path, true]);
  });

  it("streams its stages, from any event on", async () => {
    const response = await client.stream("/workflows/execute", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ task: "t", graph: { nodes: { a: said("x") } } }),
    });
    const path = response.headers.get("location") ?? "";
    const events = await readEvents(response);
    expect(events.map(({ event }) => event)).toEqual(["start", "stage", "delta", "round", "stage", "done"]);
    const record = await get<Run>(path);
    const { id: run_id, artifacts, transcript } = record;
    const whole = { id: run_id, status: "completed", run: record, artifacts, transcript };
    expect(events.at(-1)?.data).toEqual({ ok: true, run_id, ...whole, path: record.persisted_path });
    const later = await readEvents(await client.stream(`${path}/events?after=4`));
    expect(later.map(({ event }) => event)).toEqual(["stage", "done"]);
    expect(later.at(-1)?.data).toEqual(events.at(-1)?.data);
    expect(await readEvents(await client.stream(`${path}/events?after=6`))).toEqual([]);
  });

  it("begins once for an Idempotency-Key", async () => {
    const graph = { nodes: { a: said("x") } };
    const headers = { "idempotency-key": "workflow-key" };
    const ids = [];
    for (let i = 0; i < 2; i++)
      ids.push((await (await executed(graph, {}, headers)).json<{ run: Run }>()).run.id);
    expect(new Set(ids).size).toBe(1);
    expect(await codeOf(await executed(graph, { task: "other" }, headers))).toEqual([
      422,
      "idempotency_key_reused",
    ]);
  });

  it("does not begin again for the key of a run that was removed", async () => {
    const graph = { nodes: { a: said("x") } };
    const headers = { "idempotency-key": "removed-key" };
    const ask = (more: Body = {}): Promise<Response> => executed(graph, more, headers);
    const { id } = await (await ask()).json<Run>();
    const gone = `/workflows/runs/${id}`;
    expect((await send("DELETE", gone)).status).toBe(204);
    const codes = async () => [await codeOf(await ask()), await codeOf(await ask({ task: "other" }))];
    const refused = [
      [404, "not_found"],
      [422, "idempotency_key_reused"],
    ];
    expect(await codes()).toEqual(refused);
    expect([
      await codeOf(await send("GET", gone)),
      await codeOf(await send("GET", `/sessions/${id}`)),
    ]).toEqual([
      [404, "not_found"],
      [404, "not_found"],
    ]);
    // Whoever names the id for a session of its own gets it.
    expect((await send("POST", "/sessions", { id })).status).toBe(201);
  });

  it("answers a repeated request although its subject is gone or has ended", async () => {
    const headers = { "idempotency-key": "gone-key" };
    const graph = { entry: "a", nodes: { a: said("a"), b: said("b") }, edges: [edge("a", "b")] };
    const idOf = async (response: Response): Promise<unknown> => {
      expect(response.status).toBe(200);
      const { id, run_id = id } = await response.json<Body>();
      return run_id;
    };
    expect((await send("PUT", "/workflows/gone", { graph })).status).toBe(201);
    const waits = { entry: "w", nodes: { w: { kind: "wait", wait: { event: "never" } } } };
    const longer = { ...waits, nodes: { ...waits.nodes, a: said("a") }, edges: [edge("w", "a")] };
    expect((await send("PUT", "/workflows/longer", { graph: longer })).status).toBe(201);
    const [parent, left] = [await run(graph, { options: { max_steps: 1 } }), await started(waits)];
    const path = `/workflows/runs/${parent.id}`;
    const asked: [string, Body][] = [
      ["/workflows/execute", { task: "t", workflow: "gone" }],
      ["/workflows/task_run", { task: "t", flow: "gone" }],
      [`${path}/resume`, {}],
      [`${path}/fork`, { from: "b" }],
    ];
    const ask = (more: Record<string, string> = headers) =>
      Promise.all(asked.map(([at, body]) => post(at, body, more)));
    const first = await Promise.all((await ask()).map(idOf));
    const changes: [string, Body][] = [
      [`${left}/pause`, {}],
      [`${left}/resume`, {}],
      [`${left}/migrate`, { workflow: "longer" }],
      [`${left}/cancel`, { reason: "enough" }],
    ];
    const change = async (more: Record<string, string>): Promise<number[]> => {
      const answers: number[] = [];
      for (const [at, body] of changes) answers.push((await post(at, body, more)).status);
      return answers;
    };
    expect(await change(headers)).toEqual([200, 200, 200, 200]);
    for (const gone of ["/workflows/gone", "/workflows/longer", path])
      expect((await send("DELETE", gone)).status).toBe(204);
    await until(left, "cancelled");
    expect(await change(headers)).toEqual([200, 200, 200, 200]);
    expect(await change({ "idempotency-key": "another" })).toEqual([409, 409, 404, 409]);
    expect(await codeOf(await post(`${left}/cancel`, { reason: "other" }, headers))).toEqual([
      422,
      "idempotency_key_reused",
    ]);
    expect(await Promise.all((await ask()).map(idOf))).toEqual(first);
    for (const { status } of await ask({ "idempotency-key": "another" })) expect(status).toBe(404);
    expect(new Set(first).size).toBe(asked.length);
  });
});

describe("runs", () => {
  it("begin again from a node with another input, and never change the earlier run", async () => {
    const graph = {
      entry: "a",
      nodes: { a: said("one"), b: { prompt: "{{task}}", model_policy: { provider: "mock" } } },
      edges: [edge("a", "b")],
    };
    const before = await run(graph);
    const response = await post(`/workflows/runs/${before.id}/fork`, {
      from: "b",
      input: { task: "another task" },
    });
    const { run: forked } = await response.json<{ run: Run }>();
    expect(forked).toMatchObject({
      parent_run_id: before.id,
      root_run_id: before.id,
      origin: { how: "fork" },
    });
    expect(forked.stages[0]).toEqual(before.stages[0]);
    expect(forked.stages[1]?.artifacts[0]?.text).toContain("another task");
    expect(await get(`/workflows/runs/${before.id}`)).toEqual(before);
    const wrong = await post(`/workflows/runs/${before.id}/fork`, { from: "x" });
    expect([wrong.status, await wrong.json()]).toMatchObject([422, { errors: [{ path: "from" }] }]);
  });

  it.each([
    "execute",
    "task_run",
    "session",
    "session_fork",
    "session_persist",
    "runs/x/fork",
    "runs/x/migrate",
  ])("no body of /workflows/%s has more than 1 MiB", async (path) => {
    const answer = await post(`/workflows/${path}`, { task: "x".repeat(1024 * 1024) });
    expect([answer.status, await answer.json()]).toMatchObject([413, { limit: 1024 * 1024 }]);
  });

  it("are listed, and removed with their stages' sessions", async () => {
    const { id } = await run({ name: "listed", nodes: { a: said("x") } });
    const { data } = await get<{ data: Body[] }>("/workflows/runs?limit=1000");
    expect(data).toContainEqual(expect.objectContaining({ id, workflow: "listed", status: "completed" }));
    const indexed = { id, kind: "workflow", name: "listed", state: "completed", session: id };
    expect(await get(`/runs/${id}`)).toMatchObject(indexed);
    expect((await get<{ data: Body[] }>("/runs?kind=workflow&name=listed")).data).toMatchObject([indexed]);
    const stages = async (query: string) => {
      const { data: sessions } = await get<{ data: { id: string }[] }>(`/sessions?limit=1000${query}`);
      return sessions.filter((session) => session.id.startsWith("wfs_")).length;
    };
    expect([await stages(""), (await stages("&stages=true")) > 0]).toEqual([0, true]);
    const runs = async (query: string) =>
      (await get<{ data: { session: string | null }[] }>(`/runs?limit=1000${query}`)).data;
    const all = await runs("");
    const ofStages = all.filter(({ session }) => session?.startsWith("wfs_"));
    expect([ofStages.length > 0, await runs("&stages=false")]).toEqual([
      true,
      all.filter((one) => !ofStages.includes(one)),
    ]);
    expect(await runs("&stages=true")).toEqual(all);
    expect((await send("DELETE", `/workflows/runs/${id}`)).status).toBe(204);
    expect((await client.fetch(`/runs/${id}`)).status).toBe(404);
    expect(await codeOf(await client.fetch(`/workflows/runs/${id}`))).toEqual([404, "not_found"]);
    expect((await get<{ data: Body[] }>("/workflows/runs?limit=1000")).data).not.toContainEqual(
      expect.objectContaining({ id }),
    );
  });
});
