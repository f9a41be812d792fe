/** Turns an error into its problem document. */
import { firstOf } from "../cut.ts";
import { HullError, type Problem, toProblem } from "../errors.ts";
import type { RunContext } from "./context.ts";

/** The redacted problem document. Local dev adds the provider's words. */
export function problemOf(error: HullError, context: RunContext): Problem {
  return context.redacted(toProblem(withProviderWords(error, context).data, context.requestId));
}

/**
 * In local dev, the error with the provider's words among its members, where they remain when it is stored as data. A secret
 * that is cut off could no longer be found, so they are redacted first.
 */
export function withProviderWords(error: HullError, context: RunContext): HullError {
  const said = error.operator.provider_message;
  if (!context.settings.local || typeof said !== "string") return error;
  const provider_message = firstOf(context.redacted(said), 500);
  const members = { ...error.data.members, provider_message };
  return new HullError({ ...error.data, members }, error.operator);
}

/** Writes an error to the log line, including operator details. */
export function logError(error: HullError, context: RunContext): void {
  context.log.code = error.code;
  if (Object.keys(error.operator).length > 0) context.log.error = error.operator;
}
