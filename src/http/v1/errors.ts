/** Errors below `/v1` in the shape that the client's SDK reads. */

import type { HullError } from "../../errors.ts";
import type { RequestContext } from "../context.ts";
import { jsonAnswer } from "../json.ts";
import { problemHeaders } from "../problem.ts";
import type { Dialect } from "./dialect.ts";

/** The error types of both vendors by status; Anthropic's list is the longer one. */
const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
  529: "overloaded_error",
};
/** OpenAI's types where they differ. */
const OPENAI_TYPES: Readonly<Record<number, string>> = {
  402: "insufficient_quota",
  413: "invalid_request_error",
};

/** Codes for which the Anthropic SDK has its own class, which it chooses by `details.error_code`. */
const SDK_CODES: ReadonlySet<string> = new Set([
  "skill_read_blocked_undecryptable",
  "file_not_downloadable",
  "storage_quota_exceeded",
  "file_expired",
  "thread_unsupported_request",
]);

/** The status that the client sees; the vendors do not use 422. */
function statusOf({ status }: HullError): number {
  return status === 422 ? 400 : status;
}

function typeOf(status: number, dialect: Dialect): string {
  const other = status >= 500 ? "api_error" : "invalid_request_error";
  if (dialect !== "openai") return TYPES[status] ?? other;
  return status >= 500 ? "server_error" : (OPENAI_TYPES[status] ?? TYPES[status] ?? other);
}

/**
 * The body of an error, also in an `error` event of a stream: `{type: "error", error: {type, message}, request_id}` for
 * Anthropic, `{error: {message, type, param, code}}` for OpenAI. The redactor has already processed its texts.
 */
export function errorBody(error: HullError, context: RequestContext, dialect: Dialect): object {
  const message = String(context.redacted(error.data.detail));
  const status = statusOf(error);
  const type = typeOf(status, dialect);
  if (dialect === "openai") {
    const code = status === 402 ? type : error.code;
    return { error: { message, type, param: paramOf(error.data.members), code } };
  }
  const details = SDK_CODES.has(error.code) ? { details: { error_code: error.code } } : {};
  return { type: "error", error: { type, message, ...details }, request_id: context.requestId };
}

/** The faulty field of the request, if the error names one. */
function paramOf({ param, option, errors }: Record<string, unknown>): string | null {
  if (typeof param === "string") return param;
  if (typeof option === "string") return option;
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  if (typeof first !== "object" || first === null || !("path" in first)) return null;
  return typeof first.path === "string" && first.path !== "" ? first.path : null;
}

/** The answer to a request below `/v1` that failed. */
export function errorResponse(error: HullError, context: RequestContext, dialect: Dialect): Response {
  const headers = problemHeaders(error);
  if (!helpsToRetry(error)) headers.set("x-should-retry", "false");
  return jsonAnswer(errorBody(error, context, dialect), { status: statusOf(error), headers });
}

/**
 * Whether the same request may succeed soon. The SDKs retry 408, 409, 429 and every 5xx unless this header forbids it.
 * Repeating does not help after a conflict, after a call that failed for good, or on a deployment that is not set up.
 */
function helpsToRetry({ data: { status, members, retry_after_s } }: HullError): boolean {
  if (members.kind === "transient") return true;
  const notSetUp = status === 503 && retry_after_s === undefined;
  return status !== 409 && members.kind !== "terminal" && !notSetUp;
}
