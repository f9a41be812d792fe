/** How long a model call, or one attempt at it, may wait for its first byte, and how long a stream may then be silent. */
import { ProviderTimeout } from "../errors/provider.ts";
import type { HullError } from "../errors.ts";
import type { Clock } from "./clock.ts";
import type { Asked } from "./provider-document.ts";

export interface TimeLimit {
  /** Aborted by the caller's signal, when nothing came in time, or when a stream is silent for too long. */
  signal: AbortSignal;
  /** To be called for each sign of life of a stream. From the first one on, only silence counts. */
  onBytes: () => void;
  /** What the time limit means to the caller. */
  error(asked: Asked): HullError;
  stop(): void;
}

interface TimeLimitOptions {
  /** Aborts the limit's own signal with it. */
  signal: AbortSignal;
  clock: Clock;
  /** For the first byte of a stream, and for the whole of an answer that is not streamed. */
  timeout_ms: number;
  /** The longest silence of a stream that has begun; absent: `timeout_ms`. */
  idle_timeout_ms?: number | undefined;
}

/** Starts to count. A stream that flows is never cut. */
export function timeLimit({ signal, clock, timeout_ms, idle_timeout_ms }: TimeLimitOptions): TimeLimit {
  const silence = idle_timeout_ms ?? timeout_ms;
  const limit = new AbortController();
  const pass = (): void => limit.abort(signal.reason);
  if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  let heardAt: number | null = null;
  const expired = (): void => {
    const left = heardAt === null ? 0 : heardAt + silence - clock.now();
    if (left > 0) cancel = clock.after(left, expired);
    else limit.abort();
  };
  let cancel = clock.after(timeout_ms, expired);
  return {
    signal: limit.signal,
    onBytes() {
      const first = heardAt === null;
      heardAt = clock.now();
      // A timer that fires too early looks again.
      if (!first || silence >= timeout_ms) return;
      cancel();
      cancel = clock.after(silence, expired);
    },
    error: ({ provider, model }) => {
      const idle = heardAt !== null;
      return new ProviderTimeout({ provider, model, timeout_ms: idle ? silence : timeout_ms, idle });
    },
    stop() {
      cancel();
      signal.removeEventListener("abort", pass);
    },
  };
}
