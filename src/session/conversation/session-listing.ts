/**
 * A session's rows in the tenant's lists of sessions and runs, in D1. The session itself is authoritative: no request
 * that opens a session or starts a run waits for a row, and a failed write is repeated later. Rows of new sessions, and
 * of runs that begin or end, are written together with those of other sessions (`index-rows.ts`). The session itself
 * writes the row of a run that rests or continues, since these rows must be written in order.
 */

import type { Deployment } from "../../deployment.ts";
import type { Background } from "../../log.ts";
import type { RowNote } from "../../row-collector.ts";
import type { IndexEntry } from "../index-row.ts";
import { flushRows, queueRows } from "../index-rows.ts";
import type { RunEntry } from "../run-entry.ts";
import { noteRuns } from "../run-index.ts";
import type { SessionEntry } from "../session-entry.ts";
import { sessionRows } from "../session-index.ts";
import { MAX_ROW_WAIT_MS, waitAtMost } from "../wait-at-most.ts";
import { RETRY_MS } from "./due-times.ts";
import type { ListingSource } from "./session-lifecycle.ts";
import type { SessionLog } from "./session-log.ts";
import type { ConversationStore, SessionRow } from "./store.ts";

/**
 * Delay before a session writes its own row if it is not yet known to be stored, in ms. It is no longer than the watch
 * of a first run, so that both need only one alarm.
 */
const UNCONFIRMED_MS = 15_000;
/** A run that ends within this time, in ms, gets a row only at its end. */
const BEGUN_MS = 250;
/** After this time, in ms, a session checks whether the rows that it left to others are stored. */
const CONFIRM_MS = 1000;
/**
 * If a run ended within this time, in ms, before this instance of the object began, its row is written again: the
 * previous instance may have died before it wrote the row.
 */
const FRESH_MS = 600_000;

/** Rows that the session writes itself. */
interface OwnRows {
  rows: { tenant: string; run: RunEntry }[];
  other: IndexEntry | null;
  /** The session whose own row is written with them; `null`: its row is not needed. */
  session: SessionRow | null;
}

interface ListingOptions {
  log: SessionLog;
  deployment: Deployment;
  background: Background;
  lifecycle: ListingSource;
}

export class SessionListing {
  readonly #log: SessionLog;
  readonly #store: ConversationStore;
  readonly #deployment: Deployment;
  readonly #background: Background;
  readonly #lifecycle: ListingSource;
  /** The last write; the next one waits for it. */
  #last: Promise<void> = Promise.resolve();
  /** Runs that have begun and have no row yet. */
  readonly #unnoted = new Set<string>();
  #noting: ReturnType<typeof setTimeout> | undefined;
  /** Rows of runs that were given to the collector. */
  #sent: { run: string; note: RowNote }[] = [];
  /** The session's own row, if the collector has it. */
  #own: RowNote | null = null;
  #confirming: ReturnType<typeof setTimeout> | undefined;
  /** Whether the last run's row is due because writing it failed. */
  #runDue = false;

  constructor({ log, deployment, background, lifecycle }: ListingOptions) {
    this.#log = log;
    this.#store = log.store;
    this.#deployment = deployment;
    this.#background = background;
    this.#lifecycle = lifecycle;
  }

  /** Schedules the row of a new or changed session. Call it in the transaction of the change. */
  changed(): void {
    this.#store.due.set({ index: this.#log.now() + UNCONFIRMED_MS });
  }

  /**
   * Writes the row of a new session after the session is on disk, so that the list shows no session that does not exist.
   */
  created(): void {
    void this.#noteRuns([]);
  }

  /** Resolves when readers in this isolate find the new session. Readers in other isolates find it a moment later. */
  noted(): Promise<void> {
    return this.#last;
  }

  /** Waits until readers everywhere find the session's present row, but only for a limited time. */
  async written(): Promise<void> {
    const begun = Date.now();
    await waitAtMost(this.#last, MAX_ROW_WAIT_MS);
    if (this.#own === null) return;
    this.#background(flushRows(this.#deployment));
    await this.#deployment.indexRows.settled([this.#own], MAX_ROW_WAIT_MS - (Date.now() - begun));
  }

  /**
   * Writes the session's present row.
   * @param also a further row, stored in the same transaction
   */
  write(also: () => Promise<IndexEntry | null> = async () => null): Promise<void> {
    return this.inOrder("session_not_indexed", async () => {
      const row = this.#store.session();
      if (row === null || row.state === "deleted") return;
      if (this.#own !== null) await this.#deployment.indexRows.withdraw([this.#own]);
      this.#own = null;
      const entries = [await this.#entry(row), await also()].filter((entry) => entry !== null);
      await this.#deployment.env.DB.batch(entries.map(({ statement }) => statement));
      for (const { written } of entries) written();
    });
  }

  /**
   * Does work on the lists after all earlier work. A removal of the session waits for it.
   * @param fault the log's event for a failure, which is not thrown
   */
  inOrder(fault: string, work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(work).catch(this.#log.faults({ event: fault }));
    return this.#last;
  }

  /**
   * A run begins. Its row is written after `BEGUN_MS`, or at its end if it ends earlier. Call it in the transaction of
   * the change.
   */
  begun(run: string): void {
    this.#unnoted.add(run);
    clearTimeout(this.#noting);
    this.#noting = setTimeout(() => void this.noteBegun(), BEGUN_MS);
    this.#ownStored();
  }

  /** Writes rows of runs that have begun and have none yet. Resolves when readers in this isolate can find them. */
  async noteBegun(): Promise<void> {
    if (this.#unnoted.size > 0) await this.#noteRuns([]);
  }

  /** Writes the run's row because it rests or continues. */
  moved(): void {
    const live = this.#store.runs.live();
    if (live !== null) void this.#noteRuns([live.id], { itself: true });
  }

  ended(run: string): void {
    void this.#noteRuns([run]);
  }

  /**
   * Writes the last run's row again if the run is still running, or ended shortly before this instance of the object
   * began.
   */
  again(): void {
    const last = this.#store.runs.last();
    if (last === null) return;
    const { id, status, settled_at } = last;
    const isFresh = settled_at === null ? status === "running" : this.#log.now() - settled_at <= FRESH_MS;
    if (isFresh) void this.#noteRuns([id]);
  }

  /**
   * Writes the row of an unsettled run again if the run has ended or its state is another one, since an earlier instance
   * of the object may have died before it sent the row. Returns whether there is such a run.
   * @param listed the state that the row says
   */
  relist(run: string, listed: string): boolean {
    const row = this.#store.runs.find(run);
    if (row !== null && (row.settled_at !== null || row.status !== listed))
      void this.#noteRuns([run], { itself: row.settled_at === null });
    return row !== null;
  }

  /** Writes the last run's row, which is due until it is stored. */
  repeat(): void {
    const last = this.#store.runs.last();
    void this.#noteRuns(last === null ? [] : [last.id], { itself: true, clears: true });
  }

  /** Waits until nothing writes rows of this session any more. */
  async withdraw(): Promise<void> {
    await this.#last;
    const own = this.#own === null ? [] : [this.#own];
    await this.#deployment.indexRows.withdraw([...this.#sent.map(({ note }) => note), ...own]);
  }

  /** Forgets the rows of a removed session. */
  forget(): void {
    this.#sent = [];
    this.#own = null;
  }

  /**
   * Writes the present rows of runs once the present change is stored. The collector sends them with rows of other
   * sessions, unless the session has more to write.
   * @param itself the session writes them, after the rows that the collector has
   * @param clears they are not due any more once the session has written them
   * @returns resolves when the collector has the rows, so that readers in this isolate find them
   */
  #noteRuns(changed: readonly string[], { itself = false, clears = false } = {}): Promise<void> {
    clearTimeout(this.#noting);
    const ids = [...new Set([...this.#unnoted, ...changed])];
    this.#unnoted.clear();
    const noted = this.#last.then(() => this.#giveAway(ids, itself));
    this.#last = noted
      .then((left) => (left === null ? undefined : this.#writeRuns(ids, left, clears)))
      .catch((error: unknown) => {
        this.#log.fault({ event: "run_not_indexed", ids }, error);
        this.#runDue = true;
        try {
          if (this.#store.session() !== null) this.#store.due.set({ run_index: this.#log.now() + RETRY_MS });
        } catch {
          // Storage accepts no writes now. The run's next record writes its row again.
        }
      });
    this.#background(this.#last);
    return noted.then(
      () => {},
      () => {},
    );
  }

  /** Gives the rows to the collector; returns them instead if the session must write them itself. */
  async #giveAway(ids: readonly string[], itself: boolean): Promise<OwnRows | null> {
    // The session's own row may be unwritten: it is new or waited for the run's row, or an earlier write failed.
    const isListed = (): boolean => this.#own !== null || this.#store.due.at("index") === null;
    // Another object may send the rows, and the lists must not show a run or a session that is not on disk.
    if (this.#store.runs.live() !== null || !isListed()) await this.#store.sync();
    const session = this.#store.session();
    if (session === null || session.state === "deleted") return null;
    const rows = ids.flatMap((id) => {
      const row = this.#store.runs.find(id);
      if (row === null) return [];
      return [{ tenant: session.tenant, run: this.#lifecycle.runRow(row) }];
    });
    const other = await this.#lifecycle.entry();
    const own = isListed() ? null : session;
    if (other !== null || itself) return { rows, other, session: own };
    // If the process dies before a run's end is on disk, the run continues, and its next end overwrites the row.
    const owns = own === null ? [] : [{ tenant: own.tenant, session: listEntry(own) }];
    const notes = queueRows(this.#deployment, [...rows, ...owns], this.#background);
    const sent = notes.slice(0, rows.length);
    this.#sent.push(...sent.map((note, i) => ({ run: rows[i]?.run.id ?? "", note })));
    this.#own = notes[rows.length] ?? this.#own;
    this.#confirming ??= setTimeout(() => this.#confirm(), CONFIRM_MS);
    return null;
  }

  async #writeRuns(
    ids: readonly string[],
    { rows, other, session }: OwnRows,
    clears: boolean,
  ): Promise<void> {
    const earlier = this.#sent.filter(({ run }) => ids.includes(run));
    await this.#deployment.indexRows.withdraw(earlier.map(({ note }) => note));
    const own = session === null ? null : await this.#entry(session);
    const further = [other, own].filter((entry) => entry !== null);
    await noteRuns(
      this.#deployment.env,
      rows,
      further.map(({ statement }) => statement),
    );
    this.#sent = this.#sent.filter((sent) => !earlier.includes(sent));
    for (const { written } of further) written();
    if (!clears && !this.#runDue) return;
    this.#runDue = false;
    // The session may have been removed in the meantime.
    if (this.#store.session() !== null) this.#store.due.set({ run_index: null });
  }

  /** Writes the rows that the collector has not stored by now. */
  #confirm(): void {
    this.#confirming = undefined;
    this.#sent = this.#sent.filter(({ note }) => note.state !== "stored");
    const left = this.#sent.map(({ run }) => run);
    if (left.length > 0) void this.#noteRuns(left, { itself: true });
    if (this.#own === null) return;
    if (this.#own.state !== "stored") this.#background(this.write());
    // If that fails, the due time makes the session write the row once more.
    else this.#last = this.#last.then(() => this.#ownStored()).catch(() => {});
  }

  /** Removes the due time once the session's own row is stored. */
  #ownStored(): void {
    if (this.#own?.state !== "stored") return;
    this.#own = null;
    this.#store.due.set({ index: null });
  }

  async #entry(row: SessionRow): Promise<IndexEntry> {
    const { tenant } = row;
    const session = listEntry(row);
    const statement = await sessionRows(this.#deployment.env, [{ tenant, session }]);
    const written = (): void => {
      // Keeps the due time if the session was changed or removed meanwhile.
      const now = this.#store.session();
      if (now !== null && JSON.stringify(listEntry(now)) === JSON.stringify(session))
        this.#store.due.set({ index: null });
    };
    return { statement, written };
  }
}

function listEntry({ id, state, created_at, parent_id, metadata }: SessionRow): SessionEntry {
  return { id, state, created_at: new Date(created_at).toISOString(), parent_id, metadata };
}
