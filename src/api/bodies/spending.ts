/** The bodies of requests that set budgets and rates. */
import * as z from "zod/mini";

/** Larger sums of nano-USD are not exact. */
const MAX_USD = 1_000_000;
const MAX_RPM = 1_000_000;
export const WINDOWS = ["hour", "day", "month", "total"] as const;
const usd = () => z.number().check(z.nonnegative(), z.maximum(MAX_USD));

export const budgetBody = z.lazy(() => {
  const tokens = z.nullish(z.int().check(z.nonnegative()));
  const limits = z.strictObject({
    window: z.enum(WINDOWS),
    max_cost_usd: z.nullish(usd()),
    max_input_tokens: tokens,
    max_output_tokens: tokens,
  });
  return limits.check(
    z.refine(
      ({ window: _, ...maxima }) => Object.values(maxima).some((value) => typeof value === "number"),
      "sets none of max_cost_usd, max_input_tokens, max_output_tokens",
    ),
  );
});
export const softBudgetBody = z.lazy(() => z.strictObject({ max_cost: usd() }));
export const rateBody = z.lazy(() =>
  z.strictObject({ rpm: z.int().check(z.nonnegative(), z.maximum(MAX_RPM)) }),
);
