/** Due times in a session, and the alarm for the first of them. Nobody else writes the table. */

/** What may be due; each kind has one owner (`session.ts`). */
export type DueKind =
  /** A run under way must have a run attempt, and whoever is told of it must know how it is. */
  | "watch"
  /** An approval expires, or a resting run's time is over. */
  | "approval"
  /** The session's row in the list must be written. */
  | "index"
  /** The last run's row could not be written, or that of an ended call is not there yet. */
  | "run_index"
  /** What is left of a removed session must go. */
  | "delete"
  /** A fork that is not whole yet counts as given up. Only such a session has this kind. */
  | "fork"
  /** Contents that no file needs any more must go. */
  | "files"
  /** The daemon must be looked at. */
  | "daemon"
  | "daemon_index"
  | "task_index"
  /** The session above must be told of what happens in a workflow run. */
  | "relay"
  /** The workflow run must be looked at. */
  | "workflow"
  | "workflow_index"
  /** The session of a single call must go. */
  | "expiry";

/** Times in Unix ms; `null`: not due any more; absent: unchanged. */
export type DueChanges = { [K in DueKind]?: number | null };

export interface Due {
  kind: string;
  /** Unix ms. */
  at: number;
}

/**
 * An alarm may come so much before the first due time, in ms. It then finds nothing due and sets the next one, while each change of
 * an alarm is a write that the request waits for. Most often nothing is due any more before it comes, and it is removed.
 */
const EARLY_MS = 60_000;

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
  at(kind: DueKind): number | null {
    return this.#known().get(kind) ?? null;
  }

  /**
   * Sets times, or removes those that are `null`, and sets the alarm if it would come too late or much too
   * early. Call it in a transaction.
   */
  set(times: DueChanges): void {
    const known = this.#known();
    for (const [kind, at] of Object.entries(times)) {
      if (at !== null && at !== known.get(kind)) {
        this.#storage.sql.exec("INSERT OR REPLACE INTO due (kind, at) VALUES (?, ?)", kind, at);
        known.set(kind, at);
      } else if (at === null && known.delete(kind)) {
        this.#storage.sql.exec("DELETE FROM due WHERE kind = ?", kind);
      }
    }
    if (!this.#isArmed()) this.arm();
  }

  /** If nothing is due, there is no alarm. */
  arm(): void {
    const first = this.#first();
    if (first === null) void this.#storage.deleteAlarm();
    else void this.#storage.setAlarm(first);
    this.#armed = first;
  }

  /** Whether the alarm comes in time for the first due time, or there is none where nothing is due. */
  #isArmed(): boolean {
    const first = this.#first();
    const armed = this.#armed;
    if (first === null || armed === null || armed === undefined) return first === armed;
    return armed <= first && first - armed <= EARLY_MS;
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
