/**
 * Who holds the slots of a limited skill, in SQLite. A slot is leased: its holder renews the lease while the run lasts.
 * If the holder dies, the slot is free when the lease ends. Times in Unix ms.
 */
import { select } from "../sql.ts";

/** The shortest and the longest wait that a refused caller is given, in seconds. */
const MIN_WAIT_S = 1;
const MAX_WAIT_S = 30;
/** Weight of the latest run in the estimated duration of runs. */
const LATEST_WEIGHT = 0.2;

export class Slots {
  readonly #sql: SqlStorage;
  /** Estimated duration of runs in ms; `null` until the first run has ended. */
  #usualMs: number | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Takes a slot if fewer than `limit` are taken, and returns 0; otherwise returns the seconds to wait before another
   * attempt. Taking a held slot again renews it.
   */
  take(id: string, limit: number, ttlMs: number, now: number): number {
    this.#sql.exec("DELETE FROM leases WHERE expires_at <= ?", now);
    const held = select<{ id: string }>(this.#sql, "SELECT id FROM leases");
    if (held.length >= limit && held.every((lease) => lease.id !== id)) return this.#wait(limit);
    this.#sql.exec(
      "INSERT INTO leases (id, taken_at, expires_at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET expires_at = ?3",
      id,
      now,
      now + ttlMs,
    );
    return 0;
  }

  /** Renews a lease, unless it has expired, since another holder may have the slot. */
  renew(id: string, ttlMs: number, now: number): void {
    this.#sql.exec("UPDATE leases SET expires_at = ? WHERE id = ? AND expires_at > ?", now + ttlMs, id, now);
  }

  /** Gives a slot back. */
  release(id: string, now: number): void {
    const gone = this.#sql.exec<{ taken_at: number }>(
      "DELETE FROM leases WHERE id = ? RETURNING taken_at",
      id,
    );
    for (const { taken_at } of gone) {
      const usual = this.#usualMs ?? now - taken_at;
      this.#usualMs = usual + LATEST_WEIGHT * (now - taken_at - usual);
    }
  }

  /** Estimated wait in seconds: with `limit` runs under way, one ends every `usual / limit`. */
  #wait(limit: number): number {
    const seconds = Math.ceil((this.#usualMs ?? 0) / limit / 1000);
    return Math.min(Math.max(seconds, MIN_WAIT_S), MAX_WAIT_S);
  }
}
