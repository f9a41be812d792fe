/** How a run ends (agent-runtime.md §7.6). Pure. */
import type { RunStatus } from "./records.ts";
import type { RunState } from "./state.ts";

/**
 * The status of a run whose turn's outcome is `status`. Budgets are looked at after the turn's outcome and override it;
 * a run whose required tools never succeeded has failed, if nothing worse became of it; a daemon that is done is idle.
 */
export function finalStatus(run: RunState, status: RunStatus): RunStatus {
  const { spec, totals } = run;
  const tokens = totals.input_tokens + totals.output_tokens;
  if (status === "done" || status === "stuck" || status === "budget_exhausted") {
    if (spec.token_budget !== null && tokens >= spec.token_budget) return "budget_exhausted";
    if (spec.total_budget_usd !== null && totals.cost_usd >= spec.total_budget_usd) return "budget_exhausted";
  }
  if (status !== "done") return status;
  if (spec.daemon !== null) return "idle";
  const required = spec.require_successful_tools;
  const none = required.length > 0 && !required.some((name) => run.successful_tools.includes(name));
  return none ? "failed" : "done";
}

/** Whether no further iteration may begin. A daemon's count anew at each wake unless its limit was given. */
export function iterationsUsedUp({ spec, iterations, wakeIterations }: RunState): boolean {
  const used = spec.daemon === null || spec.daemon.bounded ? iterations : wakeIterations;
  return used >= spec.max_iterations;
}
