/** How long a model call, or one attempt at it, may take and be silent (agent-runtime.md §1.1 `timeout`, `idle_timeout`). */
import { ProviderTimeout } from "../errors/provider.ts";
import type { HullError } from "../errors.ts";
import type { Clock } from "./clock.ts";
import type { Asked } from "./provider-document.ts";

export interface TimeLimit {
  /** Aborted by the caller's signal, when the time is over, or when a stream is silent for too long. */
  signal: AbortSignal;
  /** A sign of life of a stream. */
  onBytes: (() => void) | undefined;
  /** What the time limit means to the caller. */
  error(asked: Asked): HullError;
  stop(): void;
}

interface TimeLimitOptions {
  /** Aborts the limit's own signal with it. */
  signal: AbortSignal;
  clock: Clock;
  timeout_ms: number;
  /** Counted from the first sign of life of a stream. */
  idle_timeout_ms?: number | undefined;
}

/** Starts to count. */
export function timeLimit({ signal, clock, timeout_ms, idle_timeout_ms }: TimeLimitOptions): TimeLimit {
  const limit = new AbortController();
  let idle = false;
  const pass = (): void => limit.abort(signal.reason);
  if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  const cancel = clock.after(timeout_ms, () => limit.abort());
  let heardAt: number | null = null;
  let cancelIdle = (): void => undefined;
  const watch = (ms: number, after: number): void => {
    cancelIdle = clock.after(after, () => {
      const left = (heardAt ?? 0) + ms - clock.now();
      if (left > 0) return watch(ms, left);
      idle = true;
      limit.abort();
    });
  };
  return {
    signal: limit.signal,
    onBytes:
      idle_timeout_ms === undefined
        ? undefined
        : () => {
            const first = heardAt === null;
            heardAt = clock.now();
            if (first) watch(idle_timeout_ms, idle_timeout_ms);
          },
    error: ({ provider, model }) =>
      new ProviderTimeout({ provider, model, timeout_ms: idle ? (idle_timeout_ms ?? 0) : timeout_ms, idle }),
    stop() {
      cancel();
      cancelIdle();
      signal.removeEventListener("abort", pass);
    },
  };
}
