/**
 * How long a model call, or one attempt at it, may take as a whole or wait for its first byte, and how long a stream may
 * be silent.
 */
import { ProviderTimeout } from "../errors/provider.ts";
import type { HullError } from "../errors.ts";
import type { Clock } from "./clock.ts";
import type { Asked } from "./provider-document.ts";

export interface TimeLimit {
  /** Aborted by the caller's signal, when nothing came in time, or when a stream is silent for too long. */
  signal: AbortSignal;
  /** Call it for each sign of life of a stream. After the first one only silence counts. */
  onBytes: () => void;
  /** The error of the time limit for the caller. */
  error(asked: Asked): HullError;
  stop(): void;
}

export interface TimeLimitOptions {
  /** Also aborts the limit's own signal. */
  signal: AbortSignal;
  clock: Clock;
  /** Time limit for an unstreamed answer, and for the first byte of a stream. */
  timeout_ms: number;
  /** Whether `timeout_ms` is also the time limit for the whole of a stream. */
  whole?: boolean | undefined;
  /** The longest silence of a stream that has begun; absent: `timeout_ms`. */
  idle_timeout_ms?: number | undefined;
}

/** Starts the limit. Without `whole` it never cuts a stream that keeps flowing. */
export function timeLimit(options: TimeLimitOptions): TimeLimit {
  const { signal, clock, timeout_ms, whole = false } = options;
  const silence = options.idle_timeout_ms ?? timeout_ms;
  const end = whole ? clock.now() + timeout_ms : Number.POSITIVE_INFINITY;
  const limit = new AbortController();
  const pass = (): void => limit.abort(signal.reason);
  if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  let heardAt: number | null = null;
  const expired = (): void => {
    const left = heardAt === null ? 0 : Math.min(heardAt + silence, end) - clock.now();
    if (left > 0) cancel = clock.after(left, expired);
    else limit.abort();
  };
  let cancel = clock.after(timeout_ms, expired);
  return {
    signal: limit.signal,
    onBytes() {
      const first = heardAt === null;
      heardAt = clock.now();
      // A timer that fires too early checks again.
      if (!first || silence >= timeout_ms) return;
      cancel();
      cancel = clock.after(silence, expired);
    },
    error: ({ provider, model }) => {
      const idle = heardAt !== null && clock.now() < end;
      return new ProviderTimeout({ provider, model, timeout_ms: idle ? silence : timeout_ms, idle });
    },
    stop() {
      cancel();
      signal.removeEventListener("abort", pass);
    },
  };
}
