/** The storage of one session. It makes no decisions (docs/storage-schema.md). */
import { join } from "../../bytes.ts";
import type { AgentRecord, SessionState } from "../../engine/agent/records.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import { CallNotFound } from "../../errors/llm.ts";
import type { RunEvent } from "../../run/events.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { LongValues, rowChunks } from "../long-values.ts";
import { checkVersion, migrate } from "../migrate.ts";
import { insertRow, select } from "../sql.ts";
import { SubmittedExecutions } from "../submitted-executions.ts";
import { Tables } from "../tables.ts";
import { StoredArtifacts } from "./artifacts.ts";
import { DueTimes } from "./due-times.ts";
import { type Row, Rows } from "./rows.ts";
import { type RunRow, RunRows } from "./run-rows.ts";
import { RunSpecs, type StoredRecord } from "./run-specs.ts";
import { CONVERSATION_STEPS, NEWEST_SESSION, OPTIONAL_TABLES, type OptionalTable } from "./schema.ts";

/** The most events, and bytes of events, per read. */
const EVENT_BATCH = 200;
const EVENT_BYTES = 1024 * 1024;
/** The last row of events stays in memory if it has at most this many bytes. */
const KEPT_BYTES = 64 * 1024;
/** So do the rows before it while all together have at most this many: everyone who follows wants them. */
const TAIL_BYTES = 16 * 1024;
/** The fold is stored after this many rows of records, so that a wake-up reads few rows. */
const CHECKPOINT_EVERY = 64;
/** Version of the shape of the stored fold. A fold of another version is rebuilt from the records. */
const FOLD_VERSION = 4;
/** How long the answer to a request is kept for its repetition, in ms. */
const REQUEST_MS = 24 * 3_600_000;

export interface SessionIdentity {
  id: string;
  tenant: string;
}

export interface SessionRow extends SessionIdentity {
  /** Unix ms. */
  created_at: number;
  updated_at: number;
  /** `deleted`: its remains are being removed. */
  state: SessionState | "deleted";
  /** Identifies the request that created it; `null`: nothing does. */
  request_hash: string | null;
  parent_id: string | null;
  /** Number of the parent's last event when this session branched off. */
  branched_at: number | null;
  metadata: JsonObject;
}

/** An answer that a repeated request gets again. */
interface KnownRequest {
  hash: string;
  answer: string;
}

/** Events that were stored together. */
interface EventRow {
  /** Number of the last event before them. */
  after: number;
  events: readonly RunEvent[];
  bytes: number;
}

/** Content of the tables, read or written since the last failed transaction. */
interface Known {
  session?: SessionRow | null;
  /** The rows of events that were stored last, without a gap. */
  lastEvents?: EventRow[];
  /** Number of the last row that the stored fold includes. */
  checkpointAt?: number;
}

/** Name in `content` of a long answer to a request; the request's row then has an empty text. */
const answerOf = (request: string): string => `request ${request}`;

type RawSession = Omit<SessionRow, "metadata"> & { metadata: string };

export class ConversationStore {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly tables: Tables<OptionalTable>;
  readonly #records: Rows<StoredRecord[]>;
  readonly #specs: RunSpecs;
  /** A row holds the events that were sent together; its number is that of the last event. */
  readonly #events: Rows<RunEvent[]>;
  readonly runs: RunRows;
  readonly due: DueTimes;
  readonly artifacts: StoredArtifacts;
  readonly long: LongValues;
  /** Executions of the run under way. */
  readonly submitted: SubmittedExecutions;
  #ready: boolean;
  /** Identity in the row that was read last. Kept after failures, so that it is known even when nothing can be read. */
  #identity: SessionIdentity | null = null;
  /** Cached content; only this class writes the tables. A missing member is unknown. */
  #known: Known = {};
  /** Whether a transaction of this class is open. */
  #inside = false;
  #forgotten = 0;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.due = new DueTimes(storage, (writes) => (this.#inside ? writes() : this.transaction(writes)));
    this.tables = new Tables(this.#sql, OPTIONAL_TABLES);
    const isEarlier = this.tables.has("record");
    this.#records = new Rows(this.#sql, isEarlier ? "record" : "records");
    this.#events = new Rows(this.#sql, isEarlier ? "event" : "events");
    this.long = new LongValues(this.tables);
    this.runs = new RunRows(this.#sql, this.long);
    this.#specs = new RunSpecs(this.#records, () => this.runs.last()?.first_record ?? null);
    this.artifacts = new StoredArtifacts(this.#records, this.tables);
    this.submitted = new SubmittedExecutions(this.tables);
    this.#ready = this.tables.has("session");
    if (this.#ready) checkVersion(this.#sql, NEWEST_SESSION);
    else this.#begin();
  }

  /** Runs the writes in one transaction. */
  transaction<T>(writes: () => T): T {
    const outer = this.#inside;
    this.#inside = true;
    try {
      return this.#storage.transactionSync(writes);
    } catch (error) {
      this.#forget();
      throw error;
    } finally {
      this.#inside = outer;
    }
  }

  /** Changes whenever the cache becomes invalid. Parts that cache rows of their own tables compare it. */
  get forgotten(): number {
    return this.#forgotten;
  }

  session(): SessionRow | null {
    if (!this.#ready) return null;
    this.#known.session ??= this.#readSession();
    this.#identity = this.#known.session;
    return this.#known.session;
  }

  /** Tenant and id of the session, even while it is being removed. @throws CallNotFound if there is none */
  identity(): SessionIdentity {
    if (this.#identity === null) this.session();
    if (this.#identity === null) throw new CallNotFound({ what: "session", id: "" });
    return this.#identity;
  }

  /** The same as far as it is known without reading: `null`, if it is not. */
  get knownIdentity(): SessionIdentity | null {
    return this.#identity;
  }

  #readSession(): SessionRow | null {
    const [raw] = select<RawSession>(this.#sql, "SELECT * FROM session");
    return raw === undefined ? null : { ...raw, metadata: JSON.parse(raw.metadata) };
  }

  /** Creates the tables. An object that was never written to has none. */
  prepare(): void {
    if (this.#ready) return;
    migrate(this.#storage, CONVERSATION_STEPS);
    this.tables.made("session");
    this.#begin();
    this.#ready = true;
  }

  /** The tables are new, or there are none: there is nothing to read. */
  #begin(): void {
    this.#records.begin("records");
    this.#events.begin("events");
    this.runs.begin();
    this.due.begin();
  }

  create(row: SessionRow): void {
    insertRow(this.#sql, "session", { ...row, metadata: JSON.stringify(row.metadata) });
    this.#known.session = row;
  }

  /** Creates the session, replacing an existing one. */
  replaceSession(row: SessionRow): void {
    this.#sql.exec("DELETE FROM session");
    this.create(row);
  }

  setState(state: SessionRow["state"], now: number): void {
    this.#sql.exec("UPDATE session SET state = ?, updated_at = ?", state, now);
    const { session } = this.#known;
    if (session) this.#known.session = { ...session, state, updated_at: now };
  }

  touch(now: number): void {
    this.#sql.exec("UPDATE session SET updated_at = ?", now);
    const { session } = this.#known;
    if (session) this.#known.session = { ...session, updated_at: now };
  }

  addChild(id: string): void {
    this.tables.insert("child", { id }, "INSERT OR IGNORE");
  }

  children(): string[] {
    return this.tables.exec<{ id: string }>("child", "SELECT id FROM child ORDER BY id").map(({ id }) => id);
  }

  /** Stores records that belong together as one row; returns its number of bytes. */
  appendRecords(records: readonly AgentRecord[]): number {
    if (records.length === 0) return 0;
    const seq = this.#records.last() + 1;
    return this.#records.insert(seq, this.#specs.stored(records, seq));
  }

  /** Number of the last row of records; 0: none. */
  lastRecord(): number {
    return this.#records.last();
  }

  /** The rows of records after number `after`. */
  *recordRows(after: number): Generator<Row<AgentRecord[]>> {
    for (const row of this.#records.after(after)) yield this.#specs.restored(row);
  }

  /** The records in rows after number `after`, oldest first. Unreadable rows are left out. */
  *records(after = 0): Generator<AgentRecord> {
    for (const row of this.recordRows(after)) if (row.ok) yield* row.value;
  }

  /** The records of a run, oldest first, including those from outside that came before the next run. */
  *runRecords({ id, first_record }: Pick<RunRow, "id" | "first_record">): Generator<AgentRecord> {
    for (const record of this.records(first_record - 1)) {
      if (record.type === "run_started" && record.run !== id) return;
      yield record;
    }
  }

  /** Numbers of the last rows of records before `before` that contain this text, the last first. */
  lastRowsWith(before: number, text: string, most: number): number[] {
    return this.#records.containing(before, text, most);
  }

  /** Numbers of the short rows of records up to `until` that contain this text, the last first. */
  shortRows(until: number, text: string): number[] {
    return this.#records.short(until, text);
  }

  /**
   * The last records after row `after` that take at most this many bytes, oldest first, and whether they are all of
   * them.
   */
  lastRecords(after: number, bytes: number): { records: Iterable<AgentRecord>; whole: boolean } {
    const from = this.#records.fitting(after, bytes);
    return { records: this.records(from), whole: from === after };
  }

  /** Stores events as one row; returns the number of the last, counted from 1. */
  appendEvents(events: readonly RunEvent[]): number {
    if (events.length === 0) return this.#events.last();
    const after = this.#events.last();
    const seq = after + events.length;
    const bytes = this.#events.insert(seq, [...events]);
    const rows = [...(this.#known.lastEvents ?? []), { after, events: [...events], bytes }];
    let total = rows.reduce((sum, row) => sum + row.bytes, 0);
    while (total > (rows.length > 1 ? TAIL_BYTES : KEPT_BYTES)) total -= rows.shift()?.bytes ?? 0;
    this.#known.lastEvents = rows;
    return seq;
  }

  lastEvent(): number {
    return this.#events.last();
  }

  /** The next events after number `after`; empty if there are none yet. */
  events(after: number): (RunEvent & { seq: number })[] {
    const kept = this.#known.lastEvents ?? [];
    const begin = kept[0]?.after ?? Number.POSITIVE_INFINITY;
    if (after >= begin)
      return kept
        .flatMap(({ events }) => events)
        .map((event, n) => ({ seq: begin + n + 1, ...event }))
        .slice(after - begin);
    const found: (RunEvent & { seq: number })[] = [];
    let bytes = 0;
    for (const row of this.#events.after(after)) {
      if (!row.ok) continue;
      const first = row.seq - row.value.length + 1;
      for (const [index, event] of row.value.entries()) {
        if (first + index > after) found.push({ seq: first + index, ...event });
      }
      bytes += row.bytes;
      if (found.length >= EVENT_BATCH || bytes >= EVENT_BYTES) break;
    }
    return found;
  }

  event(seq: number): RunEvent | null {
    // A caller that waits for a run's end asks for an event that was stored a moment ago.
    const kept = this.#known.lastEvents?.find(({ after, events }) => after + events.length === seq);
    if (kept !== undefined) return kept.events.at(-1) ?? null;
    for (const row of this.#events.after(seq - 1)) {
      return (row.ok ? row.value[row.value.length - 1 - (row.seq - seq)] : null) ?? null;
    }
    return null;
  }

  /** Whether there is no session any more, so no further event will come. */
  ended(): boolean {
    return !this.#ready;
  }

  /** The stored fold and the last row of records in it; `null`: none is usable. */
  checkpoint(): { seq: number; state: AgentState } | null {
    const query = "SELECT seq, data FROM checkpoint ORDER BY part";
    const rows = this.tables.exec<{ seq: number; data: ArrayBuffer }>("checkpoint", query);
    const [first] = rows;
    if (first === undefined) return null;
    try {
      const text = new TextDecoder().decode(join(rows.map(({ data }) => new Uint8Array(data))));
      const stored: { v: number; state: AgentState } = JSON.parse(text);
      return stored.v === FOLD_VERSION ? { seq: first.seq, state: stored.state } : null;
    } catch {
      return null;
    }
  }

  /** Stores the fold if enough rows were appended since the last time. */
  checkpointIfDue(state: AgentState): void {
    const seq = this.lastRecord();
    if (seq - this.#checkpointed() < CHECKPOINT_EVERY) return;
    this.tables.exec("checkpoint", "DELETE FROM checkpoint");
    const bytes = new TextEncoder().encode(JSON.stringify({ v: FOLD_VERSION, state }));
    for (const [part, data] of rowChunks(bytes)) {
      this.tables.insert("checkpoint", { part, seq, data });
    }
    this.#known.checkpointAt = seq;
  }

  /** The last row that the stored fold includes; 0: there is none. */
  #checkpointed(): number {
    const query = "SELECT seq FROM checkpoint WHERE part = 0";
    this.#known.checkpointAt ??= this.tables.exec<{ seq: number }>("checkpoint", query)[0]?.seq ?? 0;
    return this.#known.checkpointAt;
  }

  /** Drops cached values, after a failed transaction or after a removal. */
  #forget(): void {
    this.#records.forget();
    this.#specs.forget();
    this.#events.forget();
    this.runs.forget();
    this.due.forget();
    this.tables.forget();
    if (!this.#ready) this.#begin();
    this.#known = {};
    this.#forgotten += 1;
  }

  /** The stored answer to a request of this name within the last day. */
  request(name: string, now: number): KnownRequest | null {
    const query = "SELECT hash, answer FROM request WHERE name = ? AND at > ?";
    const [row] = this.tables.exec<KnownRequest>("request", query, name, now - REQUEST_MS);
    return row === undefined ? null : { ...row, answer: this.long.whole(answerOf(name), row.answer) };
  }

  /** Call it in a transaction. */
  keepRequest(name: string, { hash, answer }: KnownRequest, now: number): void {
    const old = "DELETE FROM request WHERE at <= ? RETURNING name, answer";
    for (const gone of this.tables.exec<{ name: string; answer: string }>("request", old, now - REQUEST_MS))
      if (gone.answer === "") this.long.remove(answerOf(gone.name));
    const row = { name, hash, answer: this.long.column(answerOf(name), answer), at: now };
    this.tables.insert("request", row, "INSERT OR REPLACE");
  }

  /** Waits until all that was written so far is on disk. */
  sync(): Promise<void> {
    return this.#storage.sync();
  }

  /** Removes all traces of the runs, so that another run can begin. Call it in a transaction. */
  removeRuns(): void {
    for (const table of [this.#records.table, this.#events.table, "run"])
      this.#sql.exec(`DELETE FROM ${table}`);
    for (const table of ["checkpoint", "request", "handed_in", "artifact"] as const)
      this.tables.exec(table, `DELETE FROM ${table}`);
    this.#forget();
  }

  /** Deletes everything stored at the time of the call. Writes that follow the call are kept. */
  async clear(): Promise<void> {
    this.#ready = false;
    this.#identity = null;
    this.#forget();
    await Promise.all([this.#storage.deleteAlarm(), this.#storage.deleteAll()]);
  }

  /**
   * Keeps of a removed session only what tells a repetition of the request that made it, for as long as a repetition gets
   * an answer. Call it when everything is cleared.
   */
  mark(row: SessionRow, now: number): void {
    this.prepare();
    this.transaction(() => {
      this.create({ ...row, updated_at: now, state: "deleted", metadata: {} });
      this.due.set({ delete: now + REQUEST_MS });
    });
  }
}
