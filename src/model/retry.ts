/** When a failed model call is made again, and after what wait. */
import { type Failure, isTransient } from "./failure.ts";

export interface RetryPolicy {
  /** How many further attempts there may be. */
  retries: number;
  /** Whether `timeout_ms` bounds each attempt by itself, or all of them with their waits. */
  timeout: "attempt" | "call";
  /** Whether a failure is worth another attempt, as far as the number allows. */
  helps(failure: Failure): boolean;
  /** Ms before retry `n`, from 1; `random` in [0, 1). Four times as long after status 529. */
  wait_ms(n: number, random: number): number;
  /** Ask again after an answer that cost output tokens and holds nothing. */
  again_when_empty: boolean;
}

/** Before the second and the third attempt, each with ±50 % jitter. */
const SKILL_WAITS_MS = [250, 500];

/** Of skills. */
export const SKILL_RETRIES: RetryPolicy = {
  retries: SKILL_WAITS_MS.length,
  timeout: "call",
  helps: (failure) => failure.retry,
  wait_ms: (n, random) => (SKILL_WAITS_MS[n - 1] ?? 0) * (0.5 + random),
  again_when_empty: false,
};

/** Of `POST /llm/*` and runs: waits of `backoff_ms · 2^min(n, 4)`, up to 20 % longer. */
export function llmRetries(retries: number, backoff_ms: number): RetryPolicy {
  return {
    retries,
    timeout: "attempt",
    helps: (failure) => isTransient(failure.error),
    wait_ms: (n, random) => backoff_ms * 2 ** Math.min(n, 4) * (1 + 0.2 * random),
    again_when_empty: true,
  };
}
