/** `max_tool_rounds` of a run of a skill: the last model call may only answer. */
import { describe, expect, it } from "vitest";
import { applyAgentRecord } from "../../../../src/engine/agent/apply.ts";
import type { AgentSpec } from "../../../../src/engine/agent/spec.ts";
import type { JsonObject } from "../../../../src/skill/manifest.ts";
import { DAEMON, play, type Reply, tool } from "./harness.ts";

const calls = (args: JsonObject = {}): Reply => ({ calls: [["edit", args]] });
const rounds = (max_tool_rounds: number): Partial<AgentSpec> => ({
  max_iterations: max_tool_rounds + 1,
  max_tool_rounds,
  tools: [tool("edit")],
});

describe("after its last round of tools a run", () => {
  it.each<[string, Partial<AgentSpec>, Reply, string]>([
    ["is done with the answer", {}, "Enough.", "done"],
    ["takes the text next to calls", {}, { text: "Enough.", calls: [["edit", {}]] }, "done"],
    ["has used up its budget if there is no text", {}, calls(), "budget_exhausted"],
    ["looks for no calls in the text", {}, '<tool_call>{"name":"edit","arguments":{}}</tool_call>', "done"],
    ["is done with its sentinel if it is persistent", { persistent: true }, "##DONE##", "done"],
    ["makes no further call if it is persistent", { persistent: true }, "Enough.", "budget_exhausted"],
  ])("%s", async (_, spec, last, status) => {
    const replies = [calls(), calls({ a: 1 }), last, "Too late."];
    const { run, requests, executed } = await play({ spec: { ...rounds(2), ...spec }, replies });
    expect([run.status, executed.length]).toEqual([status, 2]);
    expect(requests.map(({ tool_choice }) => tool_choice)).toEqual([undefined, undefined, "none"]);
  });

  it.each([
    ["Enough.", "done"],
    ['<tool_call>{"name":"edit","arguments":{"a":1}}</tool_call>', "budget_exhausted"],
  ])("offers no tools in text: %s", async (last, status) => {
    const written = '<tool_call>{"name":"edit","arguments":{}}</tool_call>';
    const spec = { ...rounds(1), tool_format: "text" as const };
    const { run, requests, executed } = await play({ spec, replies: [written, last] });
    expect([run.status, executed.length]).toEqual([status, 1]);
    expect(requests.map(({ tools_in_text: offered }) => offered?.length)).toEqual([1, undefined]);
    expect(requests.map(({ system }) => system.includes("edit"))).toEqual([true, false]);
  });
});

it.each([{}, { single: true as const }])(
  "a run whose provider still pauses at its limit is not done: %j",
  async (more) => {
    const pause: Reply = { text: "part", stop: "pause" };
    const { run, requests } = await play({ spec: { ...more, max_iterations: 2 }, replies: [pause, pause] });
    expect([run.status, requests.length]).toEqual(["budget_exhausted", 2]);
  },
);

it("a daemon has all rounds of tools in each wake", async () => {
  const spec = { ...rounds(1), daemon: { ...DAEMON, wake_interval_ms: 1 } };
  const first = await play({ spec, replies: [calls(), "Enough."] });
  const wake = { reason: "timer" as const, feedback: null, messages: [], watch_paths: [], resumed: false };
  const state = applyAgentRecord(first.state, { v: 1, at: 1, type: "woke", run: "run_1", wake });
  const second = await play({ state, replies: [calls({ a: 1 }), "Enough."] });
  for (const { requests, executed, run } of [first, second]) {
    expect(requests.map(({ tool_choice }) => tool_choice)).toEqual([undefined, "none"]);
    expect([executed.length, run.stage]).toEqual([1, "idle"]);
  }
});
