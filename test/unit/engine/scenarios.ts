/** What a run does, as a table: the model's turns in, calls and outcome out. Every driver must pass it. */
import type { Block, ModelRequest, ModelTurn, StopReason } from "../../../src/engine/messages.ts";

export interface Scenario {
  name: string;
  /** The model's answers in order; the last one repeats. */
  turns: { text?: string; calls?: string[]; stop?: StopReason }[];
  max_tool_rounds?: number;
  tools?: boolean;
  expect: {
    text?: string;
    finish_reason?: string;
    code?: string;
    model_calls: number;
    /** Names of the tool calls that ran. */
    tool_calls: string[];
    /** `tool_choice` of each model call. */
    choices?: ModelRequest["tool_choice"][];
  };
}

export const SCENARIOS: Scenario[] = [
  {
    name: "an answer without tools",
    turns: [{ text: "hi" }],
    tools: false,
    expect: { text: "hi", finish_reason: "stop", model_calls: 1, tool_calls: [] },
  },
  {
    name: "one tool, then the answer",
    turns: [{ calls: ["a"], stop: "tool_use" }, { text: "done" }],
    expect: { text: "done", model_calls: 2, tool_calls: ["a"], choices: ["auto", "auto"] },
  },
  {
    name: "calls decide, not the stop reason (serving.md §4.4)",
    turns: [{ text: "wait", calls: ["a"], stop: "end_turn" }, { text: "done" }],
    expect: { text: "done", model_calls: 2, tool_calls: ["a"] },
  },
  {
    name: "several calls of one turn, results in call order",
    turns: [{ calls: ["a", "b", "c", "d", "e", "f", "g", "h"], stop: "tool_use" }, { text: "done" }],
    expect: { text: "done", model_calls: 2, tool_calls: ["a", "b", "c", "d", "e", "f", "g", "h"] },
  },
  {
    name: "S99: rounds exhausted, the last call is made without tools",
    turns: [{ calls: ["a"], stop: "tool_use" }],
    max_tool_rounds: 2,
    expect: {
      code: "tool_rounds_exhausted",
      model_calls: 3,
      tool_calls: ["a", "a"],
      choices: ["auto", "auto", "none"],
    },
  },
  {
    name: "S100: one round can use a tool",
    turns: [{ calls: ["a"], stop: "tool_use" }, { text: "done" }],
    max_tool_rounds: 1,
    expect: { text: "done", model_calls: 2, tool_calls: ["a"], choices: ["auto", "none"] },
  },
  {
    name: "text beside forbidden calls in the last round is the answer",
    turns: [{ calls: ["a"] }, { text: "enough", calls: ["a"] }],
    max_tool_rounds: 1,
    expect: { text: "enough", model_calls: 2, tool_calls: ["a"] },
  },
  {
    name: "a pause goes on and counts as a round",
    turns: [{ text: "part", stop: "pause" }, { text: "whole" }],
    expect: { text: "whole", model_calls: 2, tool_calls: [] },
  },
  {
    name: "a model that only pauses is stopped",
    turns: [{ stop: "pause" }],
    max_tool_rounds: 2,
    expect: { code: "tool_rounds_exhausted", model_calls: 3, tool_calls: [] },
  },
  {
    name: "S96: cut off by the token limit",
    turns: [{ text: "half", stop: "max_tokens" }],
    expect: { text: "half", finish_reason: "length", model_calls: 1, tool_calls: [] },
  },
  {
    name: "S96: refusal with text",
    turns: [{ text: "no", stop: "refusal" }],
    expect: { text: "no", finish_reason: "refusal", model_calls: 1, tool_calls: [] },
  },
  {
    name: "S96: refusal without text",
    turns: [{ stop: "refusal" }],
    expect: { code: "model_refused", model_calls: 1, tool_calls: [] },
  },
  {
    name: "S94: an empty answer",
    turns: [{ text: "", stop: "end_turn" }],
    expect: { code: "provider_empty_answer", model_calls: 1, tool_calls: [] },
  },
];

/** A model that plays a scenario's turns and notes what it was asked. */
export class ScriptedModel {
  readonly requests: ModelRequest[] = [];
  readonly #turns: Scenario["turns"];

  constructor(turns: Scenario["turns"]) {
    this.#turns = turns;
  }

  answer(request: ModelRequest): ModelTurn {
    const index = request.messages.filter((m) => m.role === "assistant").length;
    const turn = this.#turns[Math.min(index, this.#turns.length - 1)] ?? {};
    this.requests.push(request);
    const blocks: Block[] = turn.text === undefined ? [] : [{ type: "output_text", text: turn.text }];
    for (const [i, name] of (turn.calls ?? []).entries()) {
      blocks.push({ type: "tool_call", id: `c${index}-${i}`, name, arguments: {}, raw: "{}" });
    }
    return {
      blocks,
      stop_reason: turn.stop ?? "end_turn",
      raw_stop_reason: null,
      usage: { input_tokens: 10, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0 },
      provider: "scripted",
      model: "scripted-1",
    };
  }
}
