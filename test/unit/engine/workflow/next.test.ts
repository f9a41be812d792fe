/** What a workflow run does next, decided from its journal alone. */
import { describe, expect, it } from "vitest";
import { completed } from "../../../../src/engine/workflow/outcomes.ts";
import type { JsonObject } from "../../../../src/skill/manifest.ts";
import { Play } from "./play.ts";

/** A fork into these nodes. */
const forked = (nodes: Record<string, JsonObject>) => ({
  entry: "fork",
  nodes: { fork: { kind: "fork" }, ...nodes },
  edges: Object.keys(nodes).map((to) => ({ from: "fork", to })),
});
const made = (id: string) =>
  completed("success", "success", {
    artifacts: [
      {
        _type: "artifact",
        id,
        kind: "artifact",
        title: id,
        text: id,
        data: null,
        source: null,
        created_at: "2026-01-01T00:00:00.000Z",
        freshness: null,
        priority: 0,
        lineage: [],
        relevance: null,
        estimated_tokens: 1,
        stage: null,
        metadata: {},
      },
    ],
  });

describe("nodes that pass artifacts on", () => {
  const text = "x".repeat(1024 * 1024);
  const artifacts = made("given").artifacts.map((one) => ({
    ...one,
    text,
    estimated_tokens: text.length / 4,
  }));

  // Each reduce joins the texts of all before it, so without a limit they double with every step.
  it.each<[what: string, node: JsonObject, more: object]>([
    ["a reduce", { kind: "reduce" }, {}],
    ["a map without work", { kind: "map", map_policy: { item_artifact_kind: "artifact" } }, { artifacts }],
  ])("%s that follows itself repeats only as far as a run may hold its artifacts", (_, node, more) => {
    const { state, status } = new Play({ nodes: { n: node }, edges: [{ from: "n", to: "n" }] }, more);
    expect([status, state.stages.at(-1)?.error?.code]).toEqual(["paused", "output_too_large"]);
    const held = state.artifacts.reduce((sum, one) => sum + (one.text ?? "").length, 0);
    expect([held > 2 * text.length, held <= 32 * text.length]).toEqual([true, true]);
  });
});

describe("parallel branches", () => {
  it("run as many at once as max_concurrent; the next begins when one has ended", () => {
    const play = new Play(forked({ a: {}, b: {}, c: {} }), { options: { max_concurrent: 2 } });
    expect(play.open).toEqual(["a", "b"]);
    expect(play.end("b").open).toEqual(["a", "c"]);
  });

  it("a node that waits, and one between two attempts, take no place", () => {
    const graph = forked({
      w: { kind: "wait", wait: { event: "go" } },
      r: { retry_policy: { max_attempts: 2, backoff_ms: 1000 } },
      a: {},
      b: {},
    });
    const play = new Play(graph, { options: { max_concurrent: 1 } });
    expect(play.open).toEqual(["r"]);
    expect(play.fail("r").open).toEqual(["a"]);
    expect(play.end("a").open).toEqual(["b"]);
  });

  it("run 8 at once if max_concurrent is absent", () => {
    const nodes = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`n${i}`, {}]));
    expect(new Play(forked(nodes)).open).toHaveLength(8);
  });
});

describe("steps", () => {
  it("max_steps counts stages, not attempts: the rest is ready for a resumption", () => {
    const nodes = { a: { retry_policy: { max_attempts: 2 } }, b: {}, c: {} };
    const edges = [
      { from: "a", to: "b" },
      { from: "b", to: "c" },
    ];
    const play = new Play({ entry: "a", nodes, edges }, { max_steps: 2 });
    play.fail("a").end("a#2").end("b");
    expect(play.status).toBe("paused");
    expect(play.state.ready).toEqual(["c"]);
  });

  it.each([
    [undefined, "completed"],
    [["failed"], "completed"],
    [["outcome_unknown"], null],
  ])(
    "a command that may have taken effect is repeated only if retry_on names that: %j",
    (retry_on, status) => {
      const retry_policy = { max_attempts: 2, ...(retry_on === undefined ? {} : { retry_on }) };
      const play = new Play({ nodes: { a: { retry_policy } } }).fail("a", "outcome_unknown");
      expect([play.status, play.open]).toEqual([status, status === null ? ["a#2"] : []]);
    },
  );

  it("the run takes the edge of the branch, else those without a branch; max_traversals bounds a loop", () => {
    const graph = {
      entry: "check",
      nodes: { check: {}, fix: {}, after: {} },
      edges: [
        { from: "check", to: "fix", branch: "failed" },
        { from: "check", to: "after" },
        { from: "fix", to: "check", max_traversals: 1 },
      ],
    };
    const play = new Play(graph).fail("check").end("fix").fail("check").end("fix");
    expect(play.status).toBe("completed");
    expect(play.stages).toEqual(["check failed", "fix success", "check failed", "fix success"]);
    const well = new Play(graph).end("check").end("after");
    expect(well.stages).toEqual(["check success", "after success"]);
  });
});

describe("joins", () => {
  const graph = (join_policy: JsonObject) => ({
    entry: "fork",
    nodes: { fork: { kind: "fork" }, a: {}, b: {}, c: {}, join: { kind: "join", join_policy }, end: {} },
    edges: [
      ...["a", "b", "c"].flatMap((id) => [
        { from: "fork", to: id },
        { from: id, to: "join" },
      ]),
      { from: "join", to: "end" },
    ],
  });

  it.each([
    [{}, 3],
    [{ strategy: "all" }, 3],
    [{ strategy: "first" }, 1],
    [{ strategy: "first", min_completed: 2 }, 1],
    [{ strategy: "quorum", min_completed: 2 }, 2],
    [{ strategy: "quorum", min_completed: 9 }, 3],
    [{ strategy: "first", require_all_inputs: true }, 3],
  ])("%j opens after %i of 3, once", (policy, needed) => {
    const play = new Play(graph(policy));
    for (const [n, id] of ["a", "b", "c"].entries()) {
      play.end(id);
      expect(play.open.includes("end"), `after ${n + 1}`).toBe(n + 1 >= needed);
    }
    play.end("end");
    expect(play.status).toBe("completed");
    expect(play.stages.filter((stage) => stage.startsWith("end"))).toHaveLength(1);
  });

  it("a node may have the name of a member that every object inherits", () => {
    const nodes = { fork: { kind: "fork" }, toString: {}, b: {}, constructor: { kind: "join" } };
    const edges = ["toString", "b"].flatMap((id) => [
      { from: "fork", to: id },
      { from: id, to: "constructor" },
    ]);
    const play = new Play({ entry: "fork", nodes, edges }).end("toString").end("b");
    expect(play.status).toBe("completed");
    expect(play.state.counts).toEqual({ fork: 1, toString: 1, b: 1, constructor: 1 });
  });
});

describe("maps", () => {
  const graph = (join_policy: JsonObject, max_concurrent = 10) => ({
    entry: "map",
    nodes: {
      map: { kind: "map", prompt: "Do.", map_policy: { items: [1, 2, 3, 4], max_concurrent }, join_policy },
    },
    edges: [],
  });

  it("work on as many items as max_concurrent", () => {
    const play = new Play(graph({}, 2));
    expect(play.open).toEqual(["map[0]", "map[1]"]);
    expect(play.end("map[1]", made("one")).open).toEqual(["map[0]", "map[2]"]);
  });

  it("all: a failed item is done; the map is partial", () => {
    const play = new Play(graph({}));
    play.end("map[0]", made("a")).fail("map[1]").end("map[2]", made("b"));
    expect(play.status).toBeNull();
    play.end("map[3]", made("c"));
    expect(play.state.stages[0]).toMatchObject({
      status: "partial",
      branch: "mapped",
      metadata: { items: 4, completed: 3, failed: 1, given_up: 0 },
    });
  });

  it("quorum: failed items do not count, running ones are abandoned", () => {
    const play = new Play(graph({ strategy: "quorum", min_completed: 2 }));
    play.fail("map[0]").end("map[1]", made("a"));
    expect(play.status).toBeNull();
    play.end("map[2]", made("b"));
    expect(play.status).toBe("completed");
    expect(play.state.stages[0]?.metadata).toMatchObject({ completed: 2, failed: 1, given_up: 1 });
  });

  it("a quorum that cannot be reached ends with the last item", () => {
    const play = new Play(graph({ strategy: "quorum", min_completed: 3 }));
    for (const n of [0, 1, 2]) play.fail(`map[${n}]`);
    play.end("map[3]", made("a"));
    expect(play.state.stages[0]).toMatchObject({ status: "partial", metadata: { completed: 1, failed: 3 } });
  });

  it("first: one is enough", () => {
    const play = new Play(graph({ strategy: "first" })).end("map[2]", made("a"));
    expect(play.status).toBe("completed");
  });

  it("a map without an artifact of any item has failed", () => {
    const play = new Play(graph({}));
    for (const n of [0, 1, 2, 3]) play.fail(`map[${n}]`);
    expect(play.state.stages[0]).toMatchObject({ status: "failed", error: { code: "no_output" } });
  });
});

describe("attempts and time", () => {
  const one = (node: JsonObject) => ({ entry: "a", nodes: { a: node }, edges: [] });

  it("wait longer each time, up to max_attempts times", () => {
    const retry_policy = { max_attempts: 3, backoff_ms: 100, backoff_multiplier: 3 };
    const play = new Play(one({ retry_policy })).fail("a");
    expect(play).toMatchObject({ open: [], wake: 100 });
    expect(play.at(99).open).toEqual([]);
    play.at(100).fail("a#2");
    expect(play.wake).toBe(400);
    play.at(400).fail("a#3");
    expect(play.state.stages[0]?.attempts).toHaveLength(3);
    expect(play.status).toBe("completed");
  });

  it("retry_on names what is retried: a branch, an outcome or a code", () => {
    const retry_policy = { max_attempts: 2, retry_on: ["busy"] };
    expect(new Play(one({ retry_policy })).fail("a", "broken").status).toBe("completed");
    expect(new Play(one({ retry_policy })).fail("a", "busy").open).toEqual(["a#2"]);
    const branch = { max_attempts: 2, retry_on: ["failed"] };
    expect(new Play(one({ retry_policy: branch })).fail("a").open).toEqual(["a#2"]);
  });

  it("a paused run starts neither a node nor another attempt, and continues where it was", () => {
    const graph = {
      entry: "a",
      nodes: { a: { retry_policy: { max_attempts: 2, backoff_ms: 10 } }, b: {} },
      edges: [{ from: "a", to: "b" }],
    };
    const play = new Play(graph).note({ type: "paused", at: 0 }).fail("a").at(1000);
    expect(play.open).toEqual([]);
    play.note({ type: "resumed", at: 1000 });
    expect(play.open).toEqual(["a#2"]);
    play.note({ type: "paused", at: 1000 }).end("a#2");
    expect(play).toMatchObject({ open: [], status: null });
    expect(play.note({ type: "resumed", at: 1000 }).open).toEqual(["b"]);
  });

  it("timeout_ms ends an attempt, total_timeout_ms the node", () => {
    const node = { timeout_ms: 100, total_timeout_ms: 250, retry_policy: { max_attempts: 9 } };
    const play = new Play(one(node));
    expect(play.wake).toBe(100);
    expect(play.at(99).open).toEqual(["a"]);
    expect(play.at(100).open).toEqual(["a#2"]);
    expect(play.at(200).open).toEqual(["a#3"]);
    expect(play.wake).toBe(250);
    play.at(250);
    const [stage] = play.state.stages;
    expect(stage?.error?.message).toContain("total_timeout_ms");
    expect(stage?.attempts.map(({ outcome }) => outcome)).toEqual(["error", "error", "error"]);
    expect(stage?.attempts.map(({ error }) => error?.code)).toEqual(["timed_out", "timed_out", "timed_out"]);
  });

  it("total_timeout_ms leaves no time for an attempt that would come after it", () => {
    const node = { total_timeout_ms: 100, retry_policy: { max_attempts: 2, backoff_ms: 100 } };
    expect(new Play(one(node)).fail("a").status).toBe("completed");
  });

  it("a deadline stops the run, which ends once its attempts have", () => {
    const play = new Play(one({}), { deadline: 500 });
    expect(play.wake).toBe(500);
    play.at(500);
    expect(play.state.stopped?.kill).toBe(false);
    play.end("a");
    expect(play.state.finished).toMatchObject({ status: "failed", error: { code: "deadline_exceeded" } });
  });
});

describe("waits", () => {
  const wait = (terms: JsonObject) => ({
    entry: "w",
    nodes: { w: { kind: "wait", wait: terms } },
    edges: [],
  });
  const event = (name: string, key: string | null, id = "e1") =>
    ({ type: "event", at: 0, id, name, key, payload: { n: 1 } }) as const;

  it("for a time, with one alarm", () => {
    const play = new Play(wait({ sleep_ms: 5000 }));
    expect(play.wake).toBe(5000);
    expect(play.at(4999).status).toBeNull();
    expect(play.at(5000).status).toBe("completed");
  });

  it("for an event without end: no alarm at all", () => {
    const play = new Play(wait({ event: "paid", key: "7" }));
    expect(play.wake).toBeNull();
    play.note(event("paid", "8", "e0")).note(event("sent", "7", "e9"));
    expect(play.status).toBeNull();
    play.note(event("paid", "7"));
    expect(play.state.stages[0]).toMatchObject({ outcome: "received", metadata: { event_id: "e1" } });
    expect(play.state.events.map(({ id }) => id)).toEqual(["e0", "e9"]);
  });

  it("an event that came early is kept for the node that waits for it, and taken once", () => {
    const graph = {
      entry: "a",
      nodes: {
        a: {},
        w: { kind: "wait", wait: { event: "paid" } },
        v: { kind: "wait", wait: { event: "paid", timeout_ms: 50 } },
      },
      edges: [
        { from: "a", to: "w" },
        { from: "w", to: "v" },
      ],
    };
    const play = new Play(graph).note(event("paid", null)).end("a");
    expect(play.stages).toEqual(["a success", "w success"]);
    play.at(50);
    expect(play.state.stages.at(-1)).toMatchObject({ node_id: "v", error: { code: "timed_out" } });
  });

  it("if two nodes wait for the same event, the one that waited first takes it", () => {
    const go = { kind: "wait", wait: { event: "paid" } };
    const graph = {
      entry: "f",
      nodes: { f: { kind: "fork" }, w: go, v: go },
      edges: [
        { from: "f", to: "w" },
        { from: "f", to: "v" },
      ],
    };
    const play = new Play(graph).note(event("paid", null));
    expect(play.stages).toEqual(["f fork", "w success"]);
    play.note(event("paid", null, "e2"));
    expect(play.state.stages.at(-1)).toMatchObject({ node_id: "v", metadata: { event_id: "e2" } });
  });

  it("for a person: a grant continues, a denial fails", () => {
    const answer = (granted: boolean) =>
      new Play(wait({ approval: "Sure?" })).note({
        type: "answered",
        at: 0,
        node: "w",
        visit: 1,
        granted,
        by: "p",
        reason: "so",
      }).state.stages[0];
    expect(answer(true)).toMatchObject({ outcome: "approved", branch: "success" });
    expect(answer(false)).toMatchObject({ branch: "failed", error: { code: "denied", message: "so" } });
  });
});
