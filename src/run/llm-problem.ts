/** Failures of model calls as their callers see them: by category, with the provider's words. */
import { firstOf } from "../cut.ts";
import {
  type FailureClass,
  failureClassOf,
  NAMED_REASONS,
  STATUS_BY_CATEGORY,
} from "../errors/failure-class.ts";
import { type ErrorData, HullError, isFault, toHullError } from "../errors.ts";
import { DEFAULT_RETRY_AFTER_S } from "../model/failure.ts";
import { asJson } from "../skill/json.ts";
import type { Json } from "../skill/manifest.ts";
import type { RunContext } from "./context.ts";

const MAX_WORDS = 2000;

/**
 * A provider's failure with the status of its category, its class, and the provider's own words. Other errors stay as
 * they are. Keys are redacted.
 */
export function llmError(thrown: unknown, context: RunContext): HullError {
  const error = toHullError(thrown);
  const { code, members } = error.data;
  const ofProvider = code.startsWith("provider_") || code === "mocked_failure";
  if (typeof members.provider !== "string" || !ofProvider) return error;
  const failure = failureClassOf(error.data);
  const words = error.operator.provider_message;
  const said = typeof words === "string" ? ` It says: ${firstOf(context.redacted(words), MAX_WORDS)}` : "";
  const own = code === "provider_rejected_request" ? NAMED_REASONS.get(failure.reason)?.title : undefined;
  const detail = `${error.data.detail} (${failure.reason})${said}`;
  const status = statusOf(code, failure);
  const seconds = error.data.retry_after_s ?? retryAfter(error.data);
  return new HullError(
    {
      ...error.data,
      ...(own === undefined ? {} : { code: failure.reason, title: own }),
      status,
      ...(seconds === undefined ? {} : { retry_after_s: seconds }),
      detail: String(context.redacted(detail)),
      members: { ...members, ...failure },
    },
    error.operator,
  );
}

/**
 * Throws the failure of a model call. A failure that Hull does not know ends the run too, since another attempt would
 * pay for the call again. If somebody stopped the run, throws that reason.
 */
export const finalFault =
  (signal: AbortSignal) =>
  (error: unknown): never => {
    throw signal.aborted ? error : toHullError(error);
  };

/** The seconds of `Retry-After` that follow from the class of a failure, whatever its status. */
export function retryAfter(error: Pick<ErrorData, "code" | "members">): number | undefined {
  const { kind, category } = failureClassOf(error);
  const ms = error.members.retry_after_ms;
  if (kind === "transient" && typeof ms === "number") return Math.ceil(ms / 1000);
  return category === "rate_limit" ? DEFAULT_RETRY_AFTER_S : undefined;
}

function statusOf(code: string, { reason, category }: FailureClass): number {
  if (code === "provider_not_configured" || code === "provider_misconfigured") return 503;
  return NAMED_REASONS.get(reason)?.status ?? STATUS_BY_CATEGORY.get(category) ?? 502;
}

/** The ErrorDict with its category; `null`: the request or Hull was at fault, and the answer is a problem document. */
export function errorDict(thrown: unknown, context: RunContext): { error: Json; category: string } | null {
  const error = llmError(thrown, context);
  const { detail, members, status } = error.data;
  if (status === 422 && error.code === "input_invalid") return null;
  if (isFault(error)) return null;
  const failure = failureClassOf(error.data);
  const category = typeof members.category === "string" ? members.category : failure.category;
  const dict = asJson({ ...failure, ...members, category, code: error.code, message: detail });
  return { error: dict, category };
}
