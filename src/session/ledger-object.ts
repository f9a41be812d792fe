import { DurableObject } from "cloudflare:workers";
import type { Bindings, LedgerRpc } from "../env.ts";
import { type Lease, Leases } from "./leases.ts";
import { type Rate, type RateSlot, slotAt, waitFor } from "./rate.ts";

/** Requests that no longer count are removed this often at most, in ms, while there are requests. */
const SWEEP_MS = 60_000;

const SCHEMA = `
CREATE TABLE IF NOT EXISTS rate_slots (
  subject TEXT NOT NULL,
  window_ms INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  count INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (subject, window_ms, slot)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leases (
  id TEXT PRIMARY KEY,
  taken_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
`;

/**
 * Exact counts (design.md §1): of a tenant's requests (`tenant:<tenant>`) or of a skill's simultaneous runs
 * (`skill:<slug>`). Every count is in SQLite before its answer leaves the object, so that neither an eviction nor a
 * deploy forgets one. Nothing here waits, so that calls cannot overlap; an idle object has no alarm.
 */
export class LedgerObject extends DurableObject<Bindings> implements LedgerRpc {
  readonly #sql: SqlStorage;
  readonly #leases: Leases;
  #sweptAt = 0;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(SCHEMA);
    this.#leases = new Leases(
      this.#sql.exec<Lease & Record<string, SqlStorageValue>>("SELECT id, taken_at, expires_at FROM leases"),
    );
  }

  countRequest(subject: string, rate: Rate): number {
    const now = Date.now();
    this.#sweepRates(now);
    const slots = this.#sql
      .exec<RateSlot & Record<string, SqlStorageValue>>(
        "SELECT slot, count FROM rate_slots WHERE subject = ? AND window_ms = ? AND expires_at > ? ORDER BY slot",
        ...[subject, rate.window_ms, now],
      )
      .toArray();
    const wait = waitFor(slots, rate, now);
    if (wait > 0) return wait;
    const { slot, expires_at } = slotAt(rate, now);
    this.#sql.exec(
      `INSERT INTO rate_slots (subject, window_ms, slot, count, expires_at) VALUES (?, ?, ?, 1, ?)
       ON CONFLICT DO UPDATE SET count = count + 1`,
      ...[subject, rate.window_ms, slot, expires_at],
    );
    return 0;
  }

  takeSlot(id: string, limit: number, ttlMs: number): number {
    const now = Date.now();
    for (const gone of this.#leases.expire(now)) this.#forget(gone);
    const wait = this.#leases.take(id, limit, ttlMs, now);
    if (wait === 0) {
      this.#sql.exec(
        "INSERT INTO leases (id, taken_at, expires_at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET expires_at = ?3",
        ...[id, now, now + ttlMs],
      );
    }
    return wait;
  }

  renewSlot(id: string, ttlMs: number): void {
    const lease = this.#leases.renew(id, ttlMs, Date.now());
    if (lease === null) return;
    this.#sql.exec("UPDATE leases SET expires_at = ? WHERE id = ?", lease.expires_at, id);
  }

  releaseSlot(id: string): void {
    this.#leases.release(id, Date.now());
    this.#forget(id);
  }

  #forget(id: string): void {
    this.#sql.exec("DELETE FROM leases WHERE id = ?", id);
  }

  #sweepRates(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    this.#sql.exec("DELETE FROM rate_slots WHERE expires_at <= ?", now);
  }
}
