/** Turns a provider's failure into an error of the vocabulary, and decides whether to try again. */

import { type FailureClass, type FailureReason, failureClassOf } from "../errors/failure-class.ts";
import {
  ProviderAuthFailed,
  ProviderError,
  ProviderRateLimited,
  ProviderRejectedRequest,
  ProviderTimeout,
  ProviderUnreachable,
} from "../errors/provider.ts";
import { HullError } from "../errors.ts";
import { parsedJson } from "../skill/json-depth.ts";
import { classify } from "./classify.ts";
import { providerWords } from "./provider-document.ts";

const RETRYABLE = new Set([408, 409, 429, 500, 502, 503, 504, 529]);
/** Failures that no further attempt fixes, whatever the status. */
const FINAL: readonly unknown[] = ["context_overflow", "content_policy"] satisfies FailureReason[];

/** The `Retry-After` in seconds for a rate-limited caller if the provider states none. */
export const DEFAULT_RETRY_AFTER_S = 5;

/** One failed attempt. The provider itself may state `retry_after_ms`. */
export interface Failure {
  ok: false;
  error: HullError;
  /** Whether to try a skill's call again. */
  retry: boolean;
  retry_after_ms?: number;
  /** Set for a mock: the next attempt does not wait. */
  instant?: true;
}

interface Answered {
  provider: string;
  model: string;
  /** The variable that holds the key. */
  variable: string;
  retry_after_ms?: number | undefined;
}

interface StatusFailure extends Answered {
  status: number;
  /** The body, or its beginning. */
  text: string;
}

interface ClassedFailure extends Answered {
  provider_status: number;
  failure: FailureClass;
  provider_message?: string | undefined;
  provider_type?: string | undefined;
}

/** The error and retry for an answer with an error status. */
export function failureOfStatus({ status, text, ...answered }: StatusFailure): Failure {
  const failure = classify({ status, body: text });
  const retry_after_ms = answered.retry_after_ms ?? retryInfoMs(text);
  const words = providerWords(parsedJson(text) ?? text);
  return {
    ok: false,
    error: errorOfStatus({ ...answered, retry_after_ms, ...words, provider_status: status, failure }),
    retry: RETRYABLE.has(status) && !FINAL.includes(failure.reason),
    ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
  };
}

/** The error for an answer with this status and class. */
export function errorOfStatus({ variable, provider_type, ...facts }: ClassedFailure): HullError {
  const { provider_status: status, failure, retry_after_ms } = facts;
  const seconds = retry_after_ms === undefined ? undefined : Math.ceil(retry_after_ms / 1000);
  const final = FINAL.includes(failure.reason);
  // Google and xAI refuse a wrong key with 400.
  const refused = status === 400 && failure.reason === "auth_failure";
  if (status === 401 || status === 402 || status === 403 || refused) {
    return new ProviderAuthFailed({ ...facts, variable });
  }
  if (status === 429 && !final) {
    return new ProviderRateLimited({ ...facts, retry_after_s: seconds ?? DEFAULT_RETRY_AFTER_S });
  }
  if (status >= 500 && !final) return new ProviderError({ ...facts, retry_after_s: seconds });
  return new ProviderRejectedRequest({ ...facts, provider_type });
}

/** What a larger number of seconds means (RFC 9111 §1.2.2). */
const MOST_SECONDS = 2 ** 31;

/**
 * `Retry-After` (RFC 9110 §10.2.3), seconds or an HTTP date, in ms from `now`; `undefined` if it states nothing usable.
 */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text), MOST_SECONDS) * 1000;
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** The pause in ms that Google asks for in its document (`google.rpc.RetryInfo`): it sends no `Retry-After`. */
function retryInfoMs(text: string): number | undefined {
  const seconds = /"retryDelay":\s*"(\d{1,9}(?:\.\d+)?)s"/.exec(text)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** Whether the same call may succeed later. */
export const isTransient = (error: unknown): boolean =>
  error instanceof HullError && failureClassOf(error.data).kind === "transient";

/** Whether another provider may be asked instead: after a retryable failure or a timeout. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ProviderTimeout || error instanceof ProviderUnreachable) return true;
  if (error instanceof ProviderRateLimited) return true;
  if (!(error instanceof ProviderError || error instanceof ProviderRejectedRequest)) return false;
  const { provider_status, reason } = error.data.members;
  return typeof provider_status === "number" && RETRYABLE.has(provider_status) && !FINAL.includes(reason);
}
