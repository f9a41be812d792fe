/** What a workflow run leaves to the runs of its nodes. Pure. */
import { NO_CEILINGS } from "../../engine/agent/delegation.ts";
import type { Ceilings } from "../../engine/agent/spec.ts";
import { totalOutcomes, type WorkflowState } from "../../engine/workflow/state.ts";

/** What was left to the run itself, less what its own stages took. @param session that the run lives in */
export function ceilingsIn(state: WorkflowState, session: string): Ceilings {
  const { spec, began } = state;
  const { above = NO_CEILINGS, run_id, deadline } = spec;
  const own = state.stages.filter(({ id }) => id.startsWith(`${run_id}:`));
  const items = state.visits.flatMap((visit) => Object.values(visit.items));
  const { input_tokens, output_tokens, total_cost } = totalOutcomes([...own, ...items]);
  return {
    ...above,
    run_id,
    session_id: session,
    account: above.account ?? session,
    tokens: left(above.tokens, input_tokens + output_tokens),
    usd: left(above.usd, total_cost),
    deadline: deadline === null ? null : { at: deadline, ms: Math.max(1, deadline - began) },
    files: above.files ?? session,
  };
}

const left = (of: number | null, taken: number): number | null =>
  of === null ? null : Math.max(0, of - taken);
