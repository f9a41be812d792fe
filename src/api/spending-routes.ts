/** The routes of usage, budgets and rates of calls to models, and their request and response shapes. */
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
import { answer, pageOf, query, ref, TEXT } from "./openapi-parts.ts";
import { body, json, lists, type Operations, reads, removes } from "./operation.ts";
import { bodySchema, schemasOf } from "./shape-schema.ts";

const DAY: JsonObject = { type: "string", format: "date" };
const SESSION = query("session_id", "A session's ledger instead of the caller's own.", {
  type: "string",
  pattern: "^[A-Za-z0-9._:-]{1,128}$",
});

export const SPENDING = {
  getUsage: lists("spending", "Tokens and money that the tenant's model calls took", "UsagePage", {
    parameters: [
      query("from", "First day, UTC.", DAY),
      query("to", "Last day, UTC.", DAY),
      query("group_by", "What to sum by.", { enum: ["skill", "session", "model", "day"], default: "day" }),
      query("session", "Only what this session spent.", TEXT),
    ],
  }),
  listBudgets: lists("spending", "The tenant's hard limits, sorted by scope", "Budgets"),
  getBudget: reads("spending", "One hard limit and its present state", "Budget", {
    outcome: "The limit",
    faults: [400],
  }),
  putBudget: {
    tag: "spending",
    summary: "Sets or replaces a hard limit",
    body: body("NewBudget"),
    answers: {
      200: answer("It is replaced", json("Budget")),
      201: answer("It is set", json("Budget")),
    },
    never: [404],
  },
  deleteBudget: removes("spending", "Removes a hard limit", { faults: [400] }),
  getTotalUsage: reads("spending", "The total usage of the tenant's model calls", "TotalUsage", {
    outcome: "Sums",
  }),
  getSessionCost: reads(
    "spending",
    "What a session's calls, or the caller's without session, cost so far",
    "SessionCost",
    { outcome: "Sums", parameters: [SESSION], faults: [404] },
  ),
  getSoftBudget: reads(
    "spending",
    "The soft budget of a session, or of the caller's calls without session",
    "SoftBudget",
    { outcome: "What is left of it", parameters: [SESSION], faults: [404] },
  ),
  putSoftBudget: reads("spending", "Sets the soft budget", "SoftBudget", {
    outcome: "What is left of it",
    parameters: [SESSION],
    body: body("NewSoftBudget"),
    faults: [404],
  }),
  deleteSoftBudget: removes("spending", "Removes the soft budget", {
    outcome: "There is none",
    parameters: [SESSION],
    faults: [404],
  }),
  getRateLimit: reads(
    "spending",
    "How many calls per minute the tenant may make to a provider",
    "ProviderRate",
    { outcome: "The rate", faults: [400], never: [404] },
  ),
  putRateLimit: reads("spending", "Sets the tenant's own rate; 0 removes it", "ProviderRate", {
    outcome: "The rate that holds now",
    body: body("NewProviderRate"),
  }),
} satisfies Operations;

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
