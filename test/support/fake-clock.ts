import type { Clock } from "../../src/model/clock.ts";

export interface FakeClock extends Clock {
  /** Every wait that was begun, in ms. */
  waits: number[];
}

/** A clock whose waits pass at once, and which never reaches a wait of `timeout_ms`: that one is the call's limit. */
export function fakeClock(timeout_ms: number, random = () => 0.5): FakeClock {
  let now = Date.UTC(2026, 0, 1);
  const waits: number[] = [];
  return {
    waits,
    now: () => now,
    random,
    sleep(ms, signal) {
      if (ms === timeout_ms) {
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }
      waits.push(ms);
      now += ms;
      return Promise.resolve();
    },
  };
}
