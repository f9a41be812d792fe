/**
 * How many more requests a caller may make: a sliding window, divided into sixty slots. A request counts until both the
 * window and its own slot are over, so no span of the window's length ever contains more requests than the limit. Pure;
 * times in Unix ms.
 */

const SLOTS = 60;

/** This many requests in any span of `window_ms`. */
export interface Rate {
  requests: number;
  window_ms: number;
}

/** Requests admitted during one slot. */
export interface RateSlot {
  /** The slot's number, counted from 1970; ascending. */
  slot: number;
  count: number;
}

/** The slot of a moment, and when its requests stop counting. */
export function slotAt({ window_ms }: Rate, now: number): { slot: number; expires_at: number } {
  const slot = Math.floor((now * SLOTS) / window_ms);
  return { slot, expires_at: expiry(slot, window_ms) };
}

/** The first whole ms at which a slot is more than `SLOTS` slots back. */
function expiry(slot: number, windowMs: number): number {
  return Math.ceil(((slot + SLOTS + 1) * windowMs) / SLOTS);
}

/** Returns 0 if one more request is admitted, otherwise the ms until the next one is. */
export function waitFor(slots: readonly RateSlot[], rate: Rate, now: number): number {
  const oldest = slotAt(rate, now).slot - SLOTS;
  const counted = slots.filter(({ slot }) => slot >= oldest);
  let left = counted.reduce((sum, { count }) => sum + count, 0);
  let wait = 0;
  for (const { slot, count } of counted) {
    if (left < rate.requests) break;
    left -= count;
    wait = Math.max(1, expiry(slot, rate.window_ms) - now);
  }
  return wait;
}
