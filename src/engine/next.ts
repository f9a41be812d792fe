/** What a run does next, decided from its state alone (serving.md §4.4). Pure. */

import { ModelRefused, ProviderEmptyAnswer, ToolRoundsExhausted } from "../errors/provider.ts";
import { DeadlineExceeded } from "../errors/run.ts";
import type { HullError } from "../errors.ts";
import type { ModelRequest, ModelTurn, StopReason } from "./messages.ts";
import type { FinishReason, RunOutcome } from "./records.ts";
import { modelEffect, type PendingCall, type RunState } from "./state.ts";

export type Step =
  | { type: "call_model"; effect: string; round: number; request: ModelRequest }
  | { type: "run_tools"; round: number; calls: PendingCall[] }
  | { type: "settle"; outcome: RunOutcome };

/** The next step of a run at time `now` (Unix ms). A settled run's step is its outcome again. */
export function nextStep(state: RunState, now: number): Step {
  if (state.outcome !== null) return { type: "settle", outcome: state.outcome };
  if (now >= state.spec.deadline_at) return settleError(state, deadlineError(state));
  const calls = state.pending.filter((p) => p.outcome === null);
  if (calls.length > 0) return { type: "run_tools", round: state.round, calls };
  const turn = state.lastTurn;
  const open = state.openModelCall !== null;
  const answered = state.messages.at(-1)?.role === "assistant";
  if (open || turn === null || !answered || (turn.stop_reason === "pause" && toolsOffered(state))) {
    const round = open ? state.round : state.round + 1;
    return { type: "call_model", effect: modelEffect(round), round, request: modelRequest(state, round) };
  }
  return { type: "settle", outcome: answer(state, turn) };
}

/** `deadline_exceeded`, naming what was under way. */
export function deadlineError(state: RunState): HullError {
  const running = state.pending.filter((p) => p.outcome === null).map((p) => p.call.name);
  const during = running.length > 0 ? `tool ${running.join(", ")}` : `model call ${Math.max(1, state.round)}`;
  return new DeadlineExceeded({ timeout_ms: state.spec.deadline_ms, during });
}

/** A run that ends with an error keeps its sums. */
export function settleError(state: RunState, error: HullError): Step & { type: "settle" } {
  return { type: "settle", outcome: { ok: false, error: error.data, totals: state.totals } };
}

function toolsOffered(state: RunState): boolean {
  return state.round <= state.spec.max_tool_rounds;
}

/** After round `max_tool_rounds` one further call is made in which tools stay declared but may not be called. */
function modelRequest(state: RunState, round: number): ModelRequest {
  const { spec, messages } = state;
  return {
    system: spec.system,
    messages,
    tools: spec.tools,
    tool_choice: round <= spec.max_tool_rounds ? "auto" : "none",
    max_tokens: spec.max_tokens,
    json: spec.json,
    ...(spec.json ? { json_as_text: true } : {}),
  };
}

function answer(state: RunState, turn: ModelTurn): RunOutcome {
  const text = turn.blocks.map((b) => (b.type === "output_text" ? b.text : "")).join("");
  const { totals } = state;
  const finish_reason = finishReason(turn);
  if (text !== "") return { ok: true, text, finish_reason, totals };
  return settleError(state, noAnswer(state, turn, finish_reason)).outcome;
}

function noAnswer(state: RunState, turn: ModelTurn, finish_reason: FinishReason): HullError {
  if (finish_reason === "refusal") return new ModelRefused({ provider: turn.provider });
  const exhausted = state.spec.tools.length > 0 && state.round > state.spec.max_tool_rounds;
  if (exhausted) return new ToolRoundsExhausted({ rounds: state.spec.max_tool_rounds });
  const { max_tokens } = state.spec;
  return new ProviderEmptyAnswer({ provider: turn.provider, finish_reason, max_tokens });
}

const FINISH: Record<StopReason, FinishReason> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "stop",
  max_tokens: "length",
  refusal: "refusal",
  content_filter: "content_filter",
  pause: "other",
  other: "other",
};

/** A filter at the provider is a refusal by another hand: callers of skills are told which. */
function finishReason({ stop_reason, raw_stop_reason }: ModelTurn): FinishReason {
  const filtered = stop_reason === "refusal" && raw_stop_reason?.toLowerCase() === "content_filter";
  return filtered ? "content_filter" : FINISH[stop_reason];
}
