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

/** A fake clock whose time limits pass when the test lets time pass. */
export function handClock(): FakeClock & { pass(ms: number): void } {
  const limits = new Map<() => void, number>();
  let passed = 0;
  const clock = fakeClock();
  const now = (): number => clock.now() + passed;
  return {
    ...clock,
    now,
    after(ms, fire) {
      const limit = (): void => fire();
      limits.set(limit, now() + ms);
      return () => limits.delete(limit);
    },
    pass(ms) {
      passed += ms;
      for (const [limit, at] of [...limits]) if (at <= now() && limits.delete(limit)) limit();
    },
  };
}
