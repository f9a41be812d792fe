/** From an error to its problem document. */
import { type HullError, type Problem, toProblem } from "../errors.ts";
import type { RunContext } from "./context.ts";

/** The redacted problem document; local dev adds what the provider said. */
export function problemOf(error: HullError, context: RunContext): Problem {
  const problem = toProblem(error.data, context.requestId);
  const said = error.operator.provider_message;
  if (context.settings.local && typeof said === "string") problem.provider_message = said.slice(0, 500);
  return context.redacted(problem);
}

/** Notes an error in the log line, operator details included. */
export function logError(error: HullError, context: RunContext): void {
  context.log.code = error.code;
  if (Object.keys(error.operator).length > 0) context.log.error = error.operator;
}
