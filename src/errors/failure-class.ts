/**
 * The class of a failed model call, for code that may try again; the words are the same for every provider. The errors
 * of calls carry their class in `members`, so records and streams keep it.
 */
import * as z from "zod/mini";
import type { ErrorData } from "../errors.ts";

const REASONS = [
  "context_overflow",
  "content_policy",
  "auth_failure",
  "rate_limit",
  "timeout",
  "model_unavailable",
  "server_error",
  "invalid_request",
  "network_error",
  "unknown",
] as const;
export type FailureReason = (typeof REASONS)[number];

/** Those that no provider causes come from the layers above the model call, and from mocks. */
export const ERROR_CATEGORIES = [
  "timeout",
  "auth",
  "rate_limit",
  "overloaded",
  "server_error",
  "transient_network",
  "schema_validation",
  "tool_error",
  "tool_rejected",
  "egress_blocked",
  "cancelled",
  "not_found",
  "circuit_open",
  "budget_exceeded",
  "generic",
] as const;
export type ErrorCategory = (typeof ERROR_CATEGORIES)[number];

const classShape = z.lazy(() =>
  z.object({
    /** `transient`: the same call may succeed later. */
    kind: z.enum(["transient", "terminal"]),
    reason: z.enum(REASONS),
    category: z.enum(ERROR_CATEGORIES),
    /** For a context overflow: the largest number that the provider named. */
    offending_tokens: z.exactOptional(z.number()),
  }),
);
export type FailureClass = z.infer<typeof classShape>;

export const FAILURES = {
  context_overflow: { kind: "terminal", reason: "context_overflow", category: "generic" },
  content_policy: { kind: "terminal", reason: "content_policy", category: "generic" },
  auth_failure: { kind: "terminal", reason: "auth_failure", category: "auth" },
  rate_limit: { kind: "transient", reason: "rate_limit", category: "rate_limit" },
  timeout: { kind: "transient", reason: "timeout", category: "timeout" },
  model_unavailable: { kind: "terminal", reason: "model_unavailable", category: "not_found" },
  server_error: { kind: "transient", reason: "server_error", category: "server_error" },
  overloaded: { kind: "transient", reason: "server_error", category: "overloaded" },
  invalid_request: { kind: "terminal", reason: "invalid_request", category: "generic" },
  network_error: { kind: "transient", reason: "network_error", category: "transient_network" },
  unknown: { kind: "terminal", reason: "unknown", category: "generic" },
} as const satisfies Record<string, FailureClass>;

/**
 * Reasons that say more than the category, in which a provider merely refuses a request. `/llm`, runs and `/v1` show them
 * as the code of the error, with this title and status.
 */
export const NAMED_REASONS: ReadonlyMap<string, { title: string; status: number }> = new Map([
  ["context_overflow", { title: "Context overflow", status: 400 }],
  ["content_policy", { title: "Content policy", status: 400 }],
  ["invalid_request", { title: "Invalid request", status: 400 }],
  ["model_unavailable", { title: "Model unavailable", status: 502 }],
]);

/** The status of a provider's failure there, by category; 502 of any other. */
export const STATUS_BY_CATEGORY: ReadonlyMap<ErrorCategory, number> = new Map([
  ["budget_exceeded", 402],
  ["tool_rejected", 403],
  ["egress_blocked", 403],
  ["schema_validation", 422],
  ["rate_limit", 429],
  ["cancelled", 499],
  ["circuit_open", 503],
  ["overloaded", 503],
  ["timeout", 504],
]);

/** Errors without a class of their own. */
const BY_CODE = new Map<string, FailureClass>([
  ["provider_not_configured", FAILURES.auth_failure],
  ["provider_misconfigured", FAILURES.invalid_request],
  ["deadline_exceeded", FAILURES.timeout],
  ["client_closed_request", { kind: "terminal", reason: "unknown", category: "cancelled" }],
]);

/** The class of any error, including a stored one: from its members, else by its code. */
export function failureClassOf({ code, members }: Pick<ErrorData, "code" | "members">): FailureClass {
  return classShape.safeParse(members).data ?? BY_CODE.get(code) ?? FAILURES.unknown;
}
