/** What wakes a daemon that has no session: its timer, its schedule and its watchdog. */
import type { AgentRecordBody, Wake } from "../../engine/agent/records.ts";
import type { RunState } from "../../engine/agent/state.ts";
import { wakeText } from "../../engine/agent/texts.ts";
import { wakeOf } from "../../engine/agent/wake.ts";
import {
  cronAfter,
  dueNow,
  idleSchedule,
  nextLook,
  type Schedule,
  ticked,
} from "../../engine/daemon/schedule.ts";
import { systemClock } from "../../model/clock.ts";

/** A wake by the daemon's own schedule. */
export function scheduledWake(reason: "cron" | "timer"): Wake {
  const feedback = { kind: reason, content: wakeText(reason) };
  return wakeOf(reason, { feedback });
}

/**
 * Wakes a daemon's idle run when its time comes, as long as its process lives.
 * @param signal rejects the current wait with its reason
 * @returns a function that waits, and returns the record that ends the run's rest; `null`: nothing will wake the run
 */
export function wakeTimer(signal: AbortSignal): (run: RunState) => Promise<AgentRecordBody | null> {
  const { now, sleep } = systemClock;
  let cronAt: number | null = null;
  return async ({ spec: { daemon, run_id: run } }) => {
    if (daemon === null) return null;
    let schedule: Schedule | null = idleSchedule(daemon, cronAt, now());
    while (schedule !== null) {
      const at = nextLook(schedule);
      if (at === null) return null;
      await sleep(Math.max(0, Math.min(at - now(), MAX_SLEEP_MS)), signal);
      const due = dueNow(schedule, now());
      cronAt = due === "cron" ? cronAfter(daemon, now()) : schedule.cron_at;
      if (due === "tick") schedule = ticked(schedule, daemon, now());
      else if (due !== null) return { type: "woke", run, wake: scheduledWake(due) };
    }
    return { type: "run_settled", run, status: "watchdog", error: null };
  };
}

/** The longest wait of a timer. */
const MAX_SLEEP_MS = 2 ** 31 - 1;
