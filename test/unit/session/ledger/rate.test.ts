import { expect, test } from "vitest";
import { type RateSlot, slotAt, waitFor } from "../../../../src/session/ledger/rate.ts";
import { fc } from "../../../support/property.ts";

/** Counts requests as the ledger does. */
class Counter {
  readonly #slots: RateSlot[] = [];

  ask(rate: { requests: number; window_ms: number }, now: number): number {
    const wait = waitFor(this.#slots, rate, now);
    if (wait > 0) return wait;
    const { slot } = slotAt(rate, now);
    const last = this.#slots.at(-1);
    if (last?.slot === slot) last.count += 1;
    else this.#slots.push({ slot, count: 1 });
    return 0;
  }
}

const rates = fc.record({
  requests: fc.integer({ min: 1, max: 20 }),
  window_ms: fc.constantFrom(1000, 7000, 60_000, 99_999_000),
});

test("no span of the window's length holds more requests than the rate, and every wait is long enough", () => {
  const gaps = fc.array(fc.double({ min: 0, max: 0.3, noNaN: true }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(rates, gaps, fc.integer({ min: 0, max: 2e12 }), (rate, steps, start) => {
      const counter = new Counter();
      const admitted: number[] = [];
      let now = start;
      for (const step of steps) {
        now += Math.floor(step * rate.window_ms);
        const wait = counter.ask(rate, now);
        if (wait === 0) admitted.push(now);
        else {
          expect(wait).toBeLessThanOrEqual(Math.ceil((rate.window_ms * 61) / 60) + 1);
          now += wait;
          expect(counter.ask(rate, now)).toBe(0);
          admitted.push(now);
        }
      }
      for (const [i, at] of admitted.entries()) {
        const first = admitted[i - rate.requests];
        if (first !== undefined) expect(at - first).toBeGreaterThanOrEqual(rate.window_ms);
      }
    }),
  );
});

test("a burst up to the rate passes immediately; the next call learns when to retry", () => {
  const counter = new Counter();
  const rate = { requests: 3, window_ms: 60_000 };
  const at = 1_800_000_000_000;
  expect([0, 1, 2, 3].map((ms) => counter.ask(rate, at + ms))).toEqual([0, 0, 0, 60_997]);
  expect(counter.ask(rate, at + 60_999)).toBe(1);
  expect(counter.ask(rate, at + 61_000)).toBe(0);
});
