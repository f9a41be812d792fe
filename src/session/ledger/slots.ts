/** The leases of a skill's simultaneous runs, in SQLite. */
import { type Lease, Leases } from "./leases.ts";

export class Slots {
  readonly #sql: SqlStorage;
  readonly #leases: Leases;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#leases = new Leases(
      sql.exec<Lease & Record<string, SqlStorageValue>>("SELECT id, taken_at, expires_at FROM leases"),
    );
  }

  /** @returns 0, or the seconds to wait before another attempt */
  take(id: string, limit: number, ttlMs: number, now: number): number {
    for (const gone of this.#leases.expire(now)) this.#forget(gone);
    const wait = this.#leases.take(id, limit, ttlMs, now);
    if (wait === 0) {
      this.#sql.exec(
        "INSERT INTO leases (id, taken_at, expires_at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET expires_at = ?3",
        id,
        now,
        now + ttlMs,
      );
    }
    return wait;
  }

  renew(id: string, ttlMs: number, now: number): void {
    const lease = this.#leases.renew(id, ttlMs, now);
    if (lease === null) return;
    this.#sql.exec("UPDATE leases SET expires_at = ? WHERE id = ?", lease.expires_at, id);
  }

  release(id: string, now: number): void {
    this.#leases.release(id, now);
    this.#forget(id);
  }

  #forget(id: string): void {
    this.#sql.exec("DELETE FROM leases WHERE id = ?", id);
  }
}
