/** Which calls of a turn run in parallel, and what happens to them after a fault. */
import { describe, expect, it } from "vitest";
import { applyAgentRecord } from "../../../../src/engine/agent/apply.ts";
import type { AgentRecord } from "../../../../src/engine/agent/records.ts";
import type { AgentSpec } from "../../../../src/engine/agent/spec.ts";
import { EMPTY_SESSION } from "../../../../src/engine/agent/state.ts";
import type { PlannedCall } from "../../../../src/engine/agent/step.ts";
import type { ToolDefinition } from "../../../../src/engine/messages.ts";
import { RunnerUnavailable } from "../../../../src/errors/run.ts";
import type { JsonObject } from "../../../../src/skill/manifest.ts";
import { play, type Reply, SPEC, tool, toolTexts } from "./harness.ts";

const TOOLS = [
  tool("plain"),
  tool("read", { kind: "read" }),
  tool("edit", { kind: "edit" }),
  tool("write", { side_effect_level: "workspace_write" }),
  tool("look", { side_effect_level: "read_only" }),
  tool("asks"),
];

const ENDS = { v: 1, at: 1, type: "run_settled", run: "run_1", error: null } as const;

/** Calls of the turn, by the number of the call. */
const turn = (names: readonly string[]): Reply => ({
  calls: names.map((name, n): [string, JsonObject] => [name, { n }]),
});

/** Plays one turn whose calls come back only when nothing else can begin: which calls were under way together. */
async function together(names: string[], spec: Partial<AgentSpec> = {}): Promise<string[]> {
  const waves: string[][] = [[]];
  let waiting: (() => void)[] = [];
  await play({
    spec: { tools: TOOLS, ...spec },
    replies: [turn(names), "end"],
    async runTool({ call }) {
      waves.at(-1)?.push(call.name);
      const released = new Promise<void>((resolve) => waiting.push(resolve));
      if (waiting.length === 1) {
        setTimeout(() => {
          const ready = waiting;
          waiting = [];
          waves.push([]);
          for (const release of ready) release();
        }, 5);
      }
      await released;
      return "ok";
    },
  });
  return waves.filter((wave) => wave.length > 0).map((wave) => wave.join(" "));
}

describe("calls of a turn", () => {
  it.each<[string, string[], Partial<AgentSpec>, string[]]>([
    ["a tool that declares nothing does not wait", ["plain", "plain", "plain"], {}, ["plain plain plain"]],
    [
      "at most six at once",
      Array.from({ length: 8 }, () => "plain"),
      {},
      ["plain plain plain plain plain plain", "plain plain"],
    ],
    [
      "those that declare that they write keep their order among themselves",
      ["edit", "plain", "write", "read", "edit"],
      {},
      ["edit plain read", "write", "edit"],
    ],
    ["a level below writing does not make a tool a writing one", ["look", "look"], {}, ["look look"]],
    [
      "the run's policy declares for a tool",
      ["plain", "plain", "read"],
      {
        policies: {
          policy: { tool_annotations: { plain: { side_effect_level: "process_exec" } } },
          approval_policy: null,
          permissions: null,
          approval_timeout_s: 1,
        },
      },
      ["plain read", "plain"],
    ],
    [
      "all in order if the run says so",
      ["plain", "read", "plain"],
      { parallel_tool_calls: false },
      ["plain", "read", "plain"],
    ],
  ])("%s", async (_, names, spec, waves) => {
    expect(await together(names, spec)).toEqual(waves);
  });

  it("are answered in call order and stored when each comes back", async () => {
    const order = ["look", "look", "read", "plain"];
    let ended = 0;
    const { rows, requests, run } = await play({
      spec: { tools: TOOLS },
      replies: [turn(["look"]), turn(["plain", "look", "read"]), "end"],
      async runTool({ call }) {
        // A turn of the event loop each, in which the run stores what has ended.
        do await new Promise(setImmediate);
        while (order[ended] !== call.name);
        ended += 1;
        return call.name;
      },
    });
    expect(requests[2] && toolTexts(requests[2])).toEqual(["look", "plain", "look", "read"]);
    expect(run.tools_used).toEqual(["look", "plain", "look", "read"]);
    expect(run.successful_tools).toEqual(["look", "plain", "read"]);
    const settled = rows.map((row) =>
      row.flatMap((record) => (record.type === "tool_settled" ? [record.result.content] : [])),
    );
    expect(settled.filter((row) => row.length > 0)).toEqual([["look"], ["look"], ["read"], ["plain"]]);
  });

  it("search for tools one after the other", async () => {
    let searching = 0;
    const atOnce: number[] = [];
    await play({
      spec: { tools: TOOLS },
      vault: {
        owns: (name) => name === "find",
        offer: (_, tools) => ({ tools: [...tools], further: [] }),
      },
      replies: [turn(["find", "find", "plain"]), "end"],
      async search() {
        atOnce.push(++searching);
        await new Promise(setImmediate);
        searching -= 1;
      },
    });
    expect(atOnce).toEqual([1, 1]);
  });

  it("cost each step the same, however many they are", async () => {
    const asked = async (count: number): Promise<number> => {
      let looks = 0;
      const owns = () => {
        looks += 1;
        return false;
      };
      const vault = {
        owns,
        offer: (_: unknown, tools: readonly ToolDefinition[]) => ({ tools: [...tools], further: [] }),
      };
      const { run } = await play({
        spec: { tools: TOOLS },
        vault,
        replies: [turn(Array.from({ length: count }, () => "plain")), "end"],
      });
      expect(run.tools_used).toHaveLength(count);
      return looks;
    };
    expect((await asked(600)) / (await asked(300))).toBeLessThan(2.5);
  });

  it("are numbered in call order if they repeat one another, whichever ends first", async () => {
    const ends: (() => void)[] = [];
    const { requests } = await play({
      spec: { tools: TOOLS },
      replies: [{ calls: Array.from({ length: 3 }, (): [string, JsonObject] => ["plain", {}]) }, "end"],
      async runTool() {
        const ended = new Promise<void>((resolve) => ends.unshift(resolve));
        if (ends.length === 3) for (const end of ends) setImmediate(end);
        await ended;
        return "same";
      },
    });
    expect(requests[1] && toolTexts(requests[1])).toEqual([
      "same",
      expect.stringMatching(/^same\n\n\[hull: .*2 of plain/),
      expect.stringMatching(/^\[hull: plain was called 3 times/),
    ]);
  });

  it("are listed in call order if they are refused", async () => {
    const { records, run } = await play({
      spec: { tools: TOOLS, policies: { ...SPEC.policies, policy: { tools: ["look"] } } },
      replies: [turn(["read", "look", "plain"]), "end"],
    });
    expect([run.rejected_tools, run.successful_tools]).toEqual([["read", "plain"], ["look"]]);
    // The end of the last call comes first.
    const start: AgentRecord = { v: 1, at: 1, type: "run_started", run: "run_1", spec: run.spec };
    const first = records.findIndex(({ type }) => type === "tool_settled");
    const ends = records.filter(({ type }) => type === "tool_settled").toReversed();
    const taken = [start, ...records.slice(0, first)].reduce(applyAgentRecord, EMPTY_SESSION);
    const settled = ends.reduce(applyAgentRecord, taken);
    expect(settled.run?.tools_used).toEqual(["read", "look", "plain"]);
    expect(settled.run?.rejected_tools).toEqual(["read", "plain"]);
    // A run that is cancelled in the middle of a turn lists the calls that have ended.
    const part = ends.slice(0, 2).reduce(applyAgentRecord, taken);
    const cancelled = applyAgentRecord(part, { ...ENDS, status: "cancelled" });
    expect([cancelled.run?.tools_used, cancelled.run?.rejected_tools]).toEqual([
      ["look", "plain"],
      ["plain"],
    ]);
  });

  it("are each resumed if their run attempt died, unless they have a result", async () => {
    const first = await play({
      spec: { tools: TOOLS },
      replies: [turn(["plain", "look", "read"]), "end"],
    });
    const start: AgentRecord = { v: 1, at: 1, type: "run_started", run: "run_1", spec: first.run.spec };
    const died = first.records.findIndex(({ type }) => type === "tool_settled") + 1;
    const state = [start, ...first.records.slice(0, died)].reduce(applyAgentRecord, EMPTY_SESSION);
    const times: (number | undefined)[] = [];
    const runTool = async ({ started_at }: PlannedCall) => {
      times.push(started_at);
      return "ok";
    };
    const second = await play({ state, replies: ["end"], runTool });
    expect(second.executed.map(({ name, again }) => [name, again])).toEqual([
      ["look", true],
      ["read", true],
    ]);
    const began = first.records.flatMap((record) => {
      const calls = record.type === "tools_started" ? record.calls : [];
      return calls.flatMap(({ call }) => (call.name === "plain" ? [] : [record.at]));
    });
    expect(times).toEqual(began);
    expect(second.run.status).toBe("done");
  });

  it("are stopped by the fault of one that ends the run", async () => {
    let stopped = 0;
    const { run } = await play({
      spec: { tools: TOOLS },
      replies: [turn(["plain", "look"])],
      async runTool({ call }, signal) {
        if (call.name === "plain") throw new RunnerUnavailable({ where: "at x", cause: "gone" });
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        stopped += 1;
        return "too late";
      },
    });
    expect([run.status, run.error?.code, stopped]).toEqual(["error", "runner_unavailable", 1]);
  });

  it("are stopped when the run is cancelled", async () => {
    const abort = new AbortController();
    const { run, records } = await play({
      spec: { tools: TOOLS },
      replies: [turn(["plain", "look"])],
      signal: abort.signal,
      async runTool({ call }, signal) {
        if (call.name === "plain") setTimeout(() => abort.abort(), 5);
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        return "too late";
      },
    });
    expect([run.status, records.filter(({ type }) => type === "tool_settled")]).toEqual(["cancelled", []]);
  });

  it("continue while one of them waits for an approval", async () => {
    const policies = {
      policy: null,
      approval_policy: { require_approval: ["asks"] },
      permissions: null,
      approval_timeout_s: 60,
    };
    const { step, executed, run } = await play({
      spec: { tools: TOOLS, policies },
      replies: [turn(["asks", "plain", "look", "asks"])],
    });
    expect(executed.map(({ name }) => name)).toEqual(["plain", "look"]);
    expect(step.type === "wait" && [step.status, step.approvals.length]).toEqual(["awaiting_approval", 2]);
    expect(run.calls.map(({ stage }) => stage)).toEqual(["approval", "settled", "settled", "approval"]);
  });
});
