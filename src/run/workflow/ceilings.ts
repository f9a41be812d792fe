/** The limits that a workflow run sets for the runs of its nodes. Pure. */
import { NO_CEILINGS } from "../../engine/agent/delegation.ts";
import type { Ceilings, RunPolicies } from "../../engine/agent/spec.ts";
import { heldBy } from "../../engine/shares.ts";
import { sumUsd } from "../../engine/usd.ts";
import { sharersOf } from "../../engine/workflow/next.ts";
import type { WorkflowState } from "../../engine/workflow/state.ts";
import { defined } from "../../skill/json.ts";
import { plain, policyOf } from "./stage.ts";

/** How long an approval waits by default, in s. */
const APPROVAL_S = 86_400;

/** What an attempt that begins now may use: those under way at once share the rest. @param session the session of the run */
export const ceilingsOfAttempt = (state: WorkflowState, session: string): Ceilings =>
  ceilingsIn(state, session, Math.max(1, sharersOf(state)));

/** What the run itself may still use, shared equally: its limits without what its stages used. */
function ceilingsIn(state: WorkflowState, session: string, sharers: number): Ceilings {
  const { spec, began, used } = state;
  const { above = NO_CEILINGS, run_id, deadline } = spec;
  const { shares, delegated = { tokens: 0, cost_usd: 0 } } = state;
  const held = heldBy(shares);
  const tokens = left(above.tokens, used.input_tokens + used.output_tokens + delegated.tokens + held.tokens);
  const usd = left(above.usd, sumUsd(used.total_cost, delegated.cost_usd, held.cost_usd));
  return {
    ...above,
    run_id,
    session_id: session,
    account: above.account ?? session,
    tokens: tokens === null ? null : Math.floor(tokens / sharers),
    usd: usd === null ? null : usd / sharers,
    deadline: deadline === null ? null : { at: deadline, ms: Math.max(1, deadline - began) },
    files: above.files ?? session,
  };
}

/** What runs that its session hands over may use: as much as its nodes, within the run's own policy. */
export function ceilingsBelow(state: WorkflowState, session: string): Ceilings {
  const { above, graph, policy, options } = state.spec;
  const outer = above?.policies ?? null;
  const terms = outer === null ? [] : [...(outer.above ?? []), termsOf(outer)];
  const live = state.finished === null;
  return {
    ...ceilingsIn(state, session, 1),
    ...(live ? {} : { run_id: null, deadline: null }),
    policies: {
      approval_timeout_s: outer?.approval_timeout_s ?? APPROVAL_S,
      ...defined({ ceiling: outer?.ceiling, ceilings: outer?.ceilings, host: outer?.host }),
      ...(terms.length === 0 ? {} : { above: terms }),
      approval_policy: plain(graph.approval_policy ?? options.approval_policy),
      permissions: plain(options.permissions),
      policy: policyOf([outer?.policy, policy, graph.capability_policy]),
    },
  };
}

const termsOf = ({ approval_policy, permissions }: RunPolicies) => ({ approval_policy, permissions });

const left = (of: number | null, taken: number): number | null =>
  of === null ? null : Math.max(0, of - taken);
