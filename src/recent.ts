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
