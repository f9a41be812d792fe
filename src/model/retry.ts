/** When Hull repeats a failed model call, and after what wait. */
import { type Failure, isTransient } from "./failure.ts";

export interface RetryPolicy {
  /** The number of further attempts. */
  retries: number;
  /** Whether `timeout_ms` limits each attempt, or all of them including their waits. */
  timeout: "attempt" | "call";
  /** Whether a failure justifies another attempt, if one is left. */
  helps(failure: Failure): boolean;
  /** Ms before retry `n`, from 1; `random` in [0, 1). */
  wait_ms(n: number, random: number): number;
  /** Ask again after an answer that cost output tokens but is empty. */
  again_when_empty: boolean;
}

/** Waits before the second and the third attempt, each with ±50 % jitter. */
const SKILL_WAITS_MS = [250, 500];

/** The policy of skills. */
export const SKILL_RETRIES: RetryPolicy = {
  retries: SKILL_WAITS_MS.length,
  timeout: "call",
  helps: (failure) => failure.retry,
  wait_ms: (n, random) => (SKILL_WAITS_MS[n - 1] ?? 0) * (0.5 + random),
  again_when_empty: false,
};

/** The policy of `POST /llm/*` and runs: waits of `backoff_ms · 2^min(n, 4)`, up to 20 % longer. */
export function llmRetries(retries: number, backoff_ms: number): RetryPolicy {
  return {
    retries,
    timeout: "attempt",
    helps: (failure) => isTransient(failure.error),
    wait_ms: (n, random) => backoff_ms * 2 ** Math.min(n, 4) * (1 + 0.2 * random),
    again_when_empty: true,
  };
}
