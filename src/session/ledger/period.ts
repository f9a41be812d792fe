/** The spans of budgets, in UTC. Pure; times in Unix ms. */
import type { Window } from "./rpc.ts";

export const HOUR_MS = 3_600_000;
const LENGTH_MS = { hour: HOUR_MS, day: 24 * HOUR_MS };

/** The beginning of the span that contains a moment; 0 for `total`. */
export function periodStart(window: Window, now: number): number {
  if (window === "total") return 0;
  return window === "month" ? monthStart(now, 0) : now - (now % LENGTH_MS[window]);
}

/** When the next span begins; `null`: never. */
export function periodEnd(window: Window, now: number): number | null {
  if (window === "total") return null;
  return window === "month" ? monthStart(now, 1) : periodStart(window, now) + LENGTH_MS[window];
}

/** The beginning of a month. @param months after the present one */
function monthStart(now: number, months: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months);
}

/** `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
