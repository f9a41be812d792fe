/** When to wake an idle daemon, and how long it may stay idle. Pure; times are Unix ms. */

import { nextCron, parseCron } from "../../skill/cron.ts";
import type { DaemonOptions } from "../agent/spec.ts";
import { least } from "../least.ts";

/** When each wake is due; `null`: there is no such wake. */
export interface Schedule {
  /** The time when the daemon went idle. */
  idle_at: number;
  timer_at: number | null;
  /** Also set while the daemon is not idle: it catches up once on a missed time. */
  cron_at: number | null;
  /** The watchdog's next check, and how many checks found no reason to wake. */
  tick_at: number | null;
  ticks: number;
}

/** Waits between the watchdog's checks; the last one repeats. */
const BACKOFF_MS = [100, 500, 1000, 2000];
/** The longest wait before a failed daemon is resumed, in ms, unless its first wait is longer. */
const MOST_RESUME_MS = 3_600_000;

/** The schedule of a daemon that goes idle now. @param cron_at from the previous schedule; `null`: there was none */
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

/** With a timer, a wake always comes before the checks can give up. */
const ticking = ({ idle_watchdog_attempts, wake_interval_ms }: DaemonOptions): boolean =>
  idle_watchdog_attempts !== null && wake_interval_ms === 0;

/** The wait before the watchdog's next check, after this many. */
export function backoff(ticks: number): number {
  return BACKOFF_MS[Math.min(ticks, BACKOFF_MS.length - 1)] ?? 0;
}

/** Restarts waits that have become longer than ever intended, since the clock was set back. */
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

/** How long a daemon that failed so many times in a row waits for its resumption, in ms; `null`: for a person. */
export function resumeWait({ resume_after_ms: first }: DaemonOptions, failures: number): number | null {
  if (first === undefined) return null;
  return Math.min(first * 2 ** (failures - 1), Math.max(first, MOST_RESUME_MS));
}

/** The most urgent due wake. */
export function dueNow(
  { cron_at, timer_at, tick_at }: Schedule,
  now: number,
): "cron" | "timer" | "tick" | null {
  if (cron_at !== null && cron_at <= now) return "cron";
  if (timer_at !== null && timer_at <= now) return "timer";
  return tick_at !== null && tick_at <= now ? "tick" : null;
}

/** The schedule after a check that found nothing; `null`: no check is left. */
export function ticked(schedule: Schedule, options: DaemonOptions, now: number): Schedule | null {
  const ticks = schedule.ticks + 1;
  if (ticks >= (options.idle_watchdog_attempts ?? Number.POSITIVE_INFINITY)) return null;
  return { ...schedule, ticks, tick_at: now + backoff(ticks) };
}

/** When the daemon will wake by itself; `null`: never. */
export const nextWake = ({ cron_at, timer_at }: Schedule): number | null => least(cron_at, timer_at);

/** When the schedule must be checked; `null`: never. */
export const nextLook = ({ cron_at, timer_at, tick_at }: Schedule): number | null =>
  least(cron_at, timer_at, tick_at);
