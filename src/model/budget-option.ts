/** The `budget` option of a call, which Hull checks before each attempt. Pure. */

import { sumUsd, usdOf } from "../engine/usd.ts";
import { BudgetExceeded, PriceUnknown } from "../errors/budget.ts";
import { nanoUsd } from "./cost.ts";
import type { ModelPrice } from "./registry/definition.ts";

/** Every limit is at least 0; absent: no limit. */
export interface BudgetOption {
  max_cost_usd?: number;
  /** For the whole session, or for the caller's calls without a session. */
  total_budget_usd?: number;
  max_input_tokens?: number;
  max_output_tokens?: number;
}

/** The facts before an attempt. */
export interface Projection {
  provider: string;
  model: string;
  /** `null`: unknown. */
  price: ModelPrice | null;
  /** Whether a cost limit refuses a call of unknown price. */
  refusesUnpriced: boolean;
  /** The estimated tokens of the prompt. */
  input_tokens: number;
  /** `max_tokens` as the caller set it; `null`: not set. */
  max_tokens: number | null;
  /** What the session, or the caller without one, has spent so far. */
  session_cost_usd: number;
}

const COST_LIMITS = ["max_cost_usd", "total_budget_usd"] as const;

/**
 * Checks an attempt against the limits. Output counts as `max_output_tokens`, else as an explicit `max_tokens`, else as
 * none.
 * @throws BudgetExceeded, PriceUnknown
 */
export function checkBudgetOption(option: BudgetOption, call: Projection): void {
  const { provider, model, price, session_cost_usd } = call;
  const output = option.max_output_tokens ?? call.max_tokens ?? 0;
  const usage = {
    input_tokens: call.input_tokens,
    output_tokens: output,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
  };
  const cost = price === null ? null : usdOf(nanoUsd(usage, price, false));
  const unpriced = COST_LIMITS.find((limit) => option[limit] !== undefined);
  if (cost === null && call.refusesUnpriced && unpriced !== undefined) {
    throw new PriceUnknown({ provider, model, scope: "options.budget", limit: unpriced });
  }
  const checks = [
    ["max_cost_usd", option.max_cost_usd, cost],
    ["total_budget_usd", option.total_budget_usd, cost === null ? null : sumUsd(session_cost_usd, cost)],
    ["max_input_tokens", option.max_input_tokens, call.input_tokens],
    // Every call asks for at least one token.
    ["max_output_tokens", option.max_output_tokens, call.max_tokens ?? 1],
  ] as const;
  for (const [limit, limit_value, projected] of checks) {
    if (limit_value === undefined || projected === null || projected <= limit_value) continue;
    throw new BudgetExceeded({
      budget: "option",
      limit,
      limit_value,
      projected_cost_usd: cost ?? 0,
      session_cost_usd,
      projected_input_tokens: call.input_tokens,
      projected_output_tokens: limit === "max_output_tokens" ? (call.max_tokens ?? output) : output,
      provider,
      model,
    });
  }
}
