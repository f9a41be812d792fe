/** What becomes of a workflow run: its events, its continuation, other graphs and skills. */
import { describe, expect, it } from "vitest";
import { readEvents } from "../support/sse.ts";
import { edge, said } from "../support/workflow-graphs.ts";
import { ASK, asking, type Body, client, codeOf, get, post, until } from "./session-client.ts";
import { executed, fails, type Run, run, started } from "./workflow-client.ts";

describe("the events of a run", () => {
  it("include the events of the runs inside, from any number on", async () => {
    const graph = {
      entry: "a",
      nodes: { a: said("one two"), s: { kind: "subagent", ...said("three ##DONE##") } },
      edges: [edge("a", "s")],
    };
    const path = await started(graph);
    const { id, child_runs } = await until<Run>(path, "completed");
    const events = await readEvents(await client.fetch(`${path}/events?after=0`));
    const place = (wanted: (data: Body) => boolean) => events.findIndex(({ data }) => wanted(data));
    const children = child_runs;
    expect(children).toHaveLength(2);
    for (const [i, { run_id }] of children.entries()) {
      const inside = events.filter(({ data }) => data.run_id === run_id);
      expect(inside.map(({ event }) => event)).toContain("delta");
      for (const { data } of inside) expect(data).toMatchObject({ parent_run_id: id });
      const ended = place(({ node_id, outcome }) => node_id === ["a", "s"][i] && outcome !== undefined);
      expect(events.findLastIndex(({ data }) => data.run_id === run_id)).toBeLessThan(ended);
    }
    expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(["task_update", "done"]));
    expect(events.filter(({ event }) => ["start", "done"].includes(event))).toHaveLength(2);
    for (const [i, { id: after }] of events.entries()) {
      const headers = { "last-event-id": after };
      const rest = await readEvents(await client.fetch(`${path}/events`, { headers }));
      expect(rest.map((event) => event.id)).toEqual(events.slice(i + 1).map((event) => event.id));
    }
  });
});

it("attack: lists show the beginning of a workflow's name, however long it is", async () => {
  const { id } = await run({ name: "x".repeat(5000), entry: "a", nodes: { a: said("one") }, edges: [] });
  const { data } = await get<{ data: Body[] }>("/workflows/runs");
  const name = "x".repeat(128);
  expect(data.find((row) => row.id === id)).toMatchObject({ workflow: name });
  expect(await get(`/runs/${id}`)).toMatchObject({ name });
});

it("a record says when something happened, and what tools answered", async () => {
  const model_policy = { provider: "mock", mock: [...asking, { text: "<done>##DONE##</done>" }] };
  const items = { items: ["a", "b"] };
  const graph = {
    entry: "ask",
    nodes: {
      ask: { tools: [ASK], model_policy },
      each: { kind: "map", map_policy: items, ...said("one") },
      bad: { retry_policy: { max_attempts: 2, backoff_ms: 1 }, ...fails },
    },
    edges: [edge("ask", "each"), edge("each", "bad")],
  };
  const path = await started(graph);
  const { active } = await waits(path);
  const session = String(active[0]?.child_session_ids[0]);
  await post(`/sessions/${session}/tool-results`, { tool_call_id: "mock_call_1", content: "x".repeat(3000) });
  const record = await until<Run & { trace_spans: Body[]; tool_recordings: Body[] }>(path, "completed");
  const { id, trace_spans: spans, tool_recordings } = record;
  const below = (parent: unknown) => spans.filter(({ parent_id }) => parent_id === parent);
  expect(below(null)).toMatchObject([{ span_id: id, kind: "workflow", start_ms: 0 }]);
  expect(below(id).map(({ kind, name }) => [kind, name])).toEqual([
    ["stage", "ask"],
    ["stage", "each"],
    ["stage", "bad"],
  ]);
  expect(below(`${id}:ask:1:1`).map(({ kind, name }) => [kind, name])).toMatchObject([
    ["model", expect.any(String)],
    ["tool", "ask"],
    ["model", expect.any(String)],
    ["model", expect.any(String)],
  ]);
  expect(below(`${id}:each:1`).map(({ span_id }) => span_id)).toEqual([
    `${id}:each:1:1:0`,
    `${id}:each:1:1:1`,
    `${id}:each:1:1`,
  ]);
  expect(below(`${id}:bad:1`)).toMatchObject([
    { kind: "attempt", metadata: { attempt: 1, status: "failed" } },
    { kind: "attempt", metadata: { attempt: 2, status: "failed" } },
  ]);
  const ends = new Map(spans.map((span) => [span.span_id, Number(span.start_ms) + Number(span.duration_ms)]));
  for (const { parent_id, span_id, start_ms } of spans) {
    if (parent_id === null) continue;
    const [from] = spans.filter(({ span_id: one }) => one === parent_id);
    expect(Number(start_ms)).toBeGreaterThanOrEqual(Number(from?.start_ms));
    expect(ends.get(span_id)).toBeLessThanOrEqual(ends.get(parent_id) ?? 0);
  }
  expect(tool_recordings).toEqual([
    {
      stage_id: `${id}:ask:1`,
      run_id: session.replace("wfs_", "run_"),
      tool_call_id: "mock_call_1",
      name: "ask",
      arguments: { q: "name?" },
      arguments_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      status: "ok",
      content: expect.stringMatching(/^x{2000}… \(3000 characters\)$/),
      at: expect.any(String),
      duration_ms: null,
    },
  ]);
  expect(record).not.toHaveProperty("trace_spans_left_out");
});

/** The record of a run, as soon as it says that something waits. */
async function waits(path: string) {
  for (;;) {
    const found = await get<{ explanation: string; active: { child_session_ids: string[] }[] }>(path);
    if (found.explanation.includes("waits")) return found;
  }
}

describe("a stage", () => {
  it.each(["stage", "subagent"])(
    "says where the run of a %s waits for a client or a person",
    async (kind) => {
      const model_policy = { provider: "mock", mock: asking };
      const path = await started({ nodes: { s: { kind, tools: [ASK], model_policy } } });
      const { explanation, active } = await waits(path);
      const session = String(active[0]?.child_session_ids[0]);
      expect(explanation).toBe(`s waits for a client to answer ask in the session ${session}.`);
      await post(`/sessions/${session}/tool-results`, { tool_call_id: "mock_call_1", content: "42" });
      const { stages } = await until(path, "completed");
      expect(stages).toMatchObject([{ attempts: [{ child_session_id: session }] }]);
    },
  );

  it("lets other requests through if it repeats without work, so that one can cancel the run", async () => {
    const edges = [edge("c", "c", "true"), edge("c", "c", "false")];
    const graph = { nodes: { c: { kind: "condition" } }, edges };
    const path = await started(graph, { options: { max_steps: 100_000 } });
    expect((await post(`${path}/cancel`, {})).status).toBe(200);
    await until(path, "cancelled");
  });

  it.each(["stage", "subagent"])("of kind %s may take as long as its run, also a month", async (kind) => {
    const options = { deadline_ms: 30 * 86_400_000 };
    const { stages } = await run({ nodes: { s: { kind, ...said("x") } } }, { options });
    expect(stages).toMatchObject([{ branch: "success", error: null }]);
  });

  it("works on all items again if its map has failed", async () => {
    const no = { error: { category: "auth", message: "no" } };
    const m = {
      kind: "map",
      prompt: "x",
      map_policy: { items: ["a", "b"] },
      retry_policy: { max_attempts: 2 },
    };
    const test = { mocks: { m: [[no], [{ text: "ok" }]] } };
    const { stages, artifacts } = await run({ nodes: { m } }, { options: { provider: "mock", test } });
    expect(stages).toMatchObject([{ attempts: [{ status: "failed" }, { status: "completed" }] }]);
    expect(artifacts.map(({ text }) => text)).toEqual(["ok", "ok"]);
  });

  it("records the reasoning of a stage's model, the model, and the policy in force", async () => {
    const nodes = {
      a: {
        ...said("x"),
        model_policy: { provider: "mock", mock: [{ text: "x", thinking: "hm", model: "m-1" }] },
        capability_policy: { tools: ["read", "exec"] },
      },
    };
    const { stages, usage } = await run({ nodes, capability_policy: { tools: ["read", "edit"] } });
    expect([stages[0], usage]).toMatchObject([
      { private_reasoning: "hm", metadata: { policy: { tools: ["read"] } } },
      { models: ["m-1"] },
    ]);
  });

  it("records why the model of a stage stopped, and what its result warns of", async () => {
    const model_policy = { provider: "mock", mock: [{ text: "Hal", stop_reason: "length" }] };
    const { stages } = await run({ nodes: { a: { ...said("x"), model_policy } } });
    expect(stages[0]?.metadata).toMatchObject({
      stop_reason: "max_tokens",
      warnings: [{ code: "answer_cut" }],
    });
  });

  it("fails a stage if the ceiling leaves it none of its tools", async () => {
    const nodes = { a: { ...said("x"), capability_policy: { tools: ["exec"] } } };
    const { stages } = await run({ nodes, capability_policy: { tools: ["read"] } });
    expect(stages).toMatchObject([
      { branch: "error", error: { code: "tool_rejected", message: expect.stringContaining("exec") } },
    ]);
  });

  it("shows long artifacts as far as the node's tokens go", async () => {
    const long = { id: "long", text: Array.from({ length: 9000 }, (_, i) => `line ${i}`).join("\n") };
    const nodes = { a: { ...said("x"), context_policy: { max_tokens: 1000, reserve_tokens: 200 } } };
    const { stages } = await run({ nodes }, { artifacts: [long, { id: "short", text: "a note" }] });
    expect(stages[0]?.consumed_artifact_ids).toEqual(["short", "long"]);
    const prompt = JSON.stringify(stages[0]?.transcript);
    expect(prompt).toContain("line 0");
    expect(prompt).not.toContain("line 4500");
  });

  it("fails a stage with inputs that break its contract", async () => {
    const { stages } = await run({ nodes: { a: { input_contract: { min_inputs: 1 }, ...said("x") } } });
    expect(stages).toMatchObject([
      {
        status: "failed",
        branch: "error",
        error: { code: "input_contract", message: expect.stringContaining('"a" needs at least 1') },
      },
    ]);
    const schema = { type: "object", required: ["n"], properties: { n: { type: "integer" } } };
    const nodes = { a: { input_contract: { schema }, ...said("x") } };
    const fits = async (artifact: object) => (await run({ nodes }, { artifacts: [artifact] })).stages[0];
    expect(await fits({ data: { n: 1 } })).toMatchObject({ branch: "success" });
    expect(await fits({ text: '{"n": 1}' })).toMatchObject({ branch: "success" });
    expect(await fits({ title: "Given", text: "none" })).toMatchObject({
      branch: "error",
      error: { code: "input_contract", message: expect.stringMatching(/"a".*"Given" does not/) },
    });
  });
});

describe("a run that tries a graph", () => {
  const graph = {
    entry: "a",
    nodes: {
      a: { retry_policy: { max_attempts: 3, backoff_ms: 3_600_000 } },
      night: { kind: "wait", wait: { sleep_ms: 8 * 3_600_000 } },
      paid: { kind: "wait", wait: { event: "paid", timeout_ms: 60_000 } },
      never: { kind: "wait", wait: { event: "never", timeout_ms: 60_000 } },
      ask: { kind: "wait", wait: { approval: "Go on?" } },
    },
    edges: [edge("a", "night"), edge("night", "paid"), edge("paid", "never"), edge("never", "ask")],
  };
  const no = [{ error: { category: "auth", message: "no" } }];

  it("has mocks by node and attempt, answers, and time that passes at once", async () => {
    const test = {
      virtual_time: true,
      mocks: { a: [no, no, [{ text: "third" }]] },
      approvals: { ask: "deny" },
      signals: [{ name: "paid", payload: 7 }],
    };
    const done = await run(graph, { options: { test } });
    expect(done.stages.map(({ node_id, branch, attempts }) => [node_id, branch, attempts.length])).toEqual([
      ["a", "success", 3],
      ["night", "success", 1],
      ["paid", "success", 1],
      ["never", "failed", 1],
      ["ask", "failed", 1],
    ]);
    expect(done.stages[0]?.artifacts[0]?.text).toBe("third");
    // Backoffs of one and two hours, a night, a minute.
    expect(Number(done.virtual_time_ms) / 60_000).toBeCloseTo(11 * 60 + 1, 0);
  });

  it("repeats a stage as often as it may, however long the waits become", async () => {
    const retry_policy = { max_attempts: 60, backoff_ms: 1001, backoff_multiplier: 2.1 };
    const { stages, virtual_time_ms } = await run(
      { nodes: { a: { ...fails, retry_policy } } },
      { options: { test: { virtual_time: true } } },
    );
    expect(stages).toMatchObject([{ attempts: { length: 60 }, error: { code: "provider_auth_failed" } }]);
    expect(virtual_time_ms).toSatisfy(Number.isInteger);
  });

  it("names what its graph lacks, and waits where only a person can let it continue", async () => {
    const wrong = await executed(graph, { options: { test: { mocks: { x: [] } } } });
    expect([wrong.status, await wrong.json()]).toMatchObject([
      422,
      { errors: [{ path: "options.test.mocks.x" }] },
    ]);
    const alone = { nodes: { w: { kind: "wait", wait: { event: "e" } } } };
    const path = await started(alone, { options: { test: { virtual_time: true }, deadline_ms: 3_600_000 } });
    expect(await until(path, "waiting")).toMatchObject({ virtual_time_ms: 0 });
    await post(`${path}/kill`);
  });
});

describe("another graph for a run", () => {
  const graph = {
    entry: "a",
    nodes: { a: said("one"), w: { kind: "wait", wait: { event: "go" } }, b: said("two") },
    edges: [edge("a", "w"), edge("w", "b")],
  };
  const { a, w, b } = graph.nodes;

  it("is taken where it fits, and decides what comes next", async () => {
    const path = await started(graph);
    const { id } = await until(path, "waiting");
    const wider = {
      ...graph,
      nodes: { ...graph.nodes, b: said("other"), c: said("three") },
      edges: [...graph.edges, edge("b", "c")],
    };
    const moved = await post(`${path}/migrate`, { graph: wider });
    expect([moved.status, await moved.json()]).toMatchObject([200, { id, status: "waiting" }]);
    await post(`${path}/signals`, { name: "go" });
    const done = await until<Run>(path, "completed");
    expect(done.stages.map(({ artifacts }) => artifacts[0]?.text ?? null)).toEqual([
      "one",
      null,
      "other",
      "three",
    ]);
    expect(await codeOf(await post(`${path}/migrate`, { graph }))).toEqual([409, "workflow_ended"]);
  });

  it.each<[what: string, nodes: object, edges: object[], paths: string[]]>([
    ["a node where it has been is missing", { w, b }, [edge("w", "b")], ["nodes.a"]],
    ["such a node is of another kind", { a: { kind: "reduce" }, w, b }, graph.edges, ["nodes.a.kind"]],
    [
      "the node under way is another one",
      { a, w: { kind: "wait", wait: { event: "come" } }, b },
      graph.edges,
      ["nodes.w"],
    ],
    ["an edge that it took is missing", { a, w, b }, [edge("a", "b"), edge("w", "b")], ["edges.a.w"]],
  ])("is refused where %s", async (_, nodes, edges, paths) => {
    const path = await started(graph);
    const before = await until(path, "waiting");
    const entry = "a" in nodes ? "a" : "w";
    const refused = await post(`${path}/migrate`, { graph: { entry, nodes, edges } });
    expect([refused.status, await refused.json()]).toMatchObject([
      409,
      { code: "workflow_misfit", errors: paths.map((at) => ({ path: at })) },
    ]);
    expect(await get(path)).toEqual(before);
  });
});

describe("a run that continues another one", () => {
  it("has its request's key, whatever others ask with it at the same time", async () => {
    const graph = { entry: "a", nodes: { a: said("a"), b: said("b") }, edges: [edge("a", "b")] };
    const parents = await Promise.all(
      ["one", "two"].map(async (content) => {
        const { id } = await run(graph, { options: { max_steps: 1 } });
        const put = (name: string) =>
          client.fetch(`/sessions/${id}/files/${name}`, { method: "PUT", body: `${content}${name}` });
        // Their copies take long enough that the other requests come in between.
        await Promise.all(["made", ...Array(30).keys()].map((name) => put(String(name))));
        return { id, content };
      }),
    );
    for (const [n, order] of [parents, parents.toReversed()].entries()) {
      const key = { "idempotency-key": `race-${n}` };
      const ask = ({ id }: { id: string }) => executed(graph, { options: { resume_run: id } }, key);
      const all = await Promise.all(order.map(ask));
      const answers = await Promise.all(
        all.map(async (one) => [one.status, await one.json<Body>()] as const),
      );
      expect(answers.map(([status]) => status).sort()).toEqual([200, 422]);
      const won = answers.findIndex(([status]) => status === 200);
      expect(answers[1 - won]?.[1].code).toBe("idempotency_key_reused");
      const file = await client.fetch(`/sessions/${answers[won]?.[1].id}/files/made`);
      expect(await file.text()).toBe(`${order[won]?.content}made`);
    }
  });

  it("has copies of its files, and a fork too", async () => {
    const graph = { entry: "a", nodes: { a: said("a"), b: said("b") }, edges: [edge("a", "b")] };
    const first = await run(graph, { options: { max_steps: 1 } });
    const file = (id: unknown, init?: RequestInit) =>
      client.fetch(`/sessions/${id}/files/made/by-a.txt`, init);
    await file(first.id, { method: "PUT", body: "what a wrote" });
    const key = { "idempotency-key": "again" };
    const path = `/workflows/runs/${first.id}`;
    const later = [
      () => executed(graph, { options: { resume_run: first.id } }, key),
      () => executed(graph, { options: { resume_run: first } }),
      () => post(`${path}/resume`, {}),
      () => post(`${path}/fork`, { from: "b" }, key),
    ];
    const runs = await Promise.all(later.map(async (go) => (await go()).json<Run>()));
    expect(runs.map(({ status }) => status)).toEqual(later.map(() => "completed"));
    // A key counts for one route.
    expect(new Set(runs.map(({ id }) => id)).size).toBe(later.length);
    const [on, , , fork] = runs;
    for (const { id } of runs) expect(await (await file(id)).text()).toBe("what a wrote");
    await file(fork?.id, { method: "PUT", body: "changed" });
    expect(await (await file(first.id)).text()).toBe("what a wrote");
    // The same request again is the same run, and a record whose run is gone has no files.
    for (const [n, id] of [
      [0, on?.id],
      [3, fork?.id],
    ] as const) {
      const again = await later[n]?.();
      expect(again?.headers.get("x-hull-replayed")).toBe("1");
      expect(await again?.json()).toMatchObject({ id });
    }
    expect(await (await file(fork?.id)).text()).toBe("changed");
    await client.fetch(path, { method: "DELETE" });
    const without = await run(graph, { options: { resume_run: first } });
    expect([without.status, (await file(without.id)).status, (await file(on?.id)).status]).toEqual([
      "completed",
      404,
      200,
    ]);
  });
});

describe("a replay", () => {
  it("repeats every kind of stage as it was recorded, without waiting, asking or trying again", async () => {
    const graph = {
      entry: "f",
      nodes: {
        f: { kind: "fork" },
        m: { kind: "map", prompt: "do", map_policy: { items: ["a", "b"] }, ...said("done") },
        flaky: { ...fails, retry_policy: { max_attempts: 2, backoff_ms: 1 } },
        ask: { kind: "wait", wait: { approval: "Go on?" } },
        v: { kind: "verify", verify: { command: "make test" } },
        r: { kind: "reduce" },
        c: { kind: "condition" },
        end: said("ended"),
      },
      edges: [
        edge("f", "m"),
        edge("f", "flaky"),
        edge("flaky", "ask"),
        edge("ask", "v"),
        edge("v", "r"),
        edge("r", "c"),
        edge("c", "end", "true"),
        edge("c", "end", "false"),
      ],
    };
    const test = { approvals: { ask: "approve" }, mocks: { v: [{ output: "green" }] } };
    const whole = await run(graph, { options: { test } });
    expect(whole).toMatchObject({ status: "completed", stages: { length: 8 } });
    const again = await run(graph, { options: { replay_run: whole.id } });
    const told = ({ stages }: Run) =>
      stages.map(({ node_id, outcome, visible_text, usage, artifacts, verification }) => {
        return { node_id, outcome, visible_text, usage, artifacts, verification };
      });
    expect(told(again)).toEqual(told(whole));
    expect(again.artifacts).toEqual(whole.artifacts);
  });
});

describe("a skill's workflow", () => {
  const skill = (body: string) => ({
    "SKILL.md": `---\nname: flows\ndescription: d\nmode: llm\nprovider: mock\n---\n${body}\n`,
    "workflows/ask.yaml": [
      "entry: w",
      "nodes:",
      "  w: {kind: wait, wait: {event: go}}",
      "  a: {model_policy: {provider: mock, skill: flows}}",
      "edges: [{from: w, to: a}]",
    ].join("\n"),
  });

  it("is listed, shown and run by its name; a run keeps the skills that it began with", async () => {
    const judge = "---\nname: flow-judge\ndescription: d\ncontext: agent\n---\nJudge.\n";
    await client.publish({ flows: skill("End with <done>. Ask the flow-judge."), "flow-judge": judge });
    const listed = await get<{ data: Body[] }>("/workflows?limit=1000");
    const entry = { name: "flows/ask", version: null, created_at: null, digest: expect.any(String) };
    expect(listed.data).toEqual([entry]);
    expect(await get("/workflows/flows/ask")).toMatchObject({ ...entry, graph: { name: "ask", entry: "w" } });
    expect((await client.fetch("/workflows/flows/none")).status).toBe(404);

    const response = await post("/workflows/execute?wait=none", { task: "t", workflow: "flows/ask" });
    const path = response.headers.get("location") ?? "";
    const before = await until<Run>(path, "waiting");
    const digest = (await get<{ version: string }>("/skills/flows")).version;
    const agent = (await get<{ version: string }>("/skills/flow-judge")).version;
    expect(before.workflow_name).toBe("flows/ask");
    expect(before.skills).toEqual({ digests: { flows: digest, "flow-judge": agent } });

    await client.publish({ flows: skill("Just end.") });
    expect((await get<{ version: string }>("/skills/flows")).version).not.toBe(digest);
    await post(`${path}/signals`, { name: "go" });
    const after = await until<Run>(path, "completed");
    expect(after.skills).toEqual(before.skills);
    // The mock's answer shows which text the model got.
    const text = async () =>
      JSON.stringify(await run({ nodes: { a: { model_policy: { provider: "mock", skill: "flows" } } } }));
    expect([JSON.stringify(after), await text()].map((said) => said.includes("<done>"))).toEqual([
      true,
      false,
    ]);
  });
});
