/** What the attempts of a workflow run may use of its budgets. */
import { expect, it } from "vitest";
import { NO_CEILINGS } from "../../../../src/engine/agent/delegation.ts";
import { completed } from "../../../../src/engine/workflow/outcomes.ts";
import { NO_USAGE } from "../../../../src/engine/workflow/records.ts";
import { ceilingsBelow, ceilingsOfAttempt } from "../../../../src/run/workflow/ceilings.ts";
import type { Json } from "../../../../src/skill/manifest.ts";
import { Play } from "../../engine/workflow/play.ts";

const play = (graph: Json, options = {}) =>
  new Play(graph, { options, above: { ...NO_CEILINGS, tokens: 1000, usd: 10 } });
const used = (tokens: number, usd = 0) =>
  completed("success", "success", { usage: { ...NO_USAGE, output_tokens: tokens, total_cost: usd } });
const share = ({ state }: Play) => {
  const { tokens, usd } = ceilingsOfAttempt(state, "s");
  return [tokens, usd];
};

const FORK = {
  entry: "fork",
  nodes: {
    fork: { kind: "fork" },
    a: {},
    b: {},
    c: {},
    test: { kind: "verify", verify: { command: "true" } },
    wait: { kind: "wait", wait: { event: "go" } },
  },
  edges: ["a", "b", "c", "test", "wait"].map((to) => ({ from: "fork", to })),
};

it("nodes that run at once, or wait for room, share what is left; those that call no model do not", () => {
  for (const options of [{}, { max_concurrent: 2 }]) {
    const run = play(FORK, options);
    expect(share(run)).toEqual([333, 10 / 3]);
    run.end("a", used(100, 1));
    expect(share(run)).toEqual([450, 4.5]);
    run.end("b", used(450, 4.5));
    expect(share(run)).toEqual([450, 4.5]);
  }
});

it("a task below the run may use all that is left", () => {
  expect(ceilingsBelow(play(FORK).state, "s")).toMatchObject({ tokens: 1000, usd: 10 });
});

it.each([
  ["all items", {}, 100, 110],
  ["only those that run if one is enough", { join_policy: { strategy: "first" } }, 500, 500],
])("a map's share is for %s", (_, policy, before, after) => {
  const map_policy = { items: Array.from({ length: 10 }, (_, i) => i), max_concurrent: 2 };
  const run = play({
    entry: "m",
    nodes: { m: { kind: "map", mode: "llm", map_policy, ...policy } },
    edges: [],
  });
  expect(share(run)).toEqual([before, before / 100]);
  if (before === after) return;
  run.end("m[0]", used(10, 0.1));
  expect(share(run)).toEqual([after, 1.1]);
});
