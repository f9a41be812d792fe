/** The attempts of the run under way: starts them, resumes a run after the death of its process, waits, ends. */
import type { Background } from "../log.ts";
import type { RunRow } from "./conversation/run-rows.ts";
import type { SessionLog } from "./conversation/session-log.ts";

/** At most this long after its process died, a run is resumed. The alarm also keeps a silent run in memory. */
export const WATCH_MS = 15_000;
/** A run is given up after this many consecutive run attempts without progress. */
const MAX_RECOVERIES = 3;

/** The part of a run that lives in memory. */
export interface RunAttempt {
  readonly run: string;
  readonly abort: AbortController;
  /** Whether the run continues as soon as this run attempt has ended. */
  rerun: boolean;
  /** Whether the run is settled, so that this run attempt must store nothing more. */
  settled: boolean;
}

/** Tells a run attempt that its run was settled elsewhere. */
export class RunSettled extends Error {}

/**
 * Counts one more consecutive attempt that broke off.
 * @param before the count until now
 * @param progressed whether there was progress since the last one
 * @returns `null`: there are too many, so the run is given up
 */
export function countRecovery(before: number, progressed: boolean): number | null {
  const recoveries = progressed ? 1 : before + 1;
  return recoveries > MAX_RECOVERIES ? null : recoveries;
}

/** What the run attempts of one object have in common. A subclass defines what a run attempt does. */
export abstract class RunAttempts<A extends RunAttempt> {
  protected readonly log: SessionLog;
  protected readonly background: Background;
  readonly #waiting = new Set<() => void>();
  #current: A | null = null;

  constructor(log: SessionLog, background: Background) {
    this.log = log;
    this.background = background;
  }

  protected abstract newAttempt(row: RunRow): A;
  /** Drives the run. @param resumed whether an earlier run attempt may have died in the middle of something */
  protected abstract drive(attempt: A, row: RunRow, resumed: boolean): Promise<void>;
  /** A number that grows with durable progress. */
  protected abstract progress(): number;
  /** Whether the run attempts since the last recovery made any progress. */
  protected abstract madeProgress(row: RunRow): boolean;
  /** Settles a run that makes no progress. */
  protected abstract giveUp(row: RunRow): void;
  /** A run attempt could not continue, e.g. because storage accepts no writes while a new version is deployed. */
  protected abstract interrupted(row: RunRow, error: unknown): void;

  /** The present run attempt; `null`: none. */
  protected get current(): A | null {
    return this.#current;
  }

  /** The present run attempt, if it is of this run. */
  protected attemptOf(run: string): A | null {
    return this.#current?.run === run ? this.#current : null;
  }

  /** Resumes the run under way if nothing drives it. */
  ensure(): void {
    const row = this.log.store.runs.live();
    if (row !== null && row.status === "running" && this.#current === null) this.#resume(row);
  }

  /** Begins a run attempt: the first one, one after a rest, or (`resumed`) one after the death of a process. */
  protected startAttempt(
    row: RunRow,
    { attempt = this.newAttempt(row), resumed = false }: { attempt?: A; resumed?: boolean } = {},
  ): void {
    this.#current = attempt;
    // Runs in a later turn of the event loop: the caller may be in the middle of a transaction.
    const ended = Promise.resolve()
      .then(() => this.drive(attempt, row, resumed))
      .catch((error: unknown) => {
        // A later run attempt continues from what is stored.
        attempt.rerun = false;
        if (!(error instanceof RunSettled)) this.interrupted(row, error);
      })
      .finally(() => {
        if (this.#current !== attempt) return;
        this.#current = null;
        if (!attempt.rerun || attempt.settled || !this.#startNext(attempt.run)) this.changed();
      });
    this.background(ended);
  }

  /** Lets a run continue, because something arrived for it. */
  protected proceed(run: string): void {
    if (this.#current !== null) this.#current.rerun = true;
    else this.#startNext(run);
  }

  protected settled(run: string): void {
    const attempt = this.attemptOf(run);
    if (attempt !== null) attempt.settled = true;
    this.changed();
  }

  /** Drops the run attempt in memory without an event, because its storage is gone. */
  protected drop(reason: (run: string) => Error): void {
    if (this.#current !== null) {
      this.#current.settled = true;
      this.#current.abort.abort(reason(this.#current.run));
      this.#current = null;
    }
    this.changed();
  }

  /** Resolves at the next change that somebody may wait for. */
  change(): Promise<void> {
    return new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Wakes those who wait for a change. */
  changed(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /**
   * Resumes a run that a dead run attempt left behind. Counts the recovery before it loads anything, since loading may
   * kill the process.
   */
  #resume(row: RunRow): void {
    const { store, now } = this.log;
    const recoveries = countRecovery(row.recoveries, this.madeProgress(row));
    if (recoveries === null) {
      this.giveUp(row);
      return;
    }
    store.transaction(() => {
      store.runs.update(row.id, { recoveries, progress: this.progress() });
      store.due.set({ watch: now() + WATCH_MS });
    });
    this.startAttempt({ ...row, recoveries }, { resumed: true });
  }

  /** Begins the next run attempt immediately. If storage cannot be read now, the alarm begins one later. */
  #startNext(id: string): boolean {
    try {
      const row = this.log.store.runs.find(id);
      if (row === null) return false;
      this.startAttempt(row);
      return true;
    } catch {
      return false;
    }
  }
}
