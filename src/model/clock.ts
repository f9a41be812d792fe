import { sleep } from "../at-most.ts";

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
  async sleep(ms, signal) {
    await sleep(ms, signal);
    signal.throwIfAborted();
  },
};

/** The shared timer first fires after so many ms, if nothing is due earlier. Most limits of a short call have gone by then. */
const FIRST_LOOK_MS = 250;

interface Limit {
  /** Unix ms. */
  due: number;
  fire: () => void;
}

/**
 * The real clock for one request or one object, whose limits share one timer. Most limits are cancelled within
 * milliseconds, and a timer of the platform costs more than the limit itself. A timer that fires soon stays when no limit is
 * left. A later one goes, since it would keep a Durable Object in memory.
 */
export class SharedClock implements Clock {
  readonly #limits = new Set<Limit>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer fires, in Unix ms. */
  #armed = Number.POSITIVE_INFINITY;

  now = systemClock.now;
  random = systemClock.random;
  sleep = systemClock.sleep;

  after = (ms: number, fire: () => void): (() => void) => {
    const limit = { due: Date.now() + ms, fire };
    this.#limits.add(limit);
    if (limit.due < this.#armed) this.#arm(Math.min(ms, FIRST_LOOK_MS));
    return () => {
      this.#limits.delete(limit);
      if (this.#limits.size === 0 && this.#armed - Date.now() > FIRST_LOOK_MS) this.#disarm();
    };
  };

  #arm(ms: number): void {
    this.#disarm();
    this.#armed = Date.now() + ms;
    this.#timer = setTimeout(() => this.#look(), ms);
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#armed = Number.POSITIVE_INFINITY;
  }

  #look(): void {
    this.#armed = Number.POSITIVE_INFINITY;
    const now = Date.now();
    try {
      for (const limit of [...this.#limits]) {
        if (limit.due <= now && this.#limits.delete(limit)) limit.fire();
      }
    } finally {
      // Also if one throws: the others are limits of their own.
      const next = Math.min(...Array.from(this.#limits, ({ due }) => due));
      if (next < this.#armed) this.#arm(next - now);
    }
  }
}

export interface WaitLimits {
  clock: Clock;
  signal: AbortSignal;
  /** Unix ms; `Infinity`: no bound. */
  until: number;
}
