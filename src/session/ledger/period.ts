/** The spans of budgets, in UTC. Pure; times in Unix ms. */
import type { Window } from "./rpc.ts";

export const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The beginning of the span that contains a moment; 0 for `total`. */
export function periodStart(window: Window, now: number): number {
  switch (window) {
    case "hour":
      return now - (now % HOUR_MS);
    case "day":
      return now - (now % DAY_MS);
    case "month": {
      const date = new Date(now);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
    }
    case "total":
      return 0;
  }
}

/** When the next span begins; `null`: never. */
export function periodEnd(window: Window, now: number): number | null {
  switch (window) {
    case "hour":
      return periodStart("hour", now) + HOUR_MS;
    case "day":
      return periodStart("day", now) + DAY_MS;
    case "month": {
      const date = new Date(now);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
    }
    case "total":
      return null;
  }
}

/** `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
