import type { Clock } from "../../src/model/clock.ts";

interface FakeClock extends Clock {
  /** Every wait that was begun, in ms. */
  waits: number[];
}

/** A clock whose waits end at once, and whose time limits never pass. */
export function fakeClock(random = () => 0.5): FakeClock {
  let now = Date.UTC(2026, 0, 1);
  const waits: number[] = [];
  return {
    waits,
    now: () => now,
    random,
    after: () => () => undefined,
    sleep(ms) {
      waits.push(ms);
      now += ms;
      return Promise.resolve();
    },
  };
}
