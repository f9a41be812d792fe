/** Shapes of usage, budgets and rates, as JSON Schema 2020-12. */
import type { JsonObject } from "../skill/manifest.ts";
import {
  budgetShape,
  providerRate,
  sessionCost,
  softBudget,
  totalUsage,
  usageShape,
} from "./answers/spending.ts";
import { budgetBody, rateBody, softBudgetBody } from "./bodies/spending.ts";
import { pageOf, ref } from "./openapi-parts.ts";
import { bodySchema, schemasOf } from "./shape-schema.ts";

export const spendingSchemas = (): JsonObject => ({
  ...schemasOf({
    Usage: usageShape,
    TotalUsage: totalUsage,
    Budget: budgetShape,
    SessionCost: sessionCost,
    SoftBudget: softBudget,
    ProviderRate: providerRate,
  }),
  UsagePage: pageOf(ref("schemas", "Usage")),
  Budgets: pageOf(ref("schemas", "Budget")),
  NewBudget: {
    ...bodySchema(budgetBody, { window: { description: "By UTC." } }),
    description: "At least one maximum.",
  },
  NewSoftBudget: bodySchema(softBudgetBody),
  NewProviderRate: bodySchema(rateBody),
});
