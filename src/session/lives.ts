/**
 * The lives of the run under way: start, resumption after the death of a process, waiting, end.
 */
import type { RunRow } from "./conversation/run-rows.ts";
import type { SessionLog } from "./conversation/session-log.ts";

/** A run whose process died is resumed at the latest after this long; it also keeps a silent run in memory. */
export const WATCH_MS = 15_000;
/** A run is given up after this many consecutive lives without progress. */
const MAX_RECOVERIES = 3;

/** The part of a run that lives in memory. */
export interface Life {
  readonly run: string;
  readonly abort: AbortController;
  /** The run continues as soon as this life has ended. */
  again: boolean;
  /** The run was settled: nothing of this life counts any more. */
  over: boolean;
}

/** Tells a life that its run was settled without it. */
export class RunOver extends Error {}

/** What the lives of one object's runs share; who extends it says what a life does. */
export abstract class Lives<L extends Life> {
  protected readonly log: SessionLog;
  protected readonly background: (work: Promise<unknown>) => void;
  readonly #waiting = new Set<() => void>();
  #life: L | null = null;

  constructor(log: SessionLog, background: (work: Promise<unknown>) => void) {
    this.log = log;
    this.background = background;
  }

  protected abstract born(row: RunRow): L;
  /** Carries the run on. @param resumed whether an earlier life may have died in the middle of something */
  protected abstract drive(life: L, row: RunRow, resumed: boolean): Promise<void>;
  /** The amount of durable progress: grows as work continues. */
  protected abstract progress(): number;
  /** Whether the lives since the last recovery made any progress. */
  protected abstract gotOn(row: RunRow): boolean;
  /** Settles a run without progress. */
  protected abstract giveUp(row: RunRow): void;
  /** A life could not continue, e.g. because nothing can be stored while a new version is deployed. */
  protected abstract brokeOff(row: RunRow, error: unknown): void;

  /** The present life; `null`: none. */
  protected get current(): L | null {
    return this.#life;
  }

  /** The life of a run. */
  protected lifeOf(run: string): L | null {
    return this.#life?.run === run ? this.#life : null;
  }

  /** Ensures that an unfinished run is being driven. */
  ensure(): void {
    const row = this.log.store.liveRun();
    if (row !== null && row.status === "running" && this.#life === null) this.#resume(row);
  }

  /** Begins a life, the first one or one after a rest. */
  protected live(row: RunRow, resumed = false): void {
    const life = this.born(row);
    this.#life = life;
    // Runs in a later turn of the event loop: the caller may be in the middle of a transaction.
    const ended = Promise.resolve()
      .then(() => this.drive(life, row, resumed))
      .catch((error: unknown) => {
        // A later life continues from what is stored.
        life.again = false;
        if (!(error instanceof RunOver)) this.brokeOff(row, error);
      })
      .finally(() => {
        if (this.#life !== life) return;
        this.#life = null;
        if (!life.again || life.over || !this.#goesOn(life.run)) this.#changed();
      });
    this.background(ended);
  }

  /** Something came that lets a run continue. */
  protected goOn(run: string): void {
    if (this.#life !== null) this.#life.again = true;
    else this.#goesOn(run);
  }

  /** A run was settled. */
  protected settled(run: string): void {
    const life = this.lifeOf(run);
    if (life !== null) life.over = true;
    this.#changed();
  }

  /** Ends what is under way without an event: its storage is gone. */
  protected drop(reason: (run: string) => Error): void {
    if (this.#life !== null) {
      this.#life.over = true;
      this.#life.abort.abort(reason(this.#life.run));
      this.#life = null;
    }
    this.#changed();
  }

  /** Resolves when something has changed that somebody may wait for. */
  change(): Promise<void> {
    return new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #changed(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /**
   * Resumes a run that an earlier life left behind. It is noted before anything is loaded, since loading may be what
   * kills the process.
   */
  #resume(row: RunRow): void {
    const { store, now } = this.log;
    const recoveries = this.gotOn(row) ? 1 : row.recoveries + 1;
    if (recoveries > MAX_RECOVERIES) {
      this.giveUp(row);
      return;
    }
    store.transaction(() => {
      store.updateRun(row.id, { recoveries, progress: this.progress() });
      store.setDue({ watch: now() + WATCH_MS });
    });
    this.live({ ...row, recoveries }, true);
  }

  /** Begins the next life immediately. If nothing can be read now, the alarm begins a later one. */
  #goesOn(id: string): boolean {
    try {
      const row = this.log.store.run(id);
      if (row === null) return false;
      this.live(row);
      return true;
    } catch {
      return false;
    }
  }
}
