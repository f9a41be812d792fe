/** Due times in a session, and the alarm for the first of them. Nobody else writes the table. */

export interface Due {
  kind: string;
  /** Unix ms. */
  at: number;
}

export class DueTimes {
  readonly #storage: DurableObjectStorage;
  /** By kind; `null`: unknown. */
  #times: Map<string, number> | null = null;
  /** The time of the alarm; `null`: none is set; `undefined`: unknown. */
  #armed: number | null | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Knowledge from a failed transaction is invalid. */
  forget(): void {
    this.#times = null;
    this.#armed = undefined;
  }

  /** The table was just made. */
  begin(): void {
    this.#times = new Map();
  }

  /** The alarm fired or was given up: the next change sets it again. */
  fired(): void {
    this.#armed = undefined;
  }

  /** Sorted, the earliest first. */
  list(): Due[] {
    return [...this.#known()].map(([kind, at]) => ({ kind, at })).sort((a, b) => a.at - b.at);
  }

  /** Unix ms. */
  at(kind: string): number | null {
    return this.#known().get(kind) ?? null;
  }

  /**
   * Sets times, or removes those that are `null`, and sets the alarm if the first time changes. Call it in a
   * transaction.
   */
  set(times: { [kind: string]: number | null }): void {
    const known = this.#known();
    for (const [kind, at] of Object.entries(times)) {
      if (at !== null && at !== known.get(kind)) {
        this.#storage.sql.exec("INSERT OR REPLACE INTO due (kind, at) VALUES (?, ?)", kind, at);
        known.set(kind, at);
      } else if (at === null && known.delete(kind)) {
        this.#storage.sql.exec("DELETE FROM due WHERE kind = ?", kind);
      }
    }
    if (this.#first() !== this.#armed) this.arm();
  }

  /** If nothing is due, there is no alarm. */
  arm(): void {
    const first = this.#first();
    if (first === null) void this.#storage.deleteAlarm();
    else void this.#storage.setAlarm(first);
    this.#armed = first;
  }

  #first(): number | null {
    const times = [...this.#known().values()];
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Sets a lost alarm again: the platform drops one after some failures. One that this life set is not lost before it fired. */
  async rearm(): Promise<void> {
    if (this.#armed === undefined && this.#known().size > 0 && (await this.#storage.getAlarm()) === null)
      this.arm();
  }

  #known(): Map<string, number> {
    const rows = () =>
      this.#storage.sql.exec<{ kind: string; at: number }>("SELECT kind, at FROM due ORDER BY kind");
    this.#times ??= new Map(Array.from(rows(), ({ kind, at }) => [kind, at]));
    return this.#times;
  }
}
