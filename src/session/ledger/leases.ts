/**
 * Who holds the slots of a limited skill. A slot is leased: its holder renews the lease while the run lasts. If the
 * holder dies, the slot is free when the lease ends. Pure; times in Unix ms.
 */
export interface Lease {
  /** The run that holds it. */
  id: string;
  taken_at: number;
  expires_at: number;
}

/** The shortest and the longest wait that a refused caller is given, in seconds. */
const MIN_WAIT_S = 1;
const MAX_WAIT_S = 30;
/** Weight of the latest run in the estimated duration of runs. */
const LATEST_WEIGHT = 0.2;

export class Leases {
  readonly #held: Map<string, Lease>;
  /** Estimated duration of runs in ms; `null` until the first run has ended. */
  #usualMs: number | null = null;

  constructor(held: Iterable<Lease> = []) {
    this.#held = new Map(Array.from(held, (lease) => [lease.id, lease]));
  }

  /** Number of slots that are taken now. */
  taken(now: number): number {
    let count = 0;
    for (const { expires_at } of this.#held.values()) if (expires_at > now) count += 1;
    return count;
  }

  /**
   * Takes a slot if fewer than `limit` are taken, and returns 0; otherwise returns the seconds to wait before another
   * attempt. Taking a held slot again renews it.
   */
  take(id: string, limit: number, ttlMs: number, now: number): number {
    if (this.renew(id, ttlMs, now) !== null) return 0;
    if (this.taken(now) >= limit) return this.#wait(limit);
    this.#held.set(id, { id, taken_at: now, expires_at: now + ttlMs });
    return 0;
  }

  /** Renews a lease; `null` if it has expired, since another holder may have the slot. */
  renew(id: string, ttlMs: number, now: number): Lease | null {
    const lease = this.#held.get(id);
    if (lease === undefined || lease.expires_at <= now) return null;
    lease.expires_at = now + ttlMs;
    return lease;
  }

  /** Gives a slot back. */
  release(id: string, now: number): void {
    const lease = this.#held.get(id);
    if (lease === undefined) return;
    this.#held.delete(id);
    const held = now - lease.taken_at;
    this.#usualMs = this.#usualMs === null ? held : this.#usualMs + LATEST_WEIGHT * (held - this.#usualMs);
  }

  /** Removes expired leases and returns their ids. */
  expire(now: number): string[] {
    const gone = Array.from(this.#held.values()).filter(({ expires_at }) => expires_at <= now);
    for (const { id } of gone) this.#held.delete(id);
    return gone.map(({ id }) => id);
  }

  /** Estimated wait in seconds: with `limit` runs under way, one ends every `usual / limit`. */
  #wait(limit: number): number {
    const seconds = Math.ceil((this.#usualMs ?? 0) / limit / 1000);
    return Math.min(Math.max(seconds, MIN_WAIT_S), MAX_WAIT_S);
  }
}
