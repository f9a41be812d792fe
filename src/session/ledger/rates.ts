/** Counts requests and calls against rates, in SQLite. */
import { select } from "../sql.ts";
import { type Rate, type RateSlot, slotAt, waitFor } from "./rate.ts";

/** Old requests are removed at most once in this many ms. */
const SWEEP_MS = 60_000;

export class Rates {
  readonly #sql: SqlStorage;
  #sweptAt = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Counts one more request of a subject and returns 0; if the rate is used up, returns the ms until one is admitted.
   */
  count(subject: string, rate: Rate, now: number): number {
    this.#sweep(now);
    const query =
      "SELECT slot, count FROM rate_slots WHERE subject = ? AND window_ms = ? AND expires_at > ? ORDER BY slot";
    const slots = select<RateSlot>(this.#sql, query, subject, rate.window_ms, now);
    const wait = waitFor(slots, rate, now);
    if (wait > 0) return wait;
    const { slot, expires_at } = slotAt(rate, now);
    this.#sql.exec(
      `INSERT INTO rate_slots (subject, window_ms, slot, count, expires_at) VALUES (?, ?, ?, 1, ?)
       ON CONFLICT DO UPDATE SET count = count + 1`,
      subject,
      rate.window_ms,
      slot,
      expires_at,
    );
    return 0;
  }

  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    this.#sql.exec("DELETE FROM rate_slots WHERE expires_at <= ?", now);
  }
}
