/** What is stored of one session, and nothing decided about it (docs/storage-schema.md). */
import type { AgentRecord, RunStatus } from "../../engine/agent/records.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import type { RunEvent } from "../../run/events.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { hasSchema, migrate } from "../migrate.ts";
import { cut, join } from "../parts.ts";
import { CONVERSATION_STEPS } from "./schema.ts";

/** Rows read at a time. */
const BATCH = 200;
/** Rows of records after which a fold is stored, so that waking up reads few. */
const CHECKPOINT_EVERY = 64;

export type SessionState = "active" | "archived" | "abandoned" | "closed";

export interface SessionRow {
  id: string;
  tenant: string;
  /** Unix ms. */
  created_at: number;
  updated_at: number;
  state: SessionState;
  parent_id: string | null;
  /** Number of the parent's last event when this one branched off. */
  branched_at: number | null;
  metadata: JsonObject;
}

export interface RunRow {
  id: string;
  request_hash: string;
  status: RunStatus;
  created_at: number;
  settled_at: number | null;
  /** Numbers of the run's first event and of the row of its first record. */
  first_event: number;
  first_record: number;
  /** The result's document, once there is one. */
  result: JsonObject | null;
  /** Lives in a row that got nothing done, and the number of the last record that the life before saw. */
  recoveries: number;
  progress: number;
}

/** An event with its number. */
export interface NumberedEvent extends RunEvent {
  seq: number;
}

type RawSession = Omit<SessionRow, "metadata"> & { metadata: string } & Record<string, SqlStorageValue>;
type RawRun = Omit<RunRow, "result"> & { result: string | null } & Record<string, SqlStorageValue>;

export class ConversationStore {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  #ready: boolean;
  #lastRecord: number | null = null;
  #lastEvent: number | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#ready = hasSchema(this.#sql);
    if (this.#ready) migrate(storage, CONVERSATION_STEPS);
  }

  session(): SessionRow | null {
    if (!this.#ready) return null;
    const [raw] = this.#sql.exec<RawSession>("SELECT * FROM session").toArray();
    return raw === undefined ? null : { ...raw, metadata: JSON.parse(raw.metadata) };
  }

  create(row: SessionRow): void {
    if (!this.#ready) migrate(this.#storage, CONVERSATION_STEPS);
    this.#ready = true;
    const { id, tenant, created_at, updated_at, state, parent_id, branched_at, metadata } = row;
    this.#sql.exec(
      `INSERT INTO session (id, tenant, created_at, updated_at, state, parent_id, branched_at, metadata)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, tenant, created_at, updated_at, state, parent_id, branched_at, JSON.stringify(metadata)],
    );
  }

  setState(state: SessionState, now: number): void {
    this.#sql.exec("UPDATE session SET state = ?, updated_at = ?", state, now);
  }

  addChild(id: string): void {
    this.#sql.exec("INSERT OR IGNORE INTO child (id) VALUES (?)", id);
  }

  children(): string[] {
    return this.#sql
      .exec<{ id: string }>("SELECT id FROM child ORDER BY id")
      .toArray()
      .map(({ id }) => id);
  }

  /** Stores records as one row, with the events that tell of them, in one transaction. */
  append(
    records: readonly AgentRecord[],
    events: readonly RunEvent[],
    now: number,
    run: Partial<RunRow> | null,
  ): void {
    this.#storage.transactionSync(() => {
      if (records.length > 0) this.#insert("record", this.lastRecord() + 1, records);
      for (const event of events) this.appendEvent(event);
      if (run?.id !== undefined) this.updateRun({ ...run, id: run.id });
      else this.#sql.exec("UPDATE session SET updated_at = ?", now);
    });
    if (records.length > 0) this.#lastRecord = this.lastRecord() + 1;
  }

  /** Number of the last row of records; 0: none. */
  lastRecord(): number {
    this.#lastRecord ??= this.#max("record");
    return this.#lastRecord;
  }

  lastEvent(): number {
    this.#lastEvent ??= this.#max("event");
    return this.#lastEvent;
  }

  appendEvent(event: RunEvent): number {
    const seq = this.lastEvent() + 1;
    this.#insert("event", seq, event);
    this.#lastEvent = seq;
    return seq;
  }

  /** The next events after number `after`; none where there are none yet. */
  events(after: number): NumberedEvent[] {
    return this.#read<RunEvent>("event", after, after + BATCH).map(({ seq, value }) => ({ seq, ...value }));
  }

  /** Records in rows after number `after`, oldest first. */
  *records(after = 0): Generator<AgentRecord> {
    const last = this.lastRecord();
    for (let from = after; from < last; from += BATCH) {
      for (const { value } of this.#read<AgentRecord[]>("record", from, from + BATCH)) yield* value;
    }
  }

  /** The stored fold and the row that it reaches to; `null`: none is stored. */
  checkpoint(): { seq: number; state: AgentState } | null {
    const rows = this.#sql
      .exec<{ seq: number; data: ArrayBuffer }>("SELECT seq, data FROM checkpoint ORDER BY part")
      .toArray();
    const [first] = rows;
    if (first === undefined) return null;
    const bytes = join(rows.map(({ data }) => new Uint8Array(data)));
    return { seq: first.seq, state: JSON.parse(new TextDecoder().decode(bytes)) };
  }

  /** Stores the fold where enough was appended since the last one. */
  checkpointIfDue(state: AgentState, force = false): void {
    const [known] = this.#sql.exec<{ seq: number }>("SELECT seq FROM checkpoint WHERE part = 0").toArray();
    const seq = this.lastRecord();
    if (!force && seq - (known?.seq ?? 0) < CHECKPOINT_EVERY) return;
    this.#storage.transactionSync(() => {
      this.#sql.exec("DELETE FROM checkpoint");
      for (const [part, data] of cut(new TextEncoder().encode(JSON.stringify(state)))) {
        this.#sql.exec("INSERT INTO checkpoint (part, seq, data) VALUES (?, ?, ?)", part, seq, data);
      }
    });
  }

  addRun(row: RunRow): void {
    const { id, request_hash, status, created_at, first_event, first_record } = row;
    this.#sql.exec(
      `INSERT INTO run (id, request_hash, status, created_at, settled_at, first_event, first_record, result, recoveries,
         progress) VALUES (?, ?, ?, ?, NULL, ?, ?, NULL, 0, 0)`,
      ...[id, request_hash, status, created_at, first_event, first_record],
    );
  }

  updateRun(row: Partial<RunRow> & { id: string }): void {
    const { id, result, ...plain } = row;
    const values: [string, SqlStorageValue][] = Object.entries({
      ...plain,
      ...(result === undefined ? {} : { result: JSON.stringify(result) }),
    });
    if (values.length === 0) return;
    const columns = values.map(([name]) => `${name} = ?`).join(", ");
    this.#sql.exec(`UPDATE run SET ${columns} WHERE id = ?`, ...values.map(([, value]) => value), id);
  }

  run(id: string): RunRow | null {
    if (!this.#ready) return null;
    const [raw] = this.#sql.exec<RawRun>("SELECT * FROM run WHERE id = ?", id).toArray();
    return raw === undefined ? null : readRun(raw);
  }

  /** Newest first. */
  runs(limit: number, before: number): RunRow[] {
    return this.#sql
      .exec<RawRun>(
        "SELECT * FROM run WHERE created_at < ? ORDER BY created_at DESC, id LIMIT ?",
        before,
        limit,
      )
      .toArray()
      .map(readRun);
  }

  /** The run that is not settled. */
  liveRun(): RunRow | null {
    if (!this.#ready) return null;
    const [raw] = this.#sql.exec<RawRun>("SELECT * FROM run WHERE settled_at IS NULL LIMIT 1").toArray();
    return raw === undefined ? null : readRun(raw);
  }

  known(id: string): "nothing" | "handed_in" | "admitted" {
    const query = "SELECT admitted FROM handed_in WHERE execution_id = ?";
    const [row] = this.#sql.exec<{ admitted: number }>(query, id).toArray();
    if (row === undefined) return "nothing";
    return row.admitted === 1 ? "admitted" : "handed_in";
  }

  note(id: string, fact: "handed_in" | "admitted"): void {
    this.#sql.exec(
      `INSERT INTO handed_in (execution_id, admitted) VALUES (?1, ?2)
         ON CONFLICT (execution_id) DO UPDATE SET admitted = max(admitted, ?2)`,
      ...[id, fact === "admitted" ? 1 : 0],
    );
  }

  /** What is due and when; the alarm is armed for the earliest. Unix ms. */
  due(): { kind: string; at: number }[] {
    if (!this.#ready) return [];
    return this.#sql
      .exec<{ kind: string; at: number }>("SELECT kind, at FROM due ORDER BY at, kind")
      .toArray();
  }

  /** Sets or removes one due time. */
  setDue(kind: string, at: number | null): void {
    if (at === null) this.#sql.exec("DELETE FROM due WHERE kind = ?", kind);
    else
      this.#sql.exec(
        "INSERT INTO due (kind, at) VALUES (?1, ?2) ON CONFLICT (kind) DO UPDATE SET at = ?2",
        kind,
        at,
      );
    const [next] = this.due();
    if (next === undefined) void this.#storage.deleteAlarm();
    else void this.#storage.setAlarm(next.at);
  }

  /** Deletes everything. */
  async clear(): Promise<void> {
    this.#ready = false;
    this.#lastRecord = null;
    this.#lastEvent = null;
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
  }

  #max(table: "record" | "event"): number {
    if (!this.#ready) return 0;
    return this.#sql.exec<{ n: number }>(`SELECT coalesce(max(seq), 0) AS n FROM ${table}`).one().n;
  }

  #insert(table: "record" | "event", seq: number, value: unknown): void {
    for (const [part, data] of cut(new TextEncoder().encode(JSON.stringify(value)))) {
      this.#sql.exec(`INSERT INTO ${table} (seq, part, data) VALUES (?, ?, ?)`, seq, part, data);
    }
  }

  #read<T>(table: "record" | "event", after: number, to: number): { seq: number; value: T }[] {
    if (!this.#ready) return [];
    const rows = this.#sql.exec<{ seq: number; data: ArrayBuffer }>(
      `SELECT seq, data FROM ${table} WHERE seq > ? AND seq <= ? ORDER BY seq, part`,
      ...[after, to],
    );
    const found = new Map<number, Uint8Array[]>();
    for (const { seq, data } of rows) {
      const parts = found.get(seq) ?? [];
      parts.push(new Uint8Array(data));
      found.set(seq, parts);
    }
    return Array.from(found, ([seq, parts]) => ({
      seq,
      value: JSON.parse(new TextDecoder().decode(join(parts))),
    }));
  }
}

function readRun(raw: RawRun): RunRow {
  return { ...raw, result: raw.result === null ? null : JSON.parse(raw.result) };
}
