/** What a run used, itself and through those below it. Pure. */
import { addSpent, costIn, NOTHING_SPENT, type Spent } from "../shares.ts";
import { sumUsd } from "../usd.ts";
import type { RunState } from "./state.ts";

/** The run's own model calls, and the delegated runs whose usage has come back to it. */
export const spentBy = (run: Pick<RunState, "totals" | "delegated">): Spent =>
  addSpent(run.delegated, ownSpent(run));

/** The run's own model calls alone. */
export const ownSpent = ({ totals }: Pick<RunState, "totals">): Spent => ({
  tokens: totals.input_tokens + totals.output_tokens,
  ...costIn(totals),
});

/** What the current wake of a daemon used. */
export function spentInWake({ wakeFrom, delegated = NOTHING_SPENT, ...run }: RunState): Spent {
  const own = ownSpent(run);
  const from = wakeFrom ?? { ...NOTHING_SPENT, delegated: NOTHING_SPENT };
  // A wake that an earlier version of Hull began did not note what delegated runs had used.
  const { delegated: below = delegated } = from;
  return {
    tokens: own.tokens - from.tokens + delegated.tokens - below.tokens,
    cost_usd: sumUsd(own.cost_usd, -from.cost_usd, delegated.cost_usd, -below.cost_usd),
  };
}
