/** Errors of money and quota. */
import { define } from "../errors.ts";

/** A hard limit of a scope, or the soft budget of a session or caller. In USD if it limits money, else in tokens. */
interface SpentBudget {
  budget: "hard" | "soft";
  scope: string;
  window: string;
  limit: string;
  limit_value: number;
  spent: number;
  /** Reserved by calls that are running. */
  reserved: number;
  /** The most that this call may take; for a soft budget, only its prompt. */
  requested: number;
  /** RFC 3339; `null`: never. */
  resets_at: string | null;
}

/** The `budget` option of one call. */
interface CallBudget {
  budget: "option";
  limit: string;
  limit_value: number;
  projected_cost_usd: number;
  session_cost_usd: number;
  projected_input_tokens: number;
  projected_output_tokens: number;
  provider: string;
  model: string;
}

export const BudgetExceeded = define<SpentBudget | CallBudget>("budget_exceeded", 402, (d) => ({
  detail: d.budget === "option" ? detailOfCall(d) : detailOfScope(d),
  members: { kind: "terminal", reason: "budget_exceeded", category: "budget_exceeded", ...d },
}));

function detailOfScope(d: SpentBudget) {
  const span = d.window === "total" ? "" : ` per ${d.window}`;
  const reset = d.resets_at === null ? "" : ` It resets at ${d.resets_at}.`;
  return `The call could exceed ${d.limit} ${d.limit_value}${span} of ${d.scope}: ${d.spent} is spent, calls under way reserve ${d.reserved}, and this call may take ${d.requested}.${reset}`;
}

function detailOfCall(d: CallBudget) {
  return `The call could exceed its budget's ${d.limit} of ${d.limit_value}: it is projected to cost ${d.projected_cost_usd} USD for ${d.projected_input_tokens} input and ${d.projected_output_tokens} output tokens.`;
}

/** A cost limit that cannot be enforced, since the model's price is unknown. */
export const PriceUnknown = define<{
  provider: string;
  model: string;
  /** `tenant`, `skill:<slug>`, `session:<id>`, or `options.budget`. */
  scope: string;
  limit: string;
}>("price_unknown", 402, (d) => ({
  detail: `${d.limit} of ${d.scope} limits what may be spent, and the price of ${d.model} (${d.provider}) is unknown. Set its price in [llm.prices] of hull.toml, call a model whose price is known, or set unknown_price = "allow" in [llm] to let such calls pass uncounted.`,
  members: { kind: "terminal", reason: "budget_exceeded", category: "budget_exceeded", ...d },
}));

export const BudgetNotFound = define<{ scope: string }>("budget_not_found", 404, (d) => ({
  detail: `No budget is set for ${d.scope}. PUT /budgets/${d.scope} sets one.`,
}));
