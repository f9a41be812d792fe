/** Errors of direct model calls: `/llm/*`, runs and sessions. */

import { define } from "../errors.ts";
import { counted } from "../plural.ts";
import { FAILURES } from "./failure-class.ts";

/** An invalid option. `option` is its path. */
export const InvalidRequest = define<{ option?: string; detail: string }>("invalid_request", 400, (d) => ({
  detail: d.detail,
  members: { ...FAILURES.invalid_request, ...(d.option === undefined ? {} : { option: d.option }) },
}));

/**
 * A client asked Hull to hold the conversation from one request of `/v1/messages` to the next. When the SDK's tool
 * runner reads this code, it sends the whole conversation instead.
 */
export const ThreadUnsupported = define("thread_unsupported_request", 400, () => ({
  title: "Threads are not supported",
  detail:
    "thread: Hull keeps no conversations of /v1/messages, and budgets could not count one that the provider keeps. Send the whole conversation without thread.",
  members: { option: "thread", ...FAILURES.invalid_request },
}));

/** After every attempt, the answer is still not the JSON that was requested. */
export const SchemaValidation = define<{
  provider: string;
  model: string;
  errors: readonly string[];
  attempts: number;
  hint: string;
}>("schema_validation", 422, (d) => ({
  title: "Answer does not match the schema",
  detail: `The answer of ${d.provider} does not match the schema after ${counted(d.attempts, "attempt")}: ${d.errors.join("; ")}. ${d.hint}`,
  members: {
    kind: "terminal",
    reason: "schema_validation",
    category: "schema_validation",
    provider: d.provider,
    model: d.model,
    attempts: d.attempts,
    schema_errors: d.errors,
  },
}));

export const ToolsRejected = define<{ tools: readonly string[]; reason?: string }>(
  "tool_rejected",
  403,
  ({ tools, reason }) => ({
    title: "Tools not allowed",
    detail:
      reason ??
      `The policy of this deployment allows none of the tools that the run asks for: ${tools.join(", ")}.`,
    members: { kind: "terminal", reason: "tool_rejected", category: "tool_rejected", tools },
  }),
);

/**
 * A call names something that does not exist: a file of the conversation, a session and so on. `id`: `""` if somebody
 * removed it during the call. `ids`: the permitted form of an id, if this one is malformed.
 */
export const CallNotFound = define<{ what: string; id: string; ids?: string }>("not_found", 404, (d) => ({
  detail: notFound(d),
  members: { kind: "terminal", reason: "not_found", category: "not_found" },
}));

function notFound({ what, id, ids }: { what: string; id: string; ids?: string }): string {
  if (id === "" && ids === undefined) return `The ${what} no longer exists.`;
  const further =
    ids !== undefined ? ` An id has ${ids}.` : what === "session" ? " POST /sessions opens one." : "";
  return `There is no ${what} "${id}".${further}`;
}
