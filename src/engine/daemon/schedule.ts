/** When an idle daemon is to be woken, and how long it may stay idle. Pure; times are Unix ms. */

import { nextCron, parseCron } from "../../skill/cron.ts";
import type { DaemonOptions } from "../agent/spec.ts";

/** What is due when; `null`: nothing of the kind. */
export interface Schedule {
  /** Since when the daemon is idle. */
  idle_at: number;
  timer_at: number | null;
  /** Also while it is not idle: one that has passed is caught up once. */
  cron_at: number | null;
  /** The watchdog's next look, and how many looks found no reason to wake. */
  tick_at: number | null;
  ticks: number;
}

/** Waits between the watchdog's looks; the last one repeats. */
const BACKOFF_MS = [100, 500, 1000, 2000];

/** The schedule of a daemon that goes idle now. @param cron_at of the schedule before; `null`: there was none */
export function idleSchedule(options: DaemonOptions, cron_at: number | null, now: number): Schedule {
  const { wake_interval_ms } = options;
  return {
    idle_at: now,
    timer_at: wake_interval_ms > 0 ? now + wake_interval_ms : null,
    cron_at: cron_at ?? cronAfter(options, now),
    tick_at: ticking(options) ? now + backoff(0) : null,
    ticks: 0,
  };
}

/** When the daemon's cron expression fires next; `null`: it has none. */
export function cronAfter({ cron, time_zone }: DaemonOptions, now: number): number | null {
  const parsed = cron === null ? null : parseCron(cron);
  return parsed === null || "fault" in parsed ? null : nextCron(parsed.cron, time_zone, now);
}

/** With a timer, something comes before any look could find nothing. */
const ticking = ({ idle_watchdog_attempts, wake_interval_ms }: DaemonOptions): boolean =>
  idle_watchdog_attempts !== null && wake_interval_ms === 0;

/** The wait before the watchdog's look after so many. */
export function backoff(ticks: number): number {
  return BACKOFF_MS[Math.min(ticks, BACKOFF_MS.length - 1)] ?? 0;
}

/** Waits that have become longer than they ever were, since the clock was set back, begin anew. */
export function afterClockChange(schedule: Schedule, options: DaemonOptions, now: number): Schedule {
  const { timer_at, tick_at, ticks } = schedule;
  const shortened = (at: number | null, wait: number): number | null =>
    at === null ? null : Math.min(at, now + wait);
  return {
    ...schedule,
    timer_at: shortened(timer_at, options.wake_interval_ms),
    tick_at: shortened(tick_at, backoff(ticks)),
  };
}

/** The most urgent of what is due. */
export function dueNow(
  { cron_at, timer_at, tick_at }: Schedule,
  now: number,
): "cron" | "timer" | "tick" | null {
  if (cron_at !== null && cron_at <= now) return "cron";
  if (timer_at !== null && timer_at <= now) return "timer";
  return tick_at !== null && tick_at <= now ? "tick" : null;
}

/** After a look of the watchdog that found nothing; `null`: that was one too many. */
export function ticked(schedule: Schedule, options: DaemonOptions, now: number): Schedule | null {
  const ticks = schedule.ticks + 1;
  if (ticks >= (options.idle_watchdog_attempts ?? Number.POSITIVE_INFINITY)) return null;
  return { ...schedule, ticks, tick_at: now + backoff(ticks) };
}

/** When the daemon will wake by itself; `null`: never. */
export function nextWake({ cron_at, timer_at }: Schedule): number | null {
  return earliest(cron_at, timer_at);
}

/** When the schedule has to be looked at; `null`: never. */
export function nextLook(schedule: Schedule): number | null {
  return earliest(nextWake(schedule), schedule.tick_at);
}

function earliest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
