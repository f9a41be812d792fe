/** Turns an error into its problem document. */
import { firstOf } from "../cut.ts";
import { type HullError, type Problem, toProblem } from "../errors.ts";
import type { RunContext } from "./context.ts";

/** The redacted problem document. Local dev adds the provider's words. */
export function problemOf(error: HullError, context: RunContext): Problem {
  const problem = toProblem(error.data, context.requestId);
  const said = error.operator.provider_message;
  if (context.settings.local && typeof said === "string") problem.provider_message = firstOf(said, 500);
  return context.redacted(problem);
}

/** Writes an error to the log line, including operator details. */
export function logError(error: HullError, context: RunContext): void {
  context.log.code = error.code;
  if (Object.keys(error.operator).length > 0) context.log.error = error.operator;
}
