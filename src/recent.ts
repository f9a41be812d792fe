import type { Background } from "./log.ts";

/** A limit on what the values of a map hold together. */
interface SizeLimit<V> {
  most: number;
  /** The size of a value; it never changes. */
  of: (value: V) => number;
}

/** A map of limited size: when it is full, setting another key removes the entries that were set longest ago. */
export class RecentMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #most: number;
  readonly #limit: SizeLimit<V> | null;
  #size = 0;
  #newest: K | undefined;

  /** @param most entries */
  constructor(most: number, limit: SizeLimit<V> | null = null) {
    this.#most = most;
    this.#limit = limit;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** The entry becomes the newest one; it stays even if it alone exceeds the limit. */
  set(key: K, value: V): void {
    // An entry moves only if it must, since removing its only key makes a map allocate its table anew.
    if (this.#limit !== null || key !== this.#newest) {
      this.delete(key);
      this.#size += this.#limit?.of(value) ?? 0;
      for (const oldest of this.#entries.keys()) {
        if (this.#entries.size < this.#most && this.#size <= (this.#limit?.most ?? 0)) break;
        this.delete(oldest);
      }
    }
    this.#newest = key;
    this.#entries.set(key, value);
  }

  delete(key: K): void {
    const value = this.#entries.get(key);
    if (value !== undefined) this.#size -= this.#limit?.of(value) ?? 0;
    this.#entries.delete(key);
  }
}

/** A cached copy of stored data. */
export interface CacheEntry {
  /** When its read began, Unix ms. */
  readAt: number;
  /** Whether it is being read again. */
  refreshing: boolean;
}

/** Ages of a copy, in ms. */
interface CacheAges {
  /** From this age on, the copy is still used, but refreshed in the background (stale-while-revalidate). */
  refresh: number;
  /** From this age on, the copy is not used. */
  expire: number;
}

/**
 * A copy that is young enough to be used.
 * @param read replaces the copy; if it fails, the copy simply expires
 */
export function usable<T extends CacheEntry>(
  known: T | undefined,
  { refresh, expire }: CacheAges,
  read: () => Promise<unknown>,
  background: Background,
): T | undefined {
  if (known === undefined) return undefined;
  const age = Date.now() - known.readAt;
  // If the clock was set back since the read, the age is unknown.
  if (age >= expire || age < 0) return undefined;
  if (age >= refresh && !known.refreshing) {
    known.refreshing = true;
    background(read().catch(() => {}));
  }
  return known;
}
