/** Decides how a run ends. Pure. */

import { BudgetExceeded } from "../../errors/budget.ts";
import { DeadlineExceeded } from "../../errors/run.ts";
import type { HullError } from "../../errors.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RunStatus } from "../run-status.ts";
import { resourceDefinition } from "./skill-resource.ts";
import type { AgentSpec, WakeLimit } from "./spec.ts";
import { spentBy, spentInWake } from "./spent.ts";
import type { RunState } from "./state.ts";

/**
 * The status of a run whose turn ended with `status`. Budgets are checked after the turn and override its outcome. A
 * run whose required tools never succeeded has failed, unless something worse happened. A daemon that has finished is
 * idle.
 */
export function finalStatus(run: RunState, status: RunStatus): RunStatus {
  const { spec } = run;
  if (status === "done" || status === "stuck" || status === "budget_exhausted") {
    if (reachedBudget(run) !== null) return "budget_exhausted";
  }
  if (status !== "done") return status;
  if (spec.daemon !== null) return "idle";
  const required = spec.require_successful_tools;
  const none = required.length > 0 && !required.some((name) => run.successful_tools.includes(name));
  return none ? "failed" : "done";
}

/**
 * The code of the error that ended a run or call, or of the budget that refused its next model call; `null`: neither did.
 * @param code of the error
 */
export const endCode = (code: string | null | undefined, refused: boolean | undefined): string | null =>
  code ?? (refused === true ? BudgetExceeded.code : null);

/** The name of the budget that the run has used up; `null`: none. */
function reachedBudget(run: RunState): JsonObject | null {
  const { token_budget, total_budget_usd } = run.spec;
  const { tokens, cost_usd } = spentBy(run);
  if (token_budget !== null && tokens >= token_budget) return { token_budget };
  return total_budget_usd !== null && cost_usd >= total_budget_usd ? { total_budget_usd } : null;
}

/** The limit that ended a run as `budget_exhausted`, by its name; empty: none of the run's own. */
export function reachedLimit(run: RunState): JsonObject {
  const { max_iterations, daemon, served, max_tool_rounds } = run.spec;
  const budget = reachedBudget(run);
  if (budget !== null) return budget;
  if (iterationsUsedUp(run)) return { max_iterations };
  const reached = wakeLimitReached(run);
  if (reached !== null) return { scope: "wake", [reached]: daemon?.wake_budget?.[reached] ?? max_iterations };
  const rounds = served?.max_tool_rounds ?? max_tool_rounds;
  return roundsUsedUp(run) && rounds !== undefined ? { max_tool_rounds: rounds } : {};
}

/** Whether the run may begin no further iteration. A daemon with the default limit has only that of a wake. */
export function iterationsUsedUp({ spec, iterations }: RunState): boolean {
  const bounded = spec.daemon === null || spec.daemon.bounded;
  return bounded && iterations >= spec.max_iterations;
}

/** The limit that a daemon's wake has reached; `null`: none, so it may begin another iteration. */
export function wakeLimitReached(run: RunState): WakeLimit | null {
  const { spec, wakeIterations } = run;
  const { daemon } = spec;
  if (daemon === null) return null;
  const { wake_budget = {}, bounded } = daemon;
  const iterations = wake_budget.max_iterations ?? (bounded ? Number.POSITIVE_INFINITY : spec.max_iterations);
  if (wakeIterations >= iterations) return "max_iterations";
  const { tokens, cost_usd } = spentInWake(run);
  if (tokens >= (wake_budget.max_tokens ?? Number.POSITIVE_INFINITY)) return "max_tokens";
  return cost_usd >= (wake_budget.max_cost_usd ?? Number.POSITIVE_INFINITY) ? "max_cost_usd" : null;
}

/** Whether the model has any tool: the run's own, or those that load its skills and read their files. */
export const hasTools = (spec: AgentSpec): boolean =>
  spec.tools.length > 0 ||
  resourceDefinition(spec) !== null ||
  spec.skills.some(({ disable_model_invocation }) => !disable_model_invocation);

/** Whether any text of the model is the answer that a caller waits for. Such a caller also gets a refusal. */
export const answersCaller = ({ served, single }: AgentSpec): boolean =>
  served !== undefined || single === true;

/** Whether the model has had all rounds of tools that its skill allows: now it may only answer. */
export function roundsUsedUp({ spec, iterations, wakeIterations }: RunState): boolean {
  const { max_tool_rounds: rounds = Number.POSITIVE_INFINITY } = spec.served ?? spec;
  return (spec.daemon === null ? iterations : wakeIterations) > rounds;
}

/** Whether the loop executes the calls of a turn. */
export const mayCallTools = (run: RunState): boolean =>
  !roundsUsedUp(run) && (run.spec.served === undefined || hasTools(run.spec));

/** `deadline_exceeded`, with the names of what was under way. */
export function deadlineError({ spec, calls, iterations }: RunState): HullError {
  const running = calls.filter(({ stage }) => stage !== "settled").map(({ call }) => call.name);
  const during = running.length > 0 ? `tool ${running.join(", ")}` : `model call ${Math.max(1, iterations)}`;
  return new DeadlineExceeded({ timeout_ms: spec.deadline?.ms ?? 0, during });
}

/** Whether the run's time is over. */
export const isOverdue = ({ spec, stage }: RunState, now: number): boolean =>
  stage !== "ended" && spec.deadline !== undefined && now >= spec.deadline.at;
