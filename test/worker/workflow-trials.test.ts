/** Graphs that are tried: the process dies where their author wants it to, and commands are mocked. */
import { runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { sessionObject } from "../../src/run/session-client.ts";
import { Rows } from "../../src/session/conversation/rows.ts";
import { readEvents } from "../support/sse.ts";
import { edge, said } from "../support/workflow-graphs.ts";
import { bindings } from "./file-bindings.ts";
import { Client, LOCAL } from "./served.ts";
import { type Body, client, get, post } from "./session-client.ts";
import { executed, type Run, run, started } from "./workflow-client.ts";

interface Trial {
  crashed: Body[];
  unmet: { crashes: Body[]; mocks: Body[]; approvals: string[]; signals: Body[] };
}
const trialOf = ({ test }: Run): Trial => JSON.parse(JSON.stringify(test));

/** A fork, a map, a retry with a backoff of an hour, a command, a sub-agent, a person. */
const GRAPH = {
  entry: "f",
  nodes: {
    f: { kind: "fork" },
    m: { kind: "map", prompt: "work", map_policy: { items: ["a", "b"] }, ...said("mapped") },
    t: { prompt: "try", retry_policy: { max_attempts: 2, backoff_ms: 3_600_000 } },
    j: { kind: "join" },
    v: { kind: "verify", verify: { command: "make test", expect_text: "all green" } },
    s: { kind: "subagent", ...said("delegated ##DONE##") },
    w: { kind: "wait", wait: { approval: "Go on?" } },
    r: { kind: "reduce" },
  },
  edges: [
    edge("f", "m"),
    edge("f", "t"),
    edge("m", "j"),
    edge("t", "j"),
    edge("j", "v"),
    edge("v", "s", "passed"),
    edge("s", "w"),
    edge("w", "r"),
  ],
};
const TEST = {
  virtual_time: true,
  mocks: {
    t: [[{ error: { category: "auth", message: "no" } }], [{ text: "second" }]],
    v: [{ output: "all green\n" }],
  },
  approvals: { w: "approve" },
};
const tried = (crashes: object[]): Promise<Run> => run(GRAPH, { options: { test: { ...TEST, crashes } } });

/** What is the same in every run of the graph: its record, and its events. */
const outcomeOf = async ({ id, status, stages, usage, transitions, artifacts }: Run) => ({
  status,
  stages: stages.map(({ node_id, branch, attempts }) => `${node_id}:${branch}:${attempts.length}`).toSorted(),
  texts: artifacts.map(({ text }) => text).toSorted(),
  calls: JSON.parse(JSON.stringify(usage)).call_count,
  transitions: JSON.parse(JSON.stringify(transitions)).length,
  told: (await readEvents(await client.fetch(`/workflows/runs/${id}/events?after=0`)))
    .filter(({ event }) => ["start", "stage", "delta", "done"].includes(event))
    .map(({ event, data: { node_id, attempt, item, status: now, text } }) =>
      [event, node_id, attempt, item, now, text].join(" "),
    )
    .toSorted(),
});

let undisturbed: object;
beforeAll(async () => {
  undisturbed = await outcomeOf(await tried([]));
});

/** What the journal has in a row after a crash: a process that has died stores nothing. */
function afterCrashes(id: string): Promise<{ type: string }[]> {
  return runInDurableObject(sessionObject({ env: bindings, tenant: "default" }, id), (_, { storage }) =>
    [...new Rows<{ type: string } | { type: string }[]>(storage.sql, "journal").after(0)].flatMap((row) => {
      const records = row.ok ? [row.value].flat() : [];
      const crash = records.findIndex(({ type }) => type === "crashed");
      return crash === -1 ? [] : records.slice(crash).filter(({ type }) => type !== "crashed");
    }),
  );
}

const places = ["begun", "called", "answered", "settled"];

describe("a process that dies where the author wants it to", () => {
  const points = [
    { node: "f", at: "settled" },
    ...places.map((at) => ({ node: "m", at })),
    ...places.map((at) => ({ node: "m", item: 1, at })),
    ...places.map((at) => ({ node: "t", at })),
    ...places.map((at) => ({ node: "t", attempt: 2, at })),
    ...places.map((at) => ({ node: "v", at })),
    ...places.map((at) => ({ node: "s", at })),
    { node: "w", at: "begun" },
    { node: "w", at: "settled" },
    { node: "r", at: "settled" },
  ];

  it.each(places)("loses nothing and repeats nothing: %s", async (at) => {
    const wanted = points.filter((point) => point.at === at);
    const never = [
      { node: "t", attempt: 3, at: "begun" },
      { node: "m", at: "called", item: 7 },
    ];
    const done = await tried([...wanted, ...never]);
    expect(await outcomeOf(done)).toEqual(undisturbed);
    const { crashed, unmet } = trialOf(done);
    const full = (point: object) => ({ visit: 1, attempt: 1, ...point });
    expect(crashed).toHaveLength(wanted.length);
    expect(crashed).toEqual(expect.arrayContaining(wanted.map(full)));
    expect(unmet).toEqual({ crashes: never.map(full), mocks: [], approvals: [], signals: [] });
    expect(await afterCrashes(done.id)).toEqual([]);
  });

  it("is waited for until the end, however often it dies", async () => {
    const path = await started(GRAPH, { options: { test: { ...TEST, crashes: points } } });
    const done = await get<Run>(`${path}?wait=terminal`);
    expect(await outcomeOf(done)).toEqual(undisturbed);
    expect(trialOf(done).crashed).toHaveLength(points.length);
  });
});

describe("a compensation", () => {
  it("undoes its stage once, wherever its process dies", async () => {
    const graph = {
      entry: "a",
      nodes: {
        a: { ...said("did"), compensation: "u" },
        w: { kind: "wait", wait: { event: "never", timeout_ms: 7_200_000 } },
        u: { kind: "verify", verify: { command: "undo" } },
      },
      edges: [edge("a", "w")],
    };
    const crashes = places.map((at) => ({ node: "u", at }));
    const test = { virtual_time: true, mocks: { u: [{ output: "undone" }] }, crashes };
    const done = await run(graph, { options: { test, deadline_ms: 3_600_000 } });
    expect(done).toMatchObject({
      status: "failed",
      error: { code: "deadline_exceeded" },
      compensations: [{ node_id: "u", visible_text: "undone", attempts: [{}] }],
      uncompensated: [],
    });
    expect(trialOf(done)).toMatchObject({ crashed: [{}, {}, {}, {}], unmet: { crashes: [], mocks: [] } });
  });
});

describe("a command of a verify node", () => {
  const check = { kind: "verify", verify: { command: "make test", expect_text: "green" } };
  const checked = (mocks: object[], more: object = {}) =>
    run(
      { nodes: { v: { ...check, ...more } } },
      { options: { test: { virtual_time: true, mocks: { v: mocks } } } },
    );

  it.each<[what: string, mocks: object[], branch: string, verification: object, text: string]>([
    ["that ends well", [{ output: "all green" }], "passed", { ok: true, exit_status: 0 }, "all green"],
    ["that says something else", [{ output: "red" }], "failed", { ok: false, exit_status: 0 }, "red"],
    ["that fails", [{ exit_code: 2, output: "green?" }], "failed", { exit_status: 2 }, "green?"],
    ["that does not end by itself", [{ exit_code: null }], "failed", { exit_status: null }, ""],
  ])("is one %s", async (_, mocks, branch, verification, visible_text) => {
    const done = await checked(mocks);
    expect(done.stages).toMatchObject([{ branch, verification, visible_text }]);
    expect(trialOf(done).unmet.mocks).toEqual([]);
  });

  it("is checked by what it printed, and reported with how it ended", async () => {
    const says = (expect_text: string) => ({
      verify: { command: "make test", expect_text, expect_status: 2 },
    });
    const end = { exit_code: 2, output: "red" };
    const { stages, artifacts } = await checked([end], says("exit code 2"));
    expect([stages[0]?.branch, artifacts[0]?.text]).toEqual(["failed", "red\nexit code 2"]);
    expect((await checked([end], says("red"))).stages[0]?.branch).toBe("passed");
    const silent = { verify: { command: "true", expect_text: "no output" } };
    expect((await checked([{}], silent)).stages).toMatchObject([{ branch: "failed", visible_text: "" }]);
  });

  it("has an answer for each attempt, and reports unused ones", async () => {
    const retry = { retry_policy: { max_attempts: 5, backoff_ms: 60_000 } };
    const done = await checked([[{ exit_code: 1 }], [{ output: "green" }], [{ output: "never" }]], retry);
    expect(done.stages).toMatchObject([{ branch: "passed", attempts: [{}, {}] }]);
    expect(trialOf(done).unmet.mocks).toEqual([{ node: "v", attempt: 3 }]);
  });

  it("stays within the policy of its graph", async () => {
    const done = await checked([{}], { capability_policy: { side_effect_level: "read_only" } });
    expect(done.stages).toMatchObject([{ error: { code: "tool_rejected" } }]);
  });

  it.each<[what: string, policy: object]>([
    ["lets tools start no process", { side_effect_level: "read_only" }],
    ["blocks Bash", { blocked_tools: ["Bash"] }],
    ["does not name Bash among its tools", { tools: ["Read"] }],
  ])("attack: does not run where [policy] of hull.toml %s", async (_, policy) => {
    const bounded = new Client({ ...LOCAL, HULL_CONFIG: JSON.stringify({ policy }) });
    const options = { test: { virtual_time: true, mocks: { v: [{ output: "green" }] } } };
    const answer = await bounded.post("/workflows/execute", {
      task: "t",
      graph: { nodes: { v: check } },
      options,
    });
    const { run: done } = await answer.json<{ run: Run }>();
    expect(done.stages).toMatchObject([{ error: { code: "tool_rejected" } }]);
  });
});

describe("a run that reports unused decisions", () => {
  it("names approvals that no node requested and signals that no node took", async () => {
    const nodes = {
      c: { kind: "condition" },
      w: { kind: "wait", wait: { approval: "Go on?" } },
      e: { kind: "wait", wait: { event: "paid" } },
    };
    const edges = [edge("c", "w", "true"), edge("c", "e", "false")];
    const signals = [{ name: "paid" }, { name: "sent", key: "k" }];
    const done = await run(
      { entry: "c", nodes, edges },
      { options: { test: { approvals: { w: "deny" }, signals } } },
    );
    expect(trialOf(done).unmet).toEqual({
      crashes: [],
      mocks: [],
      approvals: ["w"],
      signals: [{ name: "sent", key: "k" }],
    });
    expect(await run({ nodes: { c: { kind: "escalation" } } })).toMatchObject({ test: null });
  });

  it.each<[test: object, path: string]>([
    [{ crashes: [{ node: "x", at: "begun" }] }, "crashes.0.node"],
    [{ crashes: [{ node: "f", at: "begun" }] }, "crashes.0.at"],
    [{ crashes: [{ node: "w", at: "called" }] }, "crashes.0.at"],
    [{ crashes: [{ node: "t", at: "begun", item: 1 }] }, "crashes.0.item"],
    [{ crashes: [{ node: "t", at: "later" }] }, "crashes.0.at"],
    [{ mocks: { f: [] } }, "mocks.f"],
    [{ mocks: { v: [{ text: "x" }] } }, "mocks.v"],
    [{ mocks: { v: [[{}], [{}, {}]] } }, "mocks.v.1"],
    [{ mocks: { t: [{ txt: "x" }] } }, "mocks.t.0.txt"],
    [{ approvals: { x: "deny" } }, "approvals.x"],
  ])("refuses %j", async (test, path) => {
    const response = await executed(GRAPH, { options: { test } });
    expect([response.status, await response.json()]).toMatchObject([
      422,
      { errors: [{ path: `options.test.${path}` }] },
    ]);
  });

  it("says why a node takes no mocks", async () => {
    const response = await executed(GRAPH, { options: { test: { mocks: { f: [] } } } });
    expect(await response.text()).toContain("a node of kind fork, which asks no model and runs no command");
  });
});

it("a run that takes over stages has the mocks that these left", async () => {
  const mock = ["one", "two", "three", "four"].map((text) => ({ text }));
  const edges = [edge("a", "b"), edge("b", "c")];
  const graph = { entry: "a", nodes: { a: {}, b: {}, c: {} }, edges };
  const texts = ({ stages }: Run) => stages.map(({ visible_text }) => visible_text);
  const first = await run(graph, { options: { provider: "mock", mock, max_steps: 2 } });
  expect([first.status, texts(first)]).toEqual(["paused", ["one", "two"]]);
  const next = async (to: string, body: object): Promise<Run> =>
    (await (await post(`/workflows/runs/${to}`, body)).json<{ run: Run }>()).run;
  const resumed = await next(`${first.id}/resume`, {});
  expect(texts(resumed)).toEqual(["one", "two", "three"]);
  expect(first.stages).toMatchObject([{ metadata: { mocks_used: [0] } }, { metadata: { mocks_used: [1] } }]);
  expect(texts(await next(`${first.id}/fork`, { from: "b" }))).toEqual(["one", "two", "three"]);
  expect(texts(await next(`${resumed.id}/fork`, { from: "c" }))).toEqual(["one", "two", "three"]);
  // Those of the stages that it does not take over come back, whichever run used them.
  const again = await next(`${resumed.id}/fork`, { from: "b" });
  expect(texts(again)).toEqual(["one", "two", "three"]);
  expect(texts(await next(`${again.id}/fork`, { from: "a" }))).toEqual(["one", "two", "three"]);
});
