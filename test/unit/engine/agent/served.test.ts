/** A call of a served skill as a run: its rounds, its answer, its deadline, and what its model reads. */
import { describe, expect, it } from "vitest";
import { applyAgentRecord } from "../../../../src/engine/agent/apply.ts";
import type { AgentRecord } from "../../../../src/engine/agent/records.ts";
import { servedAnswer } from "../../../../src/engine/agent/served-answer.ts";
import type { AgentSpec } from "../../../../src/engine/agent/spec.ts";
import { EMPTY_SESSION, type RunState } from "../../../../src/engine/agent/state.ts";
import { HullError } from "../../../../src/errors.ts";
import { type Played, play, type Reply, SPEC, tool, toolTexts } from "./harness.ts";

const terms = (max_tool_rounds: number): Partial<AgentSpec> => ({
  session_id: null,
  max_iterations: max_tool_rounds + 1,
  loop_detect: { ...SPEC.loop_detect, warn: 0 },
  compaction: { ...SPEC.compaction, auto: false },
  served: {
    max_tool_rounds,
    max_tool_output_bytes: 65_536,
    json: false,
    max_tokens: 100,
    timeout_ms: 1000,
    idle_timeout_ms: 1000,
  },
});

/** The answer, or the code of the failure. */
function answerOf(run: RunState): string[] {
  try {
    const { text, finish_reason } = servedAnswer(run);
    return [text, finish_reason];
  } catch (error) {
    return [error instanceof HullError ? error.code : String(error)];
  }
}

interface Scenario {
  replies: Reply[];
  rounds?: number;
  tools?: boolean;
  answer: string[];
  model_calls: number;
  tool_calls: number;
  choices?: (string | undefined)[];
}

const again: Reply = { calls: [["a", {}]] };
const SCENARIOS: Record<string, Scenario> = {
  "an answer without tools": {
    replies: ["hi"],
    tools: false,
    answer: ["hi", "stop"],
    model_calls: 1,
    tool_calls: 0,
  },
  "one tool, then the answer": {
    replies: [again, "done"],
    answer: ["done", "stop"],
    model_calls: 2,
    tool_calls: 1,
    choices: [undefined, undefined],
  },
  "calls decide, not the stop reason": {
    replies: [{ text: "wait", calls: [["a", {}]], stop: "end_turn" }, "done"],
    answer: ["done", "stop"],
    model_calls: 2,
    tool_calls: 1,
  },
  "S99: rounds exhausted, the last call is made without tools": {
    replies: [again, again, again],
    rounds: 2,
    answer: ["tool_rounds_exhausted"],
    model_calls: 3,
    tool_calls: 2,
    choices: [undefined, undefined, "none"],
  },
  "S100: one round can use a tool": {
    replies: [again, "done"],
    rounds: 1,
    answer: ["done", "stop"],
    model_calls: 2,
    tool_calls: 1,
    choices: [undefined, "none"],
  },
  "text next to forbidden calls in the last round is the answer": {
    replies: [again, { text: "enough", calls: [["a", {}]] }],
    rounds: 1,
    answer: ["enough", "stop"],
    model_calls: 2,
    tool_calls: 1,
  },
  "a pause continues and counts as a round": {
    replies: [{ text: "part", stop: "pause" }, "whole"],
    answer: ["whole", "stop"],
    model_calls: 2,
    tool_calls: 0,
  },
  "a model that only pauses is stopped": {
    replies: [{ stop: "pause" }, { stop: "pause" }, { stop: "pause" }],
    rounds: 2,
    answer: ["tool_rounds_exhausted"],
    model_calls: 3,
    tool_calls: 0,
  },
  "S96: cut off by the token limit": {
    replies: [{ text: "half", stop: "max_tokens" }],
    answer: ["half", "length"],
    model_calls: 1,
    tool_calls: 0,
  },
  "S96: refusal with text": {
    replies: [{ text: "no", stop: "refusal" }],
    answer: ["no", "refusal"],
    model_calls: 1,
    tool_calls: 0,
  },
  "S96: refusal without text": {
    replies: [{ stop: "refusal" }],
    answer: ["model_refused"],
    model_calls: 1,
    tool_calls: 0,
  },
  "S94: an empty answer": {
    replies: [""],
    answer: ["provider_empty_answer"],
    model_calls: 1,
    tool_calls: 0,
  },
  "a call of a tool that it does not have": {
    replies: [{ calls: [["nonesuch", {}]] }, "done"],
    answer: ["done", "stop"],
    model_calls: 2,
    tool_calls: 0,
  },
};

const specOf = ({ rounds = 10, tools = true }: Scenario): Partial<AgentSpec> => ({
  ...terms(rounds),
  tools: tools ? [tool("a")] : [],
});

function check({ run, requests, executed }: Played, scenario: Scenario): void {
  expect(answerOf(run)).toEqual(scenario.answer);
  expect([requests.length, executed.length]).toEqual([scenario.model_calls, scenario.tool_calls]);
  if (scenario.choices !== undefined)
    expect(requests.map(({ tool_choice }) => tool_choice)).toEqual(scenario.choices);
}

describe("a served skill", () => {
  it.each(Object.entries(SCENARIOS))("%s", async (_, scenario) => {
    const played = await play({ spec: specOf(scenario), replies: scenario.replies });
    check(played, scenario);
    expect(played.records.filter(({ type }) => type === "run_settled")).toHaveLength(1);
  });

  it.each(Object.entries(SCENARIOS))("continues from every row of its records: %s", async (_, scenario) => {
    const whole = await play({ spec: specOf(scenario), replies: scenario.replies });
    const start: AgentRecord = { v: 1, at: 1, type: "run_started", run: "run_1", spec: whole.run.spec };
    for (let rows = 0; rows <= whole.rows.length; rows++) {
      const before = [start, ...whole.rows.slice(0, rows).flat()];
      const state = before.reduce(applyAgentRecord, EMPTY_SESSION);
      const asked = before.filter(({ type }) => type === "model_call_settled").length;
      const rest = await play({ state, replies: scenario.replies.slice(asked) });
      expect([rows, answerOf(rest.run)]).toEqual([rows, scenario.answer]);
      expect([rest.run.totals, rest.run.tools_used]).toEqual([whole.run.totals, whole.run.tools_used]);
    }
  });

  it("gets only its own text, and the answer to a call of an unknown tool", async () => {
    const { requests } = await play({
      spec: { ...terms(3), tools: [tool("a")] },
      replies: [{ calls: [["nonesuch", {}]] }, "done"],
    });
    expect(requests.map(({ system }) => system)).toEqual(["Be good.", "Be good."]);
    expect(requests[1] && toolTexts(requests[1])).toEqual([
      '[tool_error code=unknown_tool exit=none]\nThere is no tool "nonesuch". Use one of: a.',
    ]);
  });

  it("keeps every result unchanged, however often it comes", async () => {
    const { requests, executed } = await play({
      spec: { ...terms(6), tools: [tool("a")] },
      replies: [again, again, again, again, again, "done"],
    });
    expect(executed).toHaveLength(5);
    expect(requests[5] && toolTexts(requests[5])).toEqual(["ok", "ok", "ok", "ok", "ok"]);
  });

  it("S91: stops at its deadline, and the error names what was in progress", async () => {
    let fire = (): void => {};
    const { run, records } = await play({
      spec: { ...terms(3), tools: [tool("a")], deadline: { at: 9e15, ms: 250 } },
      replies: [again],
      after: (_, call) => {
        fire = call;
        return () => {};
      },
      async runTool(_, signal) {
        fire();
        await new Promise<void>((resolve) =>
          signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve()),
        );
        return "too late";
      },
    });
    expect([run.status, run.error]).toMatchObject([
      "error",
      { code: "deadline_exceeded", members: { timeout_ms: 250, during: "tool a" } },
    ]);
    expect(records.filter(({ type }) => type === "tool_settled")).toEqual([]);
  });

  it("begins nothing once its deadline is over", async () => {
    const { run, requests } = await play({
      spec: { ...terms(3), deadline: { at: 5, ms: 5 } },
      replies: ["x"],
      now: () => 5,
    });
    expect([run.error?.code, requests]).toEqual(["deadline_exceeded", []]);
  });
});
