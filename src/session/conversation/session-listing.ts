/**
 * A session's rows in the tenant's lists of sessions and runs, in D1. The session itself is the truth: nobody who opens a session
 * or starts a run waits for a row, and one that could not be written is written later. Rows of new sessions, and of runs that begin
 * or end, go with those of other sessions (`index-rows.ts`). The session itself writes the row of a run that rests or goes on, since these rows must come in order.
 */
import type { Deployment } from "../../deployment.ts";
import type { RowNote } from "../../row-collector.ts";
import type { IndexEntry, SessionEntry } from "../index-row.ts";
import { flushRows, queueRows } from "../index-rows.ts";
import type { RunEntry } from "../run-entry.ts";
import { noteRuns } from "../run-index.ts";
import { sessionRows } from "../session-index.ts";
import { waitAtMost } from "../wait-at-most.ts";
import type { ListingSource } from "./session-lifecycle.ts";
import type { SessionLog } from "./session-log.ts";
import type { ConversationStore, SessionRow } from "./store.ts";
import { indexEntry } from "./views.ts";

/** Delay before a row that could not be written is written again, in ms. */
const RETRY_MS = 60_000;
/** Delay before a session writes its row if nobody has confirmed it, in ms. Not after a first run's watch, so that both need one alarm. */
const UNCONFIRMED_MS = 15_000;
/** How long an answer waits for a row, in ms. */
const WRITTEN_MS = 1000;
/** A run that ends within this time has one row written. In ms. */
const BEGUN_MS = 250;
/** After this time a session looks whether its rows that others were to send are in the lists. In ms. */
const CONFIRM_MS = 1000;
/** A life of the object that began within this time of a run's end, in ms, notes it again: the life before may have died first. */
const FRESH_MS = 600_000;

/** Rows that the session writes. */
interface OwnRows {
  rows: { tenant: string; run: RunEntry }[];
  other: IndexEntry | null;
  /** Its own row is stored with them; `null`: it is not. */
  session: SessionRow | null;
}

interface ListingOptions {
  log: SessionLog;
  deployment: Deployment;
  background: (work: Promise<unknown>) => void;
  lifecycle: ListingSource;
}

export class SessionListing {
  readonly #log: SessionLog;
  readonly #store: ConversationStore;
  readonly #deployment: Deployment;
  readonly #background: (work: Promise<unknown>) => void;
  readonly #lifecycle: ListingSource;
  /** One write after the other. */
  #last: Promise<void> = Promise.resolve();
  /** Runs that began and have no row yet. */
  readonly #unnoted = new Set<string>();
  #noting: ReturnType<typeof setTimeout> | undefined;
  /** Rows of runs on their way, or there. */
  #sent: { run: string; note: RowNote }[] = [];
  /** The session's own row on its way, or there. */
  #own: RowNote | null = null;
  #confirming: ReturnType<typeof setTimeout> | undefined;
  /** A row of the last run could not be written, and is due. */
  #runDue = false;

  constructor({ log, deployment, background, lifecycle }: ListingOptions) {
    this.#log = log;
    this.#store = log.store;
    this.#deployment = deployment;
    this.#background = background;
    this.#lifecycle = lifecycle;
  }

  /** The session is new or has changed; its row is due. Call it in the transaction of the change. */
  changed(): void {
    this.#store.setDue({ index: this.#log.now() + UNCONFIRMED_MS });
  }

  /** Notes the new session once it is on disk, so that nobody finds a session in the list that does not exist. */
  created(): void {
    const note = async (): Promise<void> => {
      await this.#store.sync();
      const row = this.#store.session();
      if (row === null || row.state === "deleted") return;
      const rows = [{ tenant: row.tenant, session: listEntry(row) }];
      this.#noteOwn(queueRows(this.#deployment, rows, this.#background));
    };
    this.#last = this.#last.then(note).catch(() => {});
    this.#background(this.#last);
  }

  /** Resolves when readers in this isolate find the new session. Those in others find it a moment later. */
  noted(): Promise<void> {
    return this.#last;
  }

  /** Waits until readers anywhere find the session's present row. A slow list delays nobody for long. */
  async written(): Promise<void> {
    const begun = Date.now();
    await waitAtMost(this.#last, WRITTEN_MS);
    if (this.#own === null) return;
    this.#background(flushRows(this.#deployment));
    await this.#deployment.indexRows.settled([this.#own], WRITTEN_MS - (Date.now() - begun));
  }

  /**
   * Writes the session's present row.
   * @param also a further row, stored in the same transaction
   */
  write(also: () => Promise<IndexEntry | null> = async () => null): Promise<void> {
    const write = async (): Promise<void> => {
      const row = this.#store.session();
      if (row === null || row.state === "deleted") return;
      if (this.#own !== null) await this.#deployment.indexRows.withdraw([this.#own]);
      this.#own = null;
      const entries = [await this.#entry(row), await also()].filter((entry) => entry !== null);
      await this.#deployment.env.DB.batch(entries.map(({ statement }) => statement));
      for (const { written } of entries) written();
    };
    this.#last = this.#last.then(write).catch((error: unknown) => {
      console.error(JSON.stringify({ event: "session_not_indexed", error: String(error) }));
    });
    return this.#last;
  }

  /** Does work on the lists after all that was begun earlier. @throws what the work throws */
  inOrder(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** A run begins. It is listed in a moment; one that ends before then is written once, at its end. Call it in the transaction of the change. */
  begun(run: string): void {
    this.#unnoted.add(run);
    clearTimeout(this.#noting);
    this.#noting = setTimeout(() => void this.noteBegun(), BEGUN_MS);
    this.#ownStored();
  }

  /** Notes the runs that began and are not listed yet. Resolves when readers in this isolate find them. */
  async noteBegun(): Promise<void> {
    if (this.#unnoted.size > 0) await this.#noteRuns([]);
  }

  /** The run under way rests or goes on. */
  moved(): void {
    const live = this.#store.liveRun();
    if (live !== null) void this.#noteRuns([live.id], { itself: true });
  }

  ended(run: string): void {
    void this.#noteRuns([run]);
  }

  /** Notes a run again that ended shortly before this life of the object began, or is still running. */
  again(): void {
    const [last] = this.#store.runs(1, Number.MAX_SAFE_INTEGER);
    if (last === undefined) return;
    const { id, status, settled_at } = last;
    const isFresh = settled_at === null ? status === "running" : this.#log.now() - settled_at <= FRESH_MS;
    if (isFresh) void this.#noteRuns([id]);
  }

  /** Notes a run again that has ended or rests: a life of the object may have died before its row was sent. `false`: there is none. */
  relist(run: string): boolean {
    const row = this.#store.run(run);
    if (row !== null && row.status !== "running")
      void this.#noteRuns([run], { itself: row.settled_at === null });
    return row !== null;
  }

  /** The last run's row is due. */
  repeat(): void {
    this.#runDue = true;
    const [last] = this.#store.runs(1, Number.MAX_SAFE_INTEGER);
    void this.#noteRuns(last === undefined ? [] : [last.id], { itself: true });
  }

  /** Waits until nothing of the session will be written any more. */
  async withdraw(): Promise<void> {
    await this.#last;
    const own = this.#own === null ? [] : [this.#own];
    await this.#deployment.indexRows.withdraw([...this.#sent.map(({ note }) => note), ...own]);
  }

  /** The session is removed. */
  forget(): void {
    this.#sent = [];
    this.#own = null;
  }

  /**
   * Notes the present rows of runs once the present change is stored. They go with rows of other sessions, unless there is more to write
   * for this one.
   * @param itself the session writes them, after those that it gave away
   * @returns resolves when they are on their way: readers in this isolate find rows that others send
   */
  #noteRuns(changed: readonly string[], { itself = false } = {}): Promise<void> {
    clearTimeout(this.#noting);
    const ids = [...new Set([...this.#unnoted, ...changed])];
    this.#unnoted.clear();
    const noted = this.#last.then(() => this.#giveAway(ids, itself));
    this.#last = noted
      .then((left) => (left === null ? undefined : this.#writeRuns(ids, left)))
      .catch((error: unknown) => {
        console.error(JSON.stringify({ event: "run_not_indexed", ids, error: String(error) }));
        this.#runDue = true;
        try {
          if (this.#store.session() !== null) this.#store.setDue({ run_index: this.#log.now() + RETRY_MS });
        } catch {
          // Nothing can be stored now. The run's next record writes its row again.
        }
      });
    this.#background(this.#last);
    return noted.then(
      () => {},
      () => {},
    );
  }

  /** Gives the rows to the collector; returns them if the session writes them. */
  async #giveAway(ids: readonly string[], itself: boolean): Promise<OwnRows | null> {
    // Another object may send the row, and nobody may find a run that is not on disk.
    if (this.#store.liveRun() !== null) await this.#store.sync();
    const session = this.#store.session();
    if (session === null || session.state === "deleted") return null;
    const rows = ids.flatMap((id) => {
      const row = this.#store.run(id);
      if (row === null) return [];
      return [{ tenant: session.tenant, run: indexEntry(this.#log, session.id, row) }];
    });
    const other = await this.#lifecycle.entry();
    // Nobody looks for the session in the list yet, so its row waited for the run's, or it could not be written before.
    const isListed = this.#own !== null || this.#store.dueAt("index") === null;
    if (other !== null || itself) return { rows, other, session: isListed ? null : session };
    // If the process dies before a run's end is on disk, the run goes on, and its next end replaces the row.
    const notes = queueRows(this.#deployment, rows, this.#background);
    this.#sent.push(...notes.map((note, i) => ({ run: rows[i]?.run.id ?? "", note })));
    this.#confirmLater();
    if (!isListed) {
      const own = [{ tenant: session.tenant, session: listEntry(session) }];
      this.#noteOwn(queueRows(this.#deployment, own, this.#background));
    }
    return null;
  }

  async #writeRuns(ids: readonly string[], { rows, other, session }: OwnRows): Promise<void> {
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
    if (!this.#runDue) return;
    this.#runDue = false;
    this.#store.setDue({ run_index: null });
  }

  #noteOwn([note]: readonly RowNote[]): void {
    this.#own = note ?? null;
    this.#confirmLater();
  }

  #confirmLater(): void {
    this.#confirming ??= setTimeout(() => this.#confirm(), CONFIRM_MS);
  }

  /** Writes those of its rows itself that nobody has stored until now. */
  #confirm(): void {
    this.#confirming = undefined;
    this.#sent = this.#sent.filter(({ note }) => note.state !== "stored");
    const left = this.#sent.map(({ run }) => run);
    if (left.length > 0) void this.#noteRuns(left, { itself: true });
    if (this.#own === null) return;
    if (this.#own.state !== "stored") this.#background(this.write());
    // If that fails, the row is written once more when it is due.
    else this.#last = this.#last.then(() => this.#ownStored()).catch(() => {});
  }

  /** If the session's row is there, it is not due any more. */
  #ownStored(): void {
    if (this.#own?.state !== "stored") return;
    this.#own = null;
    this.#store.setDue({ index: null });
  }

  async #entry(row: SessionRow): Promise<IndexEntry> {
    const { tenant, state } = row;
    const statement = await sessionRows(this.#deployment.env, [{ tenant, session: listEntry(row) }]);
    const written = (): void => {
      // Nothing is due any more, unless the session was changed or removed meanwhile.
      if (this.#store.session()?.state === state) this.#store.setDue({ index: null });
    };
    return { statement, written };
  }
}

/** A session as a list entry. */
function listEntry({ id, state, created_at, parent_id, metadata }: SessionRow): SessionEntry {
  return { id, state, created_at: new Date(created_at).toISOString(), parent_id, metadata };
}
