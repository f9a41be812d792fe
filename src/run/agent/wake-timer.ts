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
import type { Clock } from "../../model/clock.ts";

/** A wake by the daemon's own schedule. */
export function scheduledWake(reason: "cron" | "timer"): Wake {
  const feedback = { kind: reason, content: wakeText(reason) };
  return wakeOf(reason, { feedback });
}

/** Wakes an idle run when its time comes, as long as its process lives. */
export class WakeTimer {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #cronAt: number | null = null;

  /** @param signal rejects the current wait with its reason */
  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Waits, and returns the record that ends an idle run's rest; `null`: nothing will wake the run. */
  async next({ spec }: RunState): Promise<AgentRecordBody | null> {
    const { daemon, run_id: run } = spec;
    if (daemon === null) return null;
    const { now, sleep } = this.#clock;
    let schedule: Schedule | null = idleSchedule(daemon, this.#cronAt, now());
    while (schedule !== null) {
      const at = nextLook(schedule);
      if (at === null) return null;
      await sleep(Math.max(0, Math.min(at - now(), MAX_SLEEP_MS)), this.#signal);
      const due = dueNow(schedule, now());
      this.#cronAt = due === "cron" ? cronAfter(daemon, now()) : schedule.cron_at;
      if (due === "tick") schedule = ticked(schedule, daemon, now());
      else if (due !== null) return { type: "woke", run, wake: scheduledWake(due) };
    }
    return { type: "run_settled", run, status: "watchdog", error: null };
  }
}

/** The longest wait of a timer. */
const MAX_SLEEP_MS = 2 ** 31 - 1;
