/** The table of a session's runs. Only this class writes it, so it never reads a known row again. */
import type { RunStatus } from "../../engine/run-status.ts";
import type { LongValues } from "../long-values.ts";
import { insertRow, select, updateRows } from "../sql.ts";

/** Name in `content` of a long memo of a run; the run's row then has an empty text. */
const memoName = (run: string): string => `memo ${run}`;

export interface RunRow {
  id: string;
  status: RunStatus;
  /** Id of the request that began the run. */
  request_id: string;
  mock_scope: string;
  created_at: number;
  settled_at: number | null;
  /** Numbers of its first event, its `done` event, and its first row of records. */
  first_event: number;
  done_event: number | null;
  first_record: number;
  /**
   * Number of consecutive run attempts without progress, and the measure of progress (`RunAttempts`) at the last
   * recovery.
   */
  recoveries: number;
  progress: number;
  /** Values that its effects keep for later run attempts, as JSON. */
  memo: string | null;
  /** What the list of runs says of it (`RunFacts`) since its beginning or its end, as JSON; `null`: unknown. */
  listed: string | null;
}

type NewRun = Pick<
  RunRow,
  "id" | "request_id" | "mock_scope" | "created_at" | "first_event" | "first_record" | "listed"
>;

/** A row as it is in the table. */
type Stored = Omit<RunRow, "listed"> & Partial<Pick<RunRow, "listed">>;

/** The unsettled run; `id: null`: there is none; `null`: not read yet. */
type Live = { id: string | null } | null;

export class RunRows {
  readonly #sql: SqlStorage;
  readonly #long: LongValues;
  /** The row that was read last. */
  #row: RunRow | null = null;
  #live: Live = null;
  /** Whether the table is known to be empty or missing. */
  #isEmpty = false;
  /** Whether the table is known to have the column `listed`, which earlier versions of Hull did not make. */
  #hasListed = false;

  constructor(sql: SqlStorage, long: LongValues) {
    this.#sql = sql;
    this.#long = long;
  }

  /** Drops cached rows, which a failed transaction may have made wrong. */
  forget(): void {
    this.#row = null;
    this.#live = null;
    this.#isEmpty = false;
    this.#hasListed = false;
  }

  /** Called when the table has just been created, with all its columns, or when there is none. */
  begin(): void {
    this.#isEmpty = true;
    this.#hasListed = true;
  }

  add(run: NewRun): void {
    const begun = { status: "running" as const, settled_at: null, done_event: null, memo: null };
    const row = { ...run, ...begun, recoveries: 0, progress: run.first_record };
    this.#needListed();
    insertRow(this.#sql, "run", row);
    this.#row = row;
    this.#live = { id: run.id };
    this.#isEmpty = false;
  }

  /** Call it in a transaction if it changes the memo. */
  update(id: string, changes: Partial<Omit<RunRow, "id">>): void {
    const { memo, listed } = changes;
    if (listed !== undefined) this.#needListed();
    const columns = memo === undefined ? changes : { ...changes, memo: this.#storeMemo(id, memo) };
    updateRows(this.#sql, "run", columns, "id = ?", id);
    if (this.#row?.id === id) this.#row = { ...this.#row, ...changes };
    // At most one run is unsettled: when it settles, none is left.
    const { settled_at } = changes;
    if (settled_at !== undefined)
      this.#live = settled_at !== null && this.#live?.id === id ? { id: null } : null;
  }

  /** Call it in the transaction that writes the column. */
  #needListed(): void {
    if (this.#hasListed) return;
    const query = "SELECT name FROM pragma_table_info('run') WHERE name = 'listed'";
    if (select(this.#sql, query).length === 0) this.#sql.exec("ALTER TABLE run ADD COLUMN listed TEXT");
    this.#hasListed = true;
  }

  /** Returns the value for the run's row. */
  #storeMemo(id: string, memo: string | null): string | null {
    if (memo !== null) return this.#long.column(memoName(id), memo);
    this.#long.remove(memoName(id));
    return null;
  }

  find(id: string): RunRow | null {
    return this.#row?.id === id ? this.#row : this.#first("WHERE id = ?", id);
  }

  /** The unsettled run. */
  live(): RunRow | null {
    if (this.#live !== null) return this.#live.id === null ? null : this.find(this.#live.id);
    // At most one run is unsettled, and it can only be the last one.
    const last = this.last();
    const row = last?.settled_at === null ? last : null;
    this.#live = { id: row?.id ?? null };
    return row;
  }

  last(): RunRow | null {
    return this.#first("ORDER BY first_record DESC LIMIT 1");
  }

  /** Newest first. @param before number of the first record of the last run on the previous page */
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
    const rows = select<Stored>(this.#sql, `SELECT * FROM run ${where}`, ...bindings);
    return rows.map(({ listed = null, memo, ...row }) => ({
      ...row,
      memo: memo === null ? null : this.#long.whole(memoName(row.id), memo),
      listed,
    }));
  }
}
