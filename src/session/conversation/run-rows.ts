/** The table of a session's runs. Nobody else writes it, so a known row is not read again. */
import type { RunStatus } from "../../engine/agent/records.ts";

export interface RunRow {
  id: string;
  status: RunStatus;
  /** Id of the request that began it. */
  request_id: string;
  mock_scope: string;
  created_at: number;
  settled_at: number | null;
  /** Numbers of its first event, of its `done`, and of the row of its first record. */
  first_event: number;
  done_event: number | null;
  first_record: number;
  /** Number of consecutive run attempts without progress, and of the last record that the previous run attempt saw. */
  recoveries: number;
  progress: number;
  /** Values that its effects keep for later run attempts, as JSON. */
  memo: string | null;
}

export type NewRun = Pick<
  RunRow,
  "id" | "request_id" | "mock_scope" | "created_at" | "first_event" | "first_record"
>;

/** The unsettled run: none, one, or unknown. */
type Live = { id: string | null } | null;

export class RunRows {
  readonly #sql: SqlStorage;
  /** The row that was last read. */
  #row: RunRow | null = null;
  #live: Live = null;
  /** Whether it is known that there is no row. */
  #isEmpty = false;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Knowledge from a failed transaction is invalid. */
  forget(): void {
    this.#row = null;
    this.#live = null;
    this.#isEmpty = false;
  }

  /** The table was just made. */
  begin(): void {
    this.#isEmpty = true;
  }

  add(run: NewRun): void {
    const { id, request_id, mock_scope, created_at, first_event, first_record } = run;
    this.#sql.exec(
      `INSERT INTO run (id, status, request_id, mock_scope, created_at, first_event, first_record, recoveries, progress)
         VALUES (?1, 'running', ?2, ?3, ?4, ?5, ?6, 0, ?6)`,
      id,
      request_id,
      mock_scope,
      created_at,
      first_event,
      first_record,
    );
    const begun = { status: "running" as const, settled_at: null, done_event: null, memo: null };
    this.#row = { ...run, ...begun, recoveries: 0, progress: first_record };
    this.#live = { id };
    this.#isEmpty = false;
  }

  update(id: string, changes: Partial<Omit<RunRow, "id">>): void {
    const entries: [string, SqlStorageValue][] = Object.entries(changes);
    if (entries.length === 0) return;
    const columns = entries.map(([name]) => `${name} = ?`).join(", ");
    this.#sql.exec(`UPDATE run SET ${columns} WHERE id = ?`, ...entries.map(([, value]) => value), id);
    if (this.#row?.id === id) this.#row = { ...this.#row, ...changes };
    // Only one run is unsettled at a time: when it settles, none is left.
    const { settled_at } = changes;
    if (settled_at !== undefined)
      this.#live = settled_at !== null && this.#live?.id === id ? { id: null } : null;
  }

  find(id: string): RunRow | null {
    return this.#row?.id === id ? this.#row : this.#first("WHERE id = ?", id);
  }

  /** The unsettled run. */
  live(): RunRow | null {
    if (this.#live !== null) return this.#live.id === null ? null : this.find(this.#live.id);
    // Only one run is unsettled at a time: it can only be the last one.
    const last = this.#first("ORDER BY first_record DESC LIMIT 1");
    const row = last?.settled_at === null ? last : null;
    this.#live = { id: row?.id ?? null };
    return row;
  }

  /** Newest first. @param before number of the first record of the last known run */
  list(limit: number, before: number): RunRow[] {
    return this.#read("WHERE first_record < ? ORDER BY first_record DESC LIMIT ?", before, limit);
  }

  #first(where: string, ...bindings: SqlStorageValue[]): RunRow | null {
    const [row] = this.#read(where, ...bindings);
    if (row === undefined) return null;
    this.#row = row;
    return row;
  }

  #read(where: string, ...bindings: SqlStorageValue[]): RunRow[] {
    if (this.#isEmpty) return [];
    return this.#sql
      .exec<RunRow & Record<string, SqlStorageValue>>(`SELECT * FROM run ${where}`, ...bindings)
      .toArray();
  }
}
