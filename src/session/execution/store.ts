/** What is stored of one execution, and nothing decided about it (docs/storage-schema.md). */
import { join } from "../../bytes.ts";
import type { RunRecord } from "../../engine/records.ts";
import type { ErrorData } from "../../errors.ts";
import type { RunEvent } from "../../run/events.ts";
import type { EventSource } from "../event-log.ts";
import { HandedIn } from "../handed-in.ts";
import { hasSchema, migrate } from "../migrate.ts";
import { cut } from "../parts.ts";
import type { ExecutionCall, ExecutionState } from "./rpc.ts";
import { MIGRATIONS } from "./schema.ts";

/** Events read at a time. */
const EVENT_BATCH = 100;

/** Where bytes are: in the table `content` under a name, or in R2 under a key. */
export type Place = { name: string } | { key: string; size: number };

/** The input as it is stored. */
export interface StoredInput {
  text: Place | null;
  files: { filename: string | null; mime: string; place: Place }[];
  /** Absent: `""`. */
  mock_scope?: string;
  bot?: string;
}

export type Outcome =
  | { ok: true; headers: Record<string, string>; body: Place; size: number; timings: Record<string, number> }
  | { ok: false; error: ErrorData; operator: Record<string, unknown> };

export interface ExecutionRow {
  id: string;
  /** How many runs of this id came before: those that were removed, or failed before they began. */
  generation: number;
  caller: string;
  skill: string;
  digest: string;
  request_hash: string;
  request_id: string;
  input: StoredInput;
  /** `removed`: kept only for its generation. */
  state: ExecutionState | "removed";
  /** Something may have taken effect: the outcome is the answer to every later call. */
  begun: boolean;
  /** Unix ms. */
  created_at: number;
  finished_at: number | null;
  expires_at: number | null;
  /** Lives of the run in a row that got nothing done, and what was done by the last of them. */
  recoveries: number;
  progress: number;
  outcome: Outcome | null;
}

interface RawRow extends Record<string, SqlStorageValue> {
  state: ExecutionRow["state"];
  input: string;
  begun: number;
  outcome: string | null;
}
type Plain = Omit<ExecutionRow, "input" | "begun" | "outcome">;

/** An event with its number. */
interface NumberedEvent extends RunEvent {
  seq: number;
}

export class ExecutionStore implements EventSource {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly handedIn: HandedIn;
  #ready: boolean;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.handedIn = new HandedIn(this.#sql);
    this.#ready = hasSchema(this.#sql);
    if (this.#ready) migrate(storage, MIGRATIONS);
  }

  row(): ExecutionRow | null {
    if (!this.#ready) return null;
    const [raw] = this.#sql.exec<RawRow & Plain>("SELECT * FROM execution").toArray();
    if (raw === undefined) return null;
    const outcome = raw.outcome === null ? null : JSON.parse(raw.outcome);
    return { ...raw, input: JSON.parse(raw.input), begun: raw.begun === 1, outcome };
  }

  /** Begins a run in place of whatever is here. */
  create(call: ExecutionCall, now: number, armAt: number): void {
    if (!this.#ready) migrate(this.#storage, MIGRATIONS);
    this.#ready = true;
    const generation = (this.row()?.generation ?? -1) + 1;
    this.#storage.transactionSync(() => {
      this.#empty();
      const input: StoredInput = {
        text: call.text === null ? null : this.#keep("text", call.text),
        files: call.files.map(({ filename, mime, content }, index) => {
          return { filename, mime, place: this.#keep(`file-${index}`, content) };
        }),
        ...(call.mock_scope === undefined ? {} : { mock_scope: call.mock_scope }),
        ...(call.bot === undefined ? {} : { bot: call.bot }),
      };
      const { id, caller, skill, digest, request_hash, request_id } = call;
      this.#sql.exec(
        `INSERT INTO execution (id, generation, caller, skill, digest, request_hash, request_id, input, state,
           begun, created_at, recoveries, progress) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'running', 0, ?, 0, 0)`,
        id,
        generation,
        caller,
        skill,
        digest,
        request_hash,
        request_id,
        JSON.stringify(input),
        now,
      );
    });
    void this.#storage.setAlarm(armAt);
  }

  /** Notes that the run has begun, together with the event that says so. */
  begin(event: RunEvent): number {
    return this.#storage.transactionSync(() => {
      this.#sql.exec("UPDATE execution SET begun = 1");
      return this.appendEvent(event);
    });
  }

  /** Ends the run; its last events are stored with its outcome. */
  settle(
    state: ExecutionState,
    outcome: Outcome,
    events: RunEvent[],
    times: { finishedAt: number; expiresAt: number },
  ): void {
    this.#storage.transactionSync(() => {
      for (const event of events) this.appendEvent(event);
      this.#sql.exec(
        "UPDATE execution SET state = ?, outcome = ?, finished_at = ?, expires_at = ?",
        state,
        JSON.stringify(outcome),
        times.finishedAt,
        times.expiresAt,
      );
    });
    void this.#storage.setAlarm(times.expiresAt);
  }

  noteRecovery(recoveries: number, progress: number): void {
    this.#sql.exec("UPDATE execution SET recoveries = ?, progress = ?", recoveries, progress);
  }

  appendRecord(record: RunRecord, event: RunEvent | null): void {
    this.#storage.transactionSync(() => {
      this.#append("record", record);
      if (event !== null) this.appendEvent(event);
    });
  }

  records(): RunRecord[] {
    return this.#read<RunRecord>("record", 0, Number.MAX_SAFE_INTEGER).map(({ value }) => value);
  }

  /** Stores an event; answers its number, from 1. */
  appendEvent(event: RunEvent): number {
    return this.#append("event", event);
  }

  /** The next events after number `after`; none when there are none yet. */
  events(after: number): NumberedEvent[] {
    return this.#read<RunEvent>("event", after, after + EVENT_BATCH).map(({ seq, value }) => {
      return { seq, ...value };
    });
  }

  ended(): boolean {
    return this.row()?.state !== "running";
  }

  /** Every event of a name. */
  eventsNamed(...names: RunEvent["event"][]): RunEvent[] {
    const all = this.#read<RunEvent>("event", 0, Number.MAX_SAFE_INTEGER).map(({ value }) => value);
    return all.filter(({ event }) => names.includes(event));
  }

  /** Counts what is done for good: settled effects, executions that the runner got, output of a script. */
  progress(): number {
    const records = this.records();
    const settled = records.filter(({ type }) => type.endsWith("_settled")).length;
    // A model's words may be said again by every life; what a script says is said once.
    const told = records.length === 0 ? this.#count("event") : 0;
    return this.handedIn.progress() + settled + told;
  }

  /** Replaces the bytes under a name. */
  writeContent(name: string, bytes: Uint8Array): void {
    this.#storage.transactionSync(() => {
      this.#sql.exec("DELETE FROM content WHERE name = ?", name);
      for (const [part, data] of cut(bytes)) {
        this.#sql.exec("INSERT INTO content (name, part, data) VALUES (?, ?, ?)", name, part, data);
      }
    });
  }

  readContent(name: string): Uint8Array {
    const rows = this.#sql
      .exec<{ data: ArrayBuffer }>("SELECT data FROM content WHERE name = ? ORDER BY part", name)
      .toArray();
    return join(rows.map(({ data }) => new Uint8Array(data)));
  }

  /** Leaves nothing but the generation, until `expiresAt`. */
  remove(expiresAt: number): void {
    this.#storage.transactionSync(() => {
      for (const table of ["record", "event", "content", "handed_in"]) this.#sql.exec(`DELETE FROM ${table}`);
      this.#sql.exec(
        "UPDATE execution SET state = 'removed', input = '{}', outcome = NULL, expires_at = ?",
        expiresAt,
      );
    });
    void this.#storage.setAlarm(expiresAt);
  }

  /** Deletes everything. */
  async clear(): Promise<void> {
    this.#ready = false;
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
  }

  arm(at: number): Promise<void> {
    return this.#storage.setAlarm(at);
  }

  #count(table: "record" | "event"): number {
    return this.#sql.exec<{ n: number }>(`SELECT coalesce(max(seq), 0) AS n FROM ${table}`).one().n;
  }

  #empty(): void {
    for (const table of ["execution", "record", "event", "content", "handed_in"]) {
      this.#sql.exec(`DELETE FROM ${table}`);
    }
  }

  #keep(name: string, content: Uint8Array | { key: string; size: number }): Place {
    if (!(content instanceof Uint8Array)) return content;
    this.writeContent(name, content);
    return { name };
  }

  #append(table: "record" | "event", value: unknown): number {
    const next = this.#count(table) + 1;
    for (const [part, data] of cut(new TextEncoder().encode(JSON.stringify(value)))) {
      this.#sql.exec(`INSERT INTO ${table} (seq, part, data) VALUES (?, ?, ?)`, next, part, data);
    }
    return next;
  }

  #read<T>(table: "record" | "event", after: number, to: number): { seq: number; value: T }[] {
    const rows = this.#sql.exec<{ seq: number; data: ArrayBuffer }>(
      `SELECT seq, data FROM ${table} WHERE seq > ? AND seq <= ? ORDER BY seq, part`,
      after,
      to,
    );
    const found = new Map<number, Uint8Array[]>();
    for (const { seq, data } of rows) {
      const parts = found.get(seq) ?? [];
      parts.push(new Uint8Array(data));
      found.set(seq, parts);
    }
    return Array.from(found, ([seq, parts]) => {
      return { seq, value: JSON.parse(new TextDecoder().decode(join(parts))) };
    });
  }
}
