/**
 * The records of agent runs in a session: append-only, versioned. The driver stores a record before it acts on it, and
 * an effect's result before anything follows from it.
 */

import * as z from "zod/mini";
import { about, count, maybe, object, type Shaped, text } from "../../answer-shape.ts";
import type { ErrorData } from "../../errors.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { Artifact, ImportedArtifact } from "../artifact.ts";
import type { Message, ModelTurn, Part, ToolCallBlock, Usage, Warning } from "../messages.ts";
import type { RunStatus } from "../run-status.ts";
import type { Cost, ShareRecord, Spent } from "../shares.ts";
import type { FaultCategory, ToolErrorCode } from "../tool-fault.ts";
import type { SearchEvent } from "../tool-vault/events.ts";
import type { AgentSpec, AgentTool, WakeLimit } from "./spec.ts";
import type { TaskLedger } from "./task-ledger.ts";

/** How messages of people and hosts enter a live run. */
export const DELIVERIES = ["interrupt_immediate", "finish_step", "wait_for_completion"] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** Feedback to the model, sent as a user message. */
export interface Feedback {
  /** `nudge`: sent bare; `prefill_assistant`: the next answer starts with it; others: framed with their kind. */
  kind: string;
  content: string;
}

/** Only an active session accepts runs. */
export const SESSION_STATES = ["active", "archived", "abandoned", "closed"] as const;
export type SessionState = (typeof SESSION_STATES)[number];

export const TOOL_STATUSES = ["ok", "error", "rejected"] as const;
export type ToolStatus = (typeof TOOL_STATUSES)[number];

/** What answers of models cost. */
export type ModelCost = Usage & Cost;

/** One settled tool call of an agent run. `content` is what the model sees. */
export interface AgentToolResult {
  status: ToolStatus;
  content: string;
  /** The structured result, if the tool gave one. */
  value: Json;
  /** Of `ToolCallUpdate`; `null` for success. */
  error_category: FaultCategory | null;
  exit_code: number | null;
  duration_ms: number;
  /** The exact name of the fault, if it has one in addition to the category. */
  code?: ToolErrorCode;
  /** Bytes that the tool wrote before anything was left out. Absent: the bytes of `content`. */
  bytes?: number;
  truncated?: boolean;
  /** Shown to the model together with the text, e.g. an image. Absent: nothing. */
  parts?: Part[];
  /** Artifacts that the call made, in order; absent: none. The state does not keep their content. */
  artifacts?: Artifact[];
  /** Whether a failed call may be repeated. Absent: the category alone decides. */
  retryable?: boolean;
  /** Notes for people, e.g. where the call ran. */
  metadata?: JsonObject;
  /** The folder where a command ended and the next one begins: relative to the work folder, or absolute. */
  cwd?: string;
  /** What the delegated run used. */
  spent?: Spent;
  /** How the call changed the session's own tools. */
  tools?: { defined: AgentTool } | { removed: string };
}

/** Why a daemon woke, most urgent first. */
export const WAKE_REASONS = ["message", "event", "resume", "watch", "cron", "timer"] as const;
export type WakeReason = (typeof WAKE_REASONS)[number];

export interface Wake {
  reason: WakeReason;
  /** The text for the model; absent for messages, which speak for themselves. */
  feedback: Feedback | null;
  messages: Message[];
  watch_paths: string[];
  resumed: boolean;
}

/** A call for which somebody must decide, without times. `cause` is absent in records of earlier versions. */
export const approvalShape = () =>
  z.object({
    id: text(),
    tool_call_id: text(),
    tool: text(),
    arguments: object(),
    arguments_digest: about(
      text(),
      "SHA-256 of the tool and the arguments: the decision holds only for these.",
    ),
    risk: text(),
    cause: maybe(about(text(), "What requires the approval.")),
  });
export interface ApprovalRequest extends Shaped<typeof approvalShape> {
  /** Unix ms. */
  requested_at: number;
  expires_at: number;
}

const COMPACTION_MODES = ["auto", "preflight", "manual", "hard_limit", "idle"] as const;

/** A compaction of the prompt-visible history: a summary replaced the `archived` messages from `keep_first` on. */
export const compactionShape = () =>
  z.object({
    mode: z.enum(COMPACTION_MODES),
    strategy: text(),
    engine_strategy: text(),
    archived_messages: count(),
    estimated_tokens_before: count(),
    estimated_tokens_after: count(),
    keep_first: count(),
    keep_last: count(),
    summary: text(),
  });
export type Compacted = Shaped<typeof compactionShape>;

/** Records of version 1; `at` is Unix ms, `run` names the run, `effect` one model, tool or hook call of it. */
export type AgentRecord = { v: 1; at: number } & (
  | { type: "message_added"; message: Message; source: "inject" | "client" | "import" }
  /** The beginning of a fork: what its parent's next model call would have sent. */
  | {
      type: "session_imported";
      messages: Message[];
      summary: string | null;
      skills: string[];
      /** As `AgentState.known`. */
      known?: Record<string, { digest: string; arguments: string }>;
    }
  /** In a fork: the artifacts of the parent. */
  | { type: "artifacts_imported"; artifacts: ImportedArtifact[] }
  | { type: "session_state_changed"; state: SessionState }
  | { type: "session_reset" }
  | { type: "session_trimmed"; keep_last: number }
  /** `skills`: names of those that the session had active. Absent: none, or earlier records name them. */
  | { type: "run_started"; run: string; spec: AgentSpec; skills?: string[] }
  /**
   * Messages that wait for the moment that their delivery names. `at_rest`: of a model call outside of the run under way;
   * they join the conversation when the run goes idle, too. Absent: a client sent them to the run.
   */
  | {
      type: "message_received";
      run: string | null;
      message: Message;
      delivery: Delivery;
      at_rest?: true;
    }
  /** Feedback from outside, which the next iteration takes in. */
  | { type: "feedback_received"; feedback: Feedback }
  | { type: "feedback_added"; run: string; feedback: Feedback }
  | { type: "iteration_started"; run: string; iteration: number }
  | {
      type: "skills_matched";
      run: string;
      iteration: number;
      strategy: string;
      reassess: boolean;
      candidates: { name: string; score: number; reason: string }[];
      active: string[];
      warnings: Warning[];
    }
  | {
      type: "model_call_settled";
      run: string;
      effect: string;
      turn: ModelTurn;
      cost_usd: number;
      /** As of `Cost`. */
      price_known?: false;
      warnings: Warning[];
      /**
       * Why Hull asked again for a structured answer, `{attempt, errors, nudge_used, correction_prompt}` each. Absent:
       * it did not.
       */
      retries?: JsonObject[];
      /** The call used up a soft budget. Absent: it did not. */
      budget_exceeded?: true;
      /** Tool searches by the provider itself. Absent: none. */
      searches?: SearchEvent[];
    }
  /**
   * A provider refused to search tools. From now on Hull searches, and asks the model again. `models`: those of the
   * providers that refused, as `AgentState.refusedSearches`. Absent: an earlier version of Hull did not note them.
   */
  | { type: "search_refused"; run: string; effect: string; warnings: Warning[]; models?: string[] }
  /** The same of a call outside of a run. */
  | { type: "searches_refused"; models: string[] }
  /** What the loop made of the turn: `message` is the part that the history keeps, if any. */
  | {
      type: "turn_taken";
      run: string;
      message: Message | null;
      calls: ToolCallBlock[];
      text: string;
      /** Whether it ends the run, once its calls have run and nothing invalidates its sentinel. */
      finished: boolean;
      text_only: number;
      /** Whether the run accepted a call in text from a model that should call natively. */
      fallback: boolean;
      /** Remarks to the model about how it wrote its calls; they follow the results. Absent: none. */
      remarks?: Feedback[];
    }
  | { type: "tools_started"; run: string; calls: { effect: string; call: ToolCallBlock }[] }
  | {
      type: "tool_settled";
      run: string;
      effect: string;
      result: AgentToolResult;
    }
  /** A result that must pass through hooks before it counts. */
  | { type: "tool_executed"; run: string; effect: string; result: AgentToolResult }
  | { type: "tool_searched"; run: string; effect: string; state: Json; result: string; events: SearchEvent[] }
  | { type: "ledger_updated"; run: string; effect: string; ledger: TaskLedger; result: AgentToolResult }
  /** A message began with a skill's name: `message` is its index in the visible history. */
  | { type: "skill_invoked"; run: string; message: number; name: string; arguments: string }
  /** An active or loaded skill bound its MCP servers. Each provided tools or failed. */
  | {
      type: "skill_mcp_bound";
      run: string;
      effect: string;
      skill: string;
      servers: string[];
      tools: AgentTool[];
      failed: { server: string; message: string }[];
    }
  | {
      type: "skill_loaded";
      run: string;
      effect: string;
      name: string;
      /** What the model called it with. Absent: nothing. */
      arguments?: string;
      result: AgentToolResult;
    }
  | { type: "hook_settled"; run: string; effect: string; hook: string; result: Json; error: string | null }
  | { type: "approval_requested"; run: string; effect: string; request: ApprovalRequest }
  | {
      type: "approval_decided";
      run: string;
      approval: string;
      decision: "approve" | "deny";
      scope: "once" | "session";
      reason: string | null;
    }
  /** The client's answer to a tool that it declared without a handler. */
  | { type: "client_tool_answered"; run: string; call_id: string; content: string; is_error: boolean }
  | {
      type: "compacted";
      run: string | null;
      compacted: Compacted;
      /** What the model's summary cost. Absent: no model wrote it. */
      spent?: ModelCost;
      /** Absent: none. */
      warnings?: Warning[];
    }
  | ({ run: string } & ShareRecord)
  /** `reached`: the limit that ended its wake. Absent: it had finished. */
  | { type: "went_idle"; run: string; reached?: WakeLimit }
  | { type: "woke"; run: string; wake: Wake }
  | {
      type: "run_settled";
      run: string;
      status: RunStatus;
      error: ErrorData | null;
      /** The limit that refused a call, by its name, with its scope. Absent: none did. */
      refused_by?: JsonObject;
      /** A budget refused the model call of the last iteration, which does not count. */
      uncalled?: true;
      /** What the last model call had cost before it failed. Absent: nothing. */
      spent?: ModelCost;
    }
);

/** A record without its version and time. */
export type AgentRecordBody = AgentRecord extends infer R
  ? R extends AgentRecord
    ? Omit<R, "v" | "at">
    : never
  : never;

/** Every type of record that this version of Hull knows. */
const TYPES: Readonly<Record<AgentRecord["type"], true>> = {
  message_added: true,
  session_imported: true,
  artifacts_imported: true,
  session_state_changed: true,
  session_reset: true,
  session_trimmed: true,
  run_started: true,
  message_received: true,
  feedback_received: true,
  feedback_added: true,
  iteration_started: true,
  skills_matched: true,
  model_call_settled: true,
  search_refused: true,
  searches_refused: true,
  turn_taken: true,
  tools_started: true,
  tool_settled: true,
  tool_executed: true,
  tool_searched: true,
  ledger_updated: true,
  skill_invoked: true,
  skill_mcp_bound: true,
  skill_loaded: true,
  hook_settled: true,
  approval_requested: true,
  approval_decided: true,
  client_tool_answered: true,
  compacted: true,
  share_taken: true,
  share_returned: true,
  went_idle: true,
  woke: true,
  run_settled: true,
};

/** Whether this version of Hull knows the record. After a rollback, storage may hold records of a later version. */
export const isKnownRecord = ({ type }: { type: string }): boolean => Object.hasOwn(TYPES, type);
