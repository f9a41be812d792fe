/** A map of limited size: when it is full, setting another key removes the entry that was set longest ago. */
export class RecentMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #most: number;
  #newest: K | undefined;

  /** @param most entries */
  constructor(most: number) {
    this.#most = most;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** The entry becomes the newest one. */
  set(key: K, value: V): void {
    // An entry moves only if it must, since removing its only key makes a map allocate its table anew.
    if (key !== this.#newest) {
      this.#entries.delete(key);
      const oldest = this.#entries.size >= this.#most ? this.#entries.keys().next().value : undefined;
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    this.#newest = key;
    this.#entries.set(key, value);
  }

  delete(key: K): void {
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
 * @param background keeps a promise alive after the response, e.g. `ctx.waitUntil`
 */
export function usable<T extends CacheEntry>(
  known: T | undefined,
  { refresh, expire }: CacheAges,
  read: () => Promise<unknown>,
  background: (work: Promise<unknown>) => void,
): T | undefined {
  if (known === undefined) return undefined;
  const age = Date.now() - known.readAt;
  if (age >= expire) return undefined;
  if (age >= refresh && !known.refreshing) {
    known.refreshing = true;
    background(read().catch(() => {}));
  }
  return known;
}
