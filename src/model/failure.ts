/** From what a provider did to an error of the vocabulary, and whether to try again (serving.md §4.5). */
import {
  ProviderAuthFailed,
  ProviderError,
  ProviderRateLimited,
  ProviderRejectedRequest,
  ProviderTimeout,
  ProviderUnreachable,
} from "../errors/provider.ts";
import type { HullError } from "../errors.ts";
import { providerWords } from "./wire.ts";

const RETRYABLE = new Set([408, 409, 429, 500, 502, 503, 504, 529]);

/** Seconds that a rate-limited caller is told to wait where the provider does not say. */
const DEFAULT_RETRY_AFTER_S = 5;

/** One failed attempt. `retry_after_ms` is the provider's own wish. */
export interface Failure {
  ok: false;
  error: HullError;
  retry: boolean;
  retry_after_ms?: number;
}

interface StatusFailure {
  provider: string;
  /** The variable that holds the key. */
  variable: string;
  status: number;
  /** The provider's error document, parsed if it is JSON. */
  document: unknown;
  retry_after_ms?: number | undefined;
}

/** The table of §4.5 for answers with a status of failure. */
export function failureOfStatus(answer: StatusFailure): Failure {
  const { provider, variable, status, retry_after_ms } = answer;
  const { provider_message, provider_type } = providerWords(answer.document);
  const words = provider_message === undefined ? {} : { provider_message };
  const facts = { provider, provider_status: status, ...words };
  const seconds = retry_after_ms === undefined ? undefined : Math.ceil(retry_after_ms / 1000);
  const error = (): HullError => {
    if (status === 429) {
      return new ProviderRateLimited({ ...facts, retry_after_s: seconds ?? DEFAULT_RETRY_AFTER_S });
    }
    if (status === 401 || status === 402 || status === 403) {
      return new ProviderAuthFailed({ ...facts, variable });
    }
    if (status >= 500) {
      return new ProviderError({ ...facts, ...(seconds === undefined ? {} : { retry_after_s: seconds }) });
    }
    return new ProviderRejectedRequest({
      ...facts,
      ...(provider_type === undefined ? {} : { provider_type }),
    });
  };
  return {
    ok: false,
    error: error(),
    retry: RETRYABLE.has(status),
    ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
  };
}

/** `Retry-After` (RFC 9110 §10.2.3), seconds or an HTTP date, in ms from `now`; `undefined` when it says nothing. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Whether another provider may be asked instead: after a retryable failure or a timeout (serving.md §2 `fallback`). */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ProviderTimeout || error instanceof ProviderUnreachable) return true;
  if (error instanceof ProviderRateLimited) return true;
  if (!(error instanceof ProviderError || error instanceof ProviderRejectedRequest)) return false;
  const status = error.data.members.provider_status;
  return typeof status === "number" && RETRYABLE.has(status);
}
