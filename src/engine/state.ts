/** The fold: a run's state from its records (design.md §2.2). Pure and total; a record never fails to apply. */
import type { Block, Message, ModelTurn, ToolCallBlock, Usage } from "./messages.ts";
import type { RunOutcome, RunRecord, RunSpec, RunTotals } from "./records.ts";
import type { ToolOutcome } from "./tool-result.ts";

/** One tool call of the turn under way. */
export interface PendingCall {
  effect: string;
  call: ToolCallBlock;
  started: boolean;
  outcome: ToolOutcome | null;
}

export interface RunState {
  spec: RunSpec;
  messages: Message[];
  /** Number of the model call under way or last settled, from 1; 0 before the first. */
  round: number;
  /** Model call that is started and not settled. */
  openModelCall: string | null;
  lastTurn: ModelTurn | null;
  /** Tool calls of the last turn, in call order; empty when there are none or all results are in `messages`. */
  pending: PendingCall[];
  totals: RunTotals;
  outcome: RunOutcome | null;
}

const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 };

/** The effect id of the n-th tool call of a round. */
function toolEffect(round: number, index: number): string {
  return `tool-${round}-${index}`;
}

/** The effect id of a round's model call. */
export function modelEffect(round: number): string {
  return `model-${round}`;
}

/** State of a run that has just been recorded as started. */
export function startState(record: RunRecord & { type: "run_started" }): RunState {
  return {
    spec: record.spec,
    messages: [{ role: "user", content: record.input }],
    round: 0,
    openModelCall: null,
    lastTurn: null,
    pending: [],
    totals: { usage: NO_USAGE, rounds: 0, tool_calls: 0 },
    outcome: null,
  };
}

/** Applies one record. States are values: the given one is left as it is. */
export function applyRecord(state: RunState, record: RunRecord): RunState {
  switch (record.type) {
    case "run_started":
      return startState(record);
    case "model_call_started":
      return { ...state, round: record.round, openModelCall: record.effect };
    case "model_call_settled": {
      const calls = record.turn.blocks.filter(isToolCall);
      const offered = record.round <= state.spec.max_tool_rounds && state.spec.tools.length > 0;
      const pending = offered
        ? calls.map((call, i) => ({
            effect: toolEffect(record.round, i),
            call,
            started: false,
            outcome: null,
          }))
        : [];
      return {
        ...state,
        openModelCall: null,
        lastTurn: record.turn,
        messages: [...state.messages, { role: "assistant", content: record.turn.blocks }],
        pending,
        totals: {
          usage: addUsage(state.totals.usage, record.turn.usage),
          rounds: record.round,
          tool_calls: state.totals.tool_calls,
        },
      };
    }
    case "tool_call_started":
      return {
        ...state,
        pending: state.pending.map((p) => (p.effect === record.effect ? { ...p, started: true } : p)),
        totals: { ...state.totals, tool_calls: state.totals.tool_calls + 1 },
      };
    case "tool_call_settled": {
      const pending = state.pending.map((p) =>
        p.effect === record.effect ? { ...p, outcome: record.outcome } : p,
      );
      const outcomes = pending.map((p) => p.outcome);
      if (!outcomes.every((o) => o !== null)) return { ...state, pending };
      const results = pending.flatMap(({ call, outcome }) =>
        outcome === null
          ? []
          : [{ call_id: call.id, name: call.name, content: outcome.content, is_error: !outcome.ok }],
      );
      const parts = outcomes.flatMap((outcome) => outcome?.parts ?? []);
      const shown: Message[] = parts.length === 0 ? [] : [{ role: "user", content: parts }];
      return { ...state, pending: [], messages: [...state.messages, { role: "tool", results }, ...shown] };
    }
    case "run_settled":
      return { ...state, openModelCall: null, pending: [], outcome: record.outcome };
  }
}

function isToolCall(block: Block): block is ToolCallBlock {
  return block.type === "tool_call";
}

function addUsage(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_read_tokens: a.cache_read_tokens + b.cache_read_tokens,
    cache_write_tokens: a.cache_write_tokens + b.cache_write_tokens,
  };
}
