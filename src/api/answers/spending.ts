/** What the routes of usage, budgets and rates answer: shapes, of which the Worker uses only the types. */
import * as z from "zod/mini";
import { about, count, flag, maybe, named, text, time } from "../../answer-shape.ts";
import { WINDOWS } from "../bodies/spending.ts";

const usd = () => z.number().check(z.nonnegative());
const tokens = { input_tokens: count(), output_tokens: count() };

/** Sums of one group: the member named after the grouping holds its value. */
export type Usage = z.infer<typeof usageShape>;
export const usageShape = about(
  named(
    "Usage",
    z.object({
      day: maybe(z.string().check(z.meta({ format: "date" }))),
      skill: maybe(z.nullable(text())),
      session: maybe(z.nullable(text())),
      provider: maybe(text()),
      model: maybe(text()),
      calls: count(),
      ...tokens,
      cache_read_tokens: count(),
      cache_write_tokens: count(),
      cost_usd: usd(),
      price_known: about(flag(), "Whether the price of every call is known."),
      estimated_calls: about(count(), "Calls whose tokens are estimates."),
      duration_ms: count(),
    }),
  ),
  "Named by what it is grouped by; `null`: by no skill, in no session.",
);
export type TotalUsage = z.infer<typeof totalUsage>;
export const totalUsage = z.object({ ...tokens, total_duration_ms: count(), call_count: count() });

const amount = () => z.object({ cost_usd: usd(), ...tokens });

/** A hard limit and its present state. */
export type Budget = z.infer<typeof budgetShape>;
export const budgetShape = named(
  "Budget",
  z.object({
    scope: text(),
    window: about(z.enum(WINDOWS), "By UTC."),
    max_cost_usd: maybe(usd()),
    max_input_tokens: maybe(count()),
    max_output_tokens: maybe(count()),
    spent: amount(),
    reserved: about(amount(), "Held by calls under way."),
    since: z.nullable(time()),
    resets_at: z.nullable(time()),
    updated_at: time(),
  }),
);

export type SessionCost = z.infer<typeof sessionCost>;
export const sessionCost = z.object({ total_cost: usd(), ...tokens, call_count: count() });
export type SoftBudget = z.infer<typeof softBudget>;
export const softBudget = z.object({
  budget: z.nullable(z.number()),
  remaining: about(z.nullable(z.number()), "USD; negative where it was passed."),
});
export type ProviderRate = z.infer<typeof providerRate>;
export const providerRate = z.object({
  provider: text(),
  rpm: z.nullable(z.int().check(z.minimum(1))),
  source: about(z.nullable(z.enum(["tenant", "deployment"])), "Who set it."),
});
