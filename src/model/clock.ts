/** Time and randomness, passed in so that tests can control waits and jitter. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as `signal` is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms`; the returned function cancels it. */
  after(ms: number, fire: () => void): () => void;
  /** Uniform in [0, 1). */
  random(): number;
}

/** The real clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  after(ms, fire) {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const abort = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", abort);
        resolve();
      }, ms);
      signal.addEventListener("abort", abort, { once: true });
    }),
};

export interface WaitLimits {
  clock: Clock;
  signal: AbortSignal;
  /** Unix ms; `Infinity`: no bound. */
  until: number;
}
