/**
 * The run's record log: the only truth about a run (design.md §2.2). Append-only and versioned; every effect is
 * recorded before it starts and settled after. The in-memory driver keeps them in an array, a durable one in SQLite.
 */
import type { ErrorData } from "../errors.ts";
import type { ModelTurn, Part, ToolCallBlock, ToolDefinition, Usage } from "./messages.ts";
import type { ToolOutcome } from "./tool-result.ts";

/** What a run is to do; fixed when it starts. Durations in ms, `deadline_at` in Unix ms. */
export interface RunSpec {
  system: string;
  tools: ToolDefinition[];
  max_tokens: number;
  max_tool_rounds: number;
  json: boolean;
  deadline_ms: number;
  deadline_at: number;
}

/** How a run ended; `text` is the answer. */
export type RunOutcome =
  | { ok: true; text: string; finish_reason: FinishReason; totals: RunTotals }
  | { ok: false; error: ErrorData; totals: RunTotals };

/** `x-hull-finish-reason` (serving.md §4.4). */
export type FinishReason = "stop" | "length" | "refusal" | "content_filter" | "other";

/** Sums over all rounds. */
export interface RunTotals {
  usage: Usage;
  rounds: number;
  tool_calls: number;
}

/** Records of version 1; `at` is Unix ms, `effect` names one model or tool call of the run. */
export type RunRecord = { v: 1; at: number } & (
  | { type: "run_started"; spec: RunSpec; input: Part[] }
  | { type: "model_call_started"; effect: string; round: number }
  | { type: "model_call_settled"; effect: string; round: number; turn: ModelTurn }
  | { type: "tool_call_started"; effect: string; round: number; call: ToolCallBlock }
  | { type: "tool_call_settled"; effect: string; round: number; call_id: string; outcome: ToolOutcome }
  | { type: "run_settled"; outcome: RunOutcome }
);
