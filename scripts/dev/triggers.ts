/** Fires the Worker's cron triggers, which neither wrangler nor workerd does on this machine. */
import { nextCron, parseCron } from "../../src/skill/cron.ts";

/** How often to look, in ms: an expression names minutes. */
const MINUTE_MS = 60_000;

/**
 * Fires each expression in the minutes that it names, in UTC as the platform does, until this process ends. What was due
 * while the machine slept fires once.
 */
export function fireTriggers(crons: readonly string[], fire: (cron: string) => void): void {
  let seen = Date.now();
  const look = (): void => {
    const now = Date.now();
    for (const text of crons) {
      const parsed = parseCron(text);
      const due = "fault" in parsed ? null : nextCron(parsed.cron, "UTC", seen);
      if (due !== null && due <= now) fire(text);
    }
    seen = now;
  };
  setInterval(look, MINUTE_MS).unref();
}
