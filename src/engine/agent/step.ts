/** The next step of an agent run, and the effects that a driver executes for it. */

import type { ErrorData, HullError } from "../../errors.ts";
import type { Json } from "../../skill/manifest.ts";
import type { Message, ModelRequest, ToolCallBlock, Warning } from "../messages.ts";
import type { RunStatus } from "../run-status.ts";
import type { SearchEvent } from "../tool-vault/events.ts";
import type { CompactionPlan } from "./compaction.ts";
import type { AgentRecordBody, AgentToolResult, ApprovalRequest, ModelCost } from "./records.ts";
import type { AgentSkill, AgentTool, Ceilings } from "./spec.ts";
import type { RunState } from "./state.ts";

/** The input of one model call; the driver adds the run's call options. */
export type AgentRequest = Pick<
  ModelRequest,
  "system" | "messages" | "tools" | "tools_in_text" | "tool_choice" | "tool_search" | "prefill"
>;

export interface PlannedCall {
  effect: string;
  call: ToolCallBlock;
  tool: AgentTool;
  /** An earlier run attempt began it and did not see it end. */
  again: boolean;
  /** When it was recorded that the call starts, Unix ms. Absent: that has not happened. */
  started_at?: number;
  /** Set for a call that delegates: what is left for the run below. */
  above?: Ceilings;
  /** Set for a call that delegates: the skill that the run below is, and its task. */
  forked?: { skill: AgentSkill; task: string };
  /** Set for a workspace tool: the folder where it begins, and the active skills. */
  from?: { cwd: string; active: string[] };
}

/** The purpose of a hook; it decides what the hook receives and may answer. */
export type HookPurpose =
  | "skill"
  | "skill_commands"
  | "command"
  | "context"
  | "compact"
  | "mask"
  | "compress"
  | "post_turn"
  | "permission"
  | "host_permission"
  | "host_skill_match"
  | "escalation"
  | "pre_tool"
  | "post_tool";

/**
 * The next step of a run. Except for effects and waits, the engine itself has decided the step, so the driver only
 * records it.
 */
export type AgentStep =
  /** Decisions: append these records in one transaction, then ask again. */
  | { type: "record"; records: AgentRecordBody[] }
  /** `found`: the vault's promotions so far. */
  | { type: "call_model"; effect: string; iteration: number; request: AgentRequest; found: Json }
  /** Calls to make now, in parallel with those under way. */
  | { type: "run_tools"; calls: PlannedCall[] }
  | { type: "call_hook"; effect: string; hook: string; purpose: HookPurpose; payload: Json }
  /** An LLM or custom compaction: the driver records the summary as `compacted`. */
  | { type: "summarize"; effect: string; instructions: string; plan: CompactionPlan }
  /** A call of the vault's search tool; `state` holds the promotions so far, `scope` the tools that it may find. */
  | { type: "search_tools"; effect: string; call: ToolCallBlock; state: Json; scope: string[] }
  /** Ask the MCP servers of a newly active skill for their tools. */
  | { type: "bind_servers"; effect: string; skill: string; servers: string[] }
  /** Nothing to do until an effect under way comes back. */
  | { type: "busy" }
  /** Nothing to do until a decision, a client's answer or a wake comes. */
  | {
      type: "wait";
      for: "approval" | "tool" | "wake";
      status: RunStatus;
      until: number | null;
      approvals: ApprovalRequest[];
    }
  | { type: "settled"; status: RunStatus; error: ErrorData | null };

export type HookStep = Extract<AgentStep, { type: "call_hook" }>;
export type WaitStep = Extract<AgentStep, { type: "wait" }>;
/** The step for one call of a turn, which may be to execute the call. */
export type CallStep = AgentStep | { type: "ready"; planned: PlannedCall };

export const recorded = (...records: AgentRecordBody[]): AgentStep => ({ type: "record", records });

/** What a hook has answered in this iteration, or the step that asks it. */
export function askHook(
  { hookResults }: RunState,
  question: Pick<HookStep, "effect" | "hook" | "purpose">,
  payload: () => Json,
): { answer: Json } | { ask: HookStep } {
  const answer = hookResults[question.effect];
  return answer === undefined ? { ask: { type: "call_hook", ...question, payload: payload() } } : { answer };
}

type ModelAnswer =
  | Omit<Extract<AgentRecordBody, { type: "model_call_settled" }>, "type" | "run" | "effect">
  /** The providers of these models refused to search tools. */
  | { warnings: Warning[]; models: string[] }
  /** The call failed after an answer that was paid for. */
  | { fault: HullError; spent: ModelCost };

/** A summary and its cost. `fault`: why the text is empty; `null`: it is not. `warnings`: those of its model call. */
interface Summary {
  text: string;
  spent: ModelCost;
  fault: HullError | null;
  warnings: readonly Warning[];
}

/** Executes effects. Each method throws a `HullError` for faults that end the run. */
export interface AgentEffects {
  callModel(step: AgentStep & { type: "call_model" }, context: AgentEffectContext): Promise<ModelAnswer>;
  /** Faults of the tool itself are results. */
  runTool(planned: PlannedCall, context: AgentEffectContext): Promise<AgentToolResult>;
  /** The attempt with which to continue a call of an earlier run attempt: the last one that may have begun. */
  attemptOf(context: AgentEffectContext): number;
  /** Returns an answer that the hook's purpose permits; throws for any other. */
  callHook(step: HookStep, context: AgentEffectContext): Promise<Json>;
  /** Waits before a tool's next attempt, by the driver's clock. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  summarize(instructions: string, messages: Message[], context: AgentEffectContext): Promise<Summary>;
  /** Never fails: the result reports every fault. */
  searchTools(
    step: AgentStep & { type: "search_tools" },
    context: AgentEffectContext,
  ): Promise<{ state: Json; result: string; events: SearchEvent[] }>;
  /** Never fails: a failing server provides no tools. */
  bindServers(
    step: AgentStep & { type: "bind_servers" },
    context: AgentEffectContext,
  ): Promise<{ servers: string[]; tools: AgentTool[]; failed: { server: string; message: string }[] }>;
}

export interface AgentEffectContext {
  run: string;
  effect: string;
  /** How many attempts of the tool call came to their end before this one. */
  attempt: number;
  /** Aborted when the run is cancelled. */
  signal: AbortSignal;
  /** The tools that the session defined. */
  tools: readonly AgentTool[];
  /** The provider of the run's last turn; `null`: there is none. */
  provider: string | null;
}
