/** A session's due times, and the alarm for the earliest. Only this class writes the table. */

/** What can be due. Each kind has one owner, which does the work (`session.ts`). */
export type DueKind =
  /** Check that the run under way has a run attempt, and that the session above has its events. */
  | "watch"
  /** Stop at the runner what it may still be doing for a run that was stopped. */
  | "stop"
  /** An approval expires, or the deadline of a resting run passes. */
  | "approval"
  /** Write the session's row in the list. */
  | "index"
  /** Write the last run's row: an earlier write failed, or the row of an ended call is not yet stored. */
  | "run_index"
  /** Remove the remains of a removed session. */
  | "delete"
  /** Treat an incomplete fork as abandoned. Only incomplete forks have this kind. */
  | "fork"
  /** Remove contents that no file uses any more. */
  | "files"
  /** Write a file that storage did not take when somebody looked at the files. */
  | "owed"
  /** Check whether the daemon must wake. */
  | "daemon"
  | "daemon_index"
  | "task_index"
  /** Send a workflow run's events to the session above. */
  | "relay"
  /** Take the workflow run's next steps. */
  | "workflow"
  | "workflow_index"
  /** Take the input of a single call over from the tenant's file index. */
  | "input"
  /** Remove the session of a single call. */
  | "expiry";

/** Times in Unix ms; `null`: not due any more; absent: unchanged. */
type DueChanges = { [K in DueKind]?: number | null };

export interface Due {
  kind: string;
  /** Unix ms. */
  at: number;
}

/** What failed, or may not have happened, is due again after this many ms. */
export const RETRY_MS = 60_000;
/**
 * An alarm may fire this much before the first due time, in ms. It then finds nothing due and sets the next alarm. That
 * is cheaper than changing the alarm, since the request waits for each such write. Most often nothing is due any more
 * before the alarm fires, and it is removed.
 */
const EARLY_MS = 60_000;
/** The platform refuses alarms after the year 2189, Unix ms. An alarm at this time sets the next one. */
const LAST_ALARM = Date.UTC(2189, 0);

export class DueTimes {
  readonly #storage: DurableObjectStorage;
  readonly #together: (writes: () => void) => void;
  /** Time of each kind; `null`: not read yet. */
  #times: Map<string, number> | null = null;
  /** The time of the alarm; `null`: none is set; `undefined`: unknown. */
  #armed: number | null | undefined;

  /** @param together does the writes in one transaction, in the open one if there is one */
  constructor(storage: DurableObjectStorage, together: (writes: () => void) => void) {
    this.#storage = storage;
    this.#together = together;
  }

  /** Drops cached values, which a failed transaction may have made wrong. */
  forget(): void {
    this.#times = null;
    this.#armed = undefined;
  }

  /** Called when the table has just been created, or when there is none. */
  begin(): void {
    this.#times = new Map();
  }

  /** The alarm fired or was abandoned, so the next change sets it again. */
  fired(): void {
    this.#armed = undefined;
  }

  /** Sorted, the earliest first. */
  list(): Due[] {
    return [...this.#known()].map(([kind, at]) => ({ kind, at })).sort((a, b) => a.at - b.at);
  }

  /** When this kind is due, Unix ms; `null`: never. */
  at(kind: DueKind): number | null {
    return this.#known().get(kind) ?? null;
  }

  /**
   * Sets times, or removes those that are `null`, and sets the alarm if it would come too late or much too early. In a
   * transaction, the alarm is part of it.
   */
  set(times: DueChanges): void {
    this.#together(() => this.#write(times));
  }

  #write(times: DueChanges): void {
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

  /** Sets the alarm for the earliest time, or deletes it if nothing is due. */
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
    return times.length === 0 ? null : Math.min(LAST_ALARM, ...times);
  }

  /**
   * Sets the alarm again if it was lost: the platform drops an alarm after repeated failures. An alarm that this
   * instance set exists until it fires.
   */
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
