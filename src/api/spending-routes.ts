/** Usage, budgets and rates of calls to models. */
import type { JsonObject } from "../skill/manifest.ts";
import { answer, inPath, query, TEXT } from "./openapi-parts.ts";
import { body, json, type Operations, schema } from "./operation.ts";

const DAY: JsonObject = { type: "string", format: "date" };
const PAGE = [
  query("limit", "Rows per page.", { type: "integer", minimum: 1, maximum: 1000, default: 20 }),
  query("cursor", "Where the page before ended.", TEXT),
];
const SCOPE = inPath("scope", {
  type: "string",
  pattern: "^(tenant|skill:[a-z0-9]+(-{1,2}[a-z0-9]+)*|session:[A-Za-z0-9._:-]{1,128})$",
});
const PROVIDER = inPath("provider", { type: "string", pattern: "^[a-z0-9][a-z0-9._-]{0,63}$" });
const SESSION = query("session_id", "A session's ledger instead of the caller's own.", {
  type: "string",
  pattern: "^[A-Za-z0-9._:-]{1,128}$",
});
const BODY_FAULTS = [400, 408, 413, 422];

export const SPENDING = {
  getUsage: {
    tag: "spending",
    summary: "Tokens and money that the tenant's model calls took",
    parameters: [
      query("from", "First day, UTC.", DAY),
      query("to", "Last day, UTC.", DAY),
      query("group_by", "What to sum by.", { enum: ["skill", "session", "model", "day"], default: "day" }),
      query("session", "Only what this session spent.", TEXT),
      ...PAGE,
    ],
    answers: { 200: answer("Sums", json(schema("UsagePage"))) },
    faults: [400],
  },
  listBudgets: {
    tag: "spending",
    summary: "The tenant's hard limits, sorted by scope",
    parameters: PAGE,
    answers: { 200: answer("Limits", json(schema("Budgets"))) },
    faults: [400],
  },
  getBudget: {
    tag: "spending",
    summary: "One hard limit and its present state",
    parameters: [SCOPE],
    answers: { 200: answer("The limit", json(schema("Budget"))) },
    faults: [400, 404],
  },
  putBudget: {
    tag: "spending",
    summary: "Sets or replaces a hard limit",
    parameters: [SCOPE],
    body: body(schema("NewBudget")),
    answers: {
      200: answer("It is replaced", json(schema("Budget"))),
      201: answer("It is set", json(schema("Budget"))),
    },
    faults: BODY_FAULTS,
  },
  deleteBudget: {
    tag: "spending",
    summary: "Removes a hard limit",
    parameters: [SCOPE],
    answers: { 204: answer("It is removed", null) },
    faults: [400, 404],
  },
  getTotalUsage: {
    tag: "spending",
    summary: "The total usage of the tenant's model calls",
    answers: { 200: answer("Sums", json(schema("TotalUsage"))) },
  },
  getSessionCost: {
    tag: "spending",
    summary: "What a session's calls, or the caller's without session, cost so far",
    parameters: [SESSION],
    answers: { 200: answer("Sums", json(schema("SessionCost"))) },
    faults: [400, 404],
  },
  getSoftBudget: {
    tag: "spending",
    summary: "The soft budget of a session, or of the caller's calls without session",
    parameters: [SESSION],
    answers: { 200: answer("What is left of it", json(schema("SoftBudget"))) },
    faults: [400, 404],
  },
  putSoftBudget: {
    tag: "spending",
    summary: "Sets the soft budget",
    parameters: [SESSION],
    body: body(schema("NewSoftBudget")),
    answers: { 200: answer("What is left of it", json(schema("SoftBudget"))) },
    faults: [...BODY_FAULTS, 404],
  },
  deleteSoftBudget: {
    tag: "spending",
    summary: "Removes the soft budget",
    parameters: [SESSION],
    answers: { 204: answer("There is none", null) },
    faults: [400, 404],
  },
  getRateLimit: {
    tag: "spending",
    summary: "How many calls per minute the tenant may make to a provider",
    parameters: [PROVIDER],
    answers: { 200: answer("The rate", json(schema("ProviderRate"))) },
    faults: [400],
  },
  putRateLimit: {
    tag: "spending",
    summary: "Sets the tenant's own rate; 0 removes it",
    parameters: [PROVIDER],
    body: body(schema("NewProviderRate")),
    answers: { 200: answer("The rate that holds now", json(schema("ProviderRate"))) },
    faults: [...BODY_FAULTS, 404],
  },
} satisfies Operations;
