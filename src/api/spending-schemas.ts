/** Shapes of usage, budgets and rates, as JSON Schema 2020-12. */
import type { JsonObject } from "../skill/manifest.ts";
import { budgetBody, rateBody, softBudgetBody, WINDOWS } from "./bodies/spending.ts";
import { COUNT, MAYBE_TEXT, object, pageOf, ref, TEXT } from "./openapi-parts.ts";
import { bodySchema } from "./shape-schema.ts";

const USD: JsonObject = { type: "number", minimum: 0 };
const TIME: JsonObject = { type: "string", format: "date-time" };
const MAYBE_TIME: JsonObject = { type: ["string", "null"], format: "date-time" };
const BY_UTC = { description: "By UTC." };
const WINDOW: JsonObject = { enum: [...WINDOWS], ...BY_UTC };
const MAXIMA: JsonObject = { max_cost_usd: USD, max_input_tokens: COUNT, max_output_tokens: COUNT };
const AMOUNT = object({ cost_usd: USD, input_tokens: COUNT, output_tokens: COUNT });

const USAGE = object(
  {
    day: { type: "string", format: "date" },
    skill: MAYBE_TEXT,
    session: MAYBE_TEXT,
    provider: TEXT,
    model: TEXT,
    calls: COUNT,
    input_tokens: COUNT,
    output_tokens: COUNT,
    cache_read_tokens: COUNT,
    cache_write_tokens: COUNT,
    cost_usd: USD,
    price_known: { type: "boolean", description: "Whether the price of every call is known." },
    estimated_calls: { ...COUNT, description: "Calls whose tokens are estimates." },
    duration_ms: COUNT,
  },
  ["day", "skill", "session", "provider", "model"],
);
const BUDGET = object(
  {
    scope: TEXT,
    window: WINDOW,
    ...MAXIMA,
    spent: AMOUNT,
    reserved: { ...AMOUNT, description: "Held by calls under way." },
    since: MAYBE_TIME,
    resets_at: MAYBE_TIME,
    updated_at: TIME,
  },
  Object.keys(MAXIMA),
);

export function spendingSchemas(): JsonObject {
  return {
    Usage: { ...USAGE, description: "Named by what it is grouped by; `null`: by no skill, in no session." },
    UsagePage: pageOf(ref("schemas", "Usage")),
    TotalUsage: object({
      input_tokens: COUNT,
      output_tokens: COUNT,
      total_duration_ms: COUNT,
      call_count: COUNT,
    }),
    Budget: BUDGET,
    Budgets: pageOf(ref("schemas", "Budget")),
    NewBudget: {
      ...bodySchema(budgetBody, { window: BY_UTC }),
      description: "At least one maximum.",
    },
    SessionCost: object({ total_cost: USD, input_tokens: COUNT, output_tokens: COUNT, call_count: COUNT }),
    SoftBudget: object({
      budget: { type: ["number", "null"] },
      remaining: { type: ["number", "null"], description: "USD; negative where it was passed." },
    }),
    NewSoftBudget: bodySchema(softBudgetBody),
    ProviderRate: object({
      provider: TEXT,
      rpm: { type: ["integer", "null"], minimum: 1 },
      source: { enum: ["tenant", "deployment", null], description: "Who set it." },
    }),
    NewProviderRate: bodySchema(rateBody),
  };
}
