/** The state of a session and of its run: the result of the fold over its records. JSON-safe. */

import type { ErrorData } from "../../errors.ts";
import type { Json } from "../../skill/manifest.ts";
import type { ArtifactHead } from "../artifact.ts";
import { type Message, type ModelTurn, NO_USAGE, type ToolCallBlock } from "../messages.ts";
import type { RunStatus } from "../run-status.ts";
import type { Shares, Spent } from "../shares.ts";
import type { LoopTable } from "./loop-detection.ts";
import type {
  AgentRecordBody,
  AgentToolResult,
  ApprovalRequest,
  Delivery,
  Feedback,
  ModelCost,
} from "./records.ts";
import type { AgentSpec, AgentTool, WakeLimit } from "./spec.ts";
import type { TaskLedger } from "./task-ledger.ts";

export interface AgentState {
  /** The prompt-visible history: what the next model call sends. */
  visible: Message[];
  /** Summary of what compaction removed; `null`: nothing was removed. */
  summary: string | null;
  /** Messages that have arrived and that no run has read. `at_rest` is that of the record. */
  waiting: { message: Message; delivery: Delivery; at_rest?: true }[];
  /** Feedback from outside that no run has taken in. */
  feedback: Feedback[];
  /** Skills that were active when the last run ended. */
  skills: string[];
  /** Skills whose instructions the session has: the version, and their arguments. Absent: none. */
  known?: Record<string, { digest: string; arguments: string }>;
  /** What commands in skills' texts wrote, by skill and command. Absent: none ran. */
  outputs?: Record<string, { [command: string]: string }>;
  /** Digests of the calls that are approved for the whole session. */
  grants: string[];
  /** Tools that runs of the session defined. Absent: none. */
  tools?: AgentTool[];
  /** Models whose provider refused to search tools, as `provider/model`. Absent: none. */
  refusedSearches?: string[];
  /** The run under way, or the last one. */
  run: RunState | null;
}

/** Whether a message that waits enters the next model call. */
export const entersNextCall = ({ delivery }: AgentState["waiting"][number]): boolean =>
  delivery !== "wait_for_completion";

/**
 * The stage of an iteration. `open`: it has not begun. Then follow skills, their hooks, compaction, the context hook,
 * the model call, its turn, its tools, and what comes after them, once with compaction and once when that is settled.
 * `idle`: a daemon waits. `ended`: settled.
 */
type Stage =
  | "open"
  | "match"
  | "skill_hooks"
  | "compact"
  | "context"
  | "model"
  | "turn"
  | "tools"
  | "after"
  | "shortened"
  | "idle"
  | "ended";

/** `executed`: its result must pass through hooks before it counts. */
type CallStage = "planned" | "approval" | "started" | "executed" | "settled";

/** One tool call of the turn under way. */
export interface OpenCall {
  effect: string;
  call: ToolCallBlock;
  stage: CallStage;
  /** When it was recorded that it starts, Unix ms. Absent: that has not happened. */
  started_at?: number;
  approval: (ApprovalRequest & { decision: "approve" | "deny" | null; reason: string | null }) | null;
  result: AgentToolResult | null;
  /** The result as the model sees it, without the remarks of loop detection, which the end of the turn adds. */
  shown: string;
  /** How often in a row the call gave this result. Absent: it does not count. */
  count?: number;
  /** The loop itself answered it, so it is not a tool's success. Absent: a tool did. */
  runtime?: true;
}

/** How the loop read a model's turn. */
export interface TakenTurn
  extends Pick<Extract<AgentRecordBody, { type: "turn_taken" }>, "calls" | "text" | "finished" | "remarks"> {
  /** How many names the run's three lists of tools had before the turn. */
  before: { used: number; successful: number; rejected: number };
}

export interface RunState {
  spec: AgentSpec;
  status: RunStatus;
  error: ErrorData | null;
  stage: Stage;
  /** Iterations begun; the current one has this number minus one. */
  iterations: number;
  /** Iterations of a daemon's current wake. */
  wakeIterations: number;
  /**
   * What the run had used at the beginning of the current wake. Absent: nothing. `delegated` is absent in states of
   * versions that did not keep it.
   */
  wakeFrom?: Spent & { delegated?: Spent };
  /** When a daemon last went idle, Unix ms. Absent: never. */
  idleSince?: number;
  /** Whether a budget refused the next call, which ended the run. Absent: no. */
  refused?: true;
  /** Whether a call used up a soft budget. Absent: no. */
  budgetExceeded?: true;
  /** The limit that ended the last wake. Absent: none. */
  wakeReached?: WakeLimit;
  /** Number of consecutive turns without calls. */
  textOnly: number;
  singleToolTurns: number;
  /** Whether the run has accepted a call in text from a model that should call natively (`allow_once`). */
  fallbackUsed: boolean;
  active: string[];
  loaded: string[];
  /** `null`: the run keeps none. */
  ledger: TaskLedger | null;
  /** Hooks of skills still to call, in order. */
  skillHooks: string[];
  vault: Json;
  /** The provider refused to search tools, so Hull searches. Absent: it did not refuse. */
  searchRefused?: true;
  loop: LoopTable;
  /** The last model turn, until the loop has taken it. */
  turn: ModelTurn | null;
  /**
   * Who made the last turn, and why it ended. Absent: there was no turn. `model` is absent in states of versions that
   * did not keep it.
   */
  answered?: Pick<ModelTurn, "provider" | "stop_reason" | "raw_stop_reason"> &
    Partial<Pick<ModelTurn, "model">>;
  taken: TakenTurn | null;
  calls: OpenCall[];
  /** Results of hooks of the current iteration, by effect. */
  hookResults: { [effect: string]: Json };
  /** Names of the command hooks that ran and run only once. Absent: none. */
  hooked?: string[];
  /** Text with which the next model call's answer starts. */
  prefill: string | null;
  /** Of this run alone. */
  totals: ModelCost;
  /** Usage of the delegated runs for which this run has waited, and of tasks that ended. Absent: there were none. */
  delegated?: Spent;
  /** What tasks below the run hold of its budgets. Absent: nothing. */
  shares?: Shares;
  tools_used: string[];
  successful_tools: string[];
  rejected_tools: string[];
  /** Texts of all turns, in order. */
  texts: string[];
  /** Messages that the run keeps until its end. */
  deferred: Message[];
  /** Exit code of the last `run` tool; `null`: none ran. */
  verification: { ok: boolean; exit_code: number | null } | null;
  /** Whether the daemon, on its way to idle, has already compacted its history. */
  consolidated: boolean;
  feedback: Feedback[];
  /** What the run's tools made, each in its last version without content; absent: nothing. */
  artifacts?: ArtifactHead[];
  /** Tools of the session whose names are not taken by the run's own tools. Absent: none. */
  tools?: AgentTool[];
  /** MCP servers that skills have bound, in order. Absent: none. */
  bound?: BoundServers[];
  /** The folder where the next command begins: relative to the work folder, or absolute. Absent: the work folder. */
  cwd?: string;
}

/** The servers that one skill bound when it became active, and their tools. */
interface BoundServers {
  skill: string;
  servers: string[];
  tools: AgentTool[];
}

export const EMPTY_SESSION: AgentState = {
  visible: [],
  summary: null,
  waiting: [],
  feedback: [],
  skills: [],
  grants: [],
  run: null,
};

/** Whether a skill of the run applies now: it is active or loaded. */
export const isInForce = (
  { active, loaded }: { active: readonly string[]; loaded: readonly string[] },
  skill: string,
): boolean => active.includes(skill) || loaded.includes(skill);

/** A model as `provider/model`. */
export const modelName = ({ provider, model }: { provider: string; model: string }): string =>
  `${provider}/${model}`;

/**
 * The model that a run asks, as `provider/model`; the fallback's if a fallback answered last. A provider may report
 * another name for it. `null`: an earlier version of Hull did not note which model of the fallback answered.
 */
export function askedModel({ spec, answered }: Pick<RunState, "spec" | "answered">): string | null {
  if (answered === undefined || answered.provider === spec.model.provider) return modelName(spec.model);
  const { provider } = answered;
  const model = spec.fallback?.find((target) => target.provider === provider)?.model ?? answered.model;
  return model === undefined ? null : modelName({ provider, model });
}

/** The state of a run whose start was just recorded. */
export function newRun(spec: AgentSpec, active: readonly string[]): RunState {
  const idle = spec.daemon?.begins_idle === true;
  return {
    spec,
    status: idle ? "idle" : "running",
    error: null,
    stage: idle ? "idle" : "open",
    iterations: 0,
    wakeIterations: 0,
    textOnly: 0,
    singleToolTurns: 0,
    fallbackUsed: false,
    active: [...active],
    loaded: [],
    ledger: spec.task_ledger,
    skillHooks: [],
    vault: null,
    loop: {},
    turn: null,
    taken: null,
    calls: [],
    hookResults: {},
    prefill: spec.prefill ?? null,
    totals: { ...NO_USAGE, cost_usd: 0 },
    tools_used: [],
    successful_tools: [],
    rejected_tools: [],
    texts: [],
    deferred: [],
    verification: null,
    consolidated: false,
    feedback: [],
    ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
  };
}

/** The effect ids of a run: one per iteration and kind, so that a later run attempt asks for the same effects. */
export const effects = {
  model: (iteration: number): string => `model-${iteration}`,
  tool: (iteration: number, index: number): string => `tool-${iteration}-${index}`,
  context: (iteration: number): string => `context-${iteration}`,
  postTurn: (iteration: number): string => `post-turn-${iteration}`,
  skillMatch: (iteration: number): string => `skill-match-${iteration}`,
  hostPermission: (call: string): string => `host-${call}`,
  /** A call whose arguments hooks have replaced. */
  changed: (call: string): string => `changed-${call}`,
  escalation: (call: string): string => `escalation-${call}`,
  permission: (call: string, hook: string): string => `permission-${call}-${hook}`,
  preTool: (call: string, hook: number): string => `pre-${call}-${hook}`,
  postTool: (call: string, hook: number): string => `post-${call}-${hook}`,
  commandHook: (call: string, hook: number): string => `hook-${call}-${hook}`,
  commandEvent: (iteration: number, event: string): string => `${event}-${iteration}`,
  compress: (call: string): string => `compress-${call}`,
  skillCommands: (iteration: number, skill: string): string => `commands-${iteration}-${skill}`,
  skillHook: (iteration: number, name: string): string => `skill-${iteration}-${name}`,
  bind: (iteration: number, skill: string): string => `bind-${iteration}-${skill}`,
  /** At most one before the model call, one after the tools, and one on going idle. */
  summary: (iteration: number, stage: Stage): string => {
    const when = stage === "idle" ? "idle" : stage === "tools" || stage === "after" ? "after" : "before";
    return `summary-${iteration}-${when}`;
  },
};
