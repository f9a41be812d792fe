/** A session's numbered rows: values in their order, long ones as several rows. */
import { cut } from "../parts.ts";

/** One stored value: its number, and what it is if it can be read. */
export type Row<T> = { seq: number; ok: true; value: T; bytes: number } | { seq: number; ok: false };

type Table = "record" | "event" | "daemon_event" | "journal";

export class Rows<T> {
  readonly #sql: SqlStorage;
  readonly #table: Table;
  /** `null`: not known, since nothing was read yet or a transaction failed. */
  #last: number | null = null;

  constructor(sql: SqlStorage, table: Table) {
    this.#sql = sql;
    this.#table = table;
  }

  /** Number of the last row; 0: none. */
  last(): number {
    this.#last ??= this.#sql
      .exec<{ n: number }>(`SELECT coalesce(max(seq), 0) AS n FROM ${this.#table}`)
      .one().n;
    return this.#last;
  }

  /** What was known of a transaction that failed is not true. */
  forget(): void {
    this.#last = null;
  }

  /** Answers how many bytes it takes. @param value that is a `T` once it was JSON */
  insert(seq: number, value: unknown): number {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    for (const [part, data] of cut(bytes)) {
      this.#sql.exec(`INSERT INTO ${this.#table} (seq, part, data) VALUES (?, ?, ?)`, seq, part, data);
    }
    this.#last = seq;
    return bytes.length;
  }

  /** The number after which the last rows are that take at most so many bytes together, but one at least; `after`: all do. */
  fitting(after: number, bytes: number): number {
    const sizes = `SELECT seq, sum(sum(length(data))) OVER (ORDER BY seq DESC) AS total
      FROM ${this.#table} WHERE seq > ?1 GROUP BY seq`;
    const query = `SELECT coalesce(max(seq), ?1) AS n FROM (${sizes}) WHERE total > ?2 AND seq < ?3`;
    return this.#sql.exec<{ n: number }>(query, after, bytes, this.last()).one().n;
  }

  /** Numbers of the rows up to `until`, of less than 4 KiB, whose JSON has this text in it, the last first. */
  short(until: number, text: string): number[] {
    const query = `SELECT seq FROM ${this.#table} WHERE seq <= ? AND part = 0 AND length(data) < 4096
      AND instr(data, CAST(? AS BLOB)) > 0 ORDER BY seq DESC`;
    return this.#sql
      .exec<{ seq: number }>(query, until, text)
      .toArray()
      .map(({ seq }) => seq);
  }

  /** The rows after number `after` in their order, read as they are asked for. Nothing may be written meanwhile. */
  *after(after: number): Generator<Row<T>> {
    const rows = this.#sql.exec<{ seq: number; data: ArrayBuffer }>(
      `SELECT seq, data FROM ${this.#table} WHERE seq > ? ORDER BY seq, part`,
      after,
    );
    // One for all rows: there may be very many short ones.
    const decoder = new TextDecoder();
    let seq = 0;
    let parts: Uint8Array[] = [];
    for (const row of rows) {
      if (row.seq !== seq && parts.length > 0) {
        yield read<T>(seq, parts, decoder);
        parts = [];
      }
      seq = row.seq;
      parts.push(new Uint8Array(row.data));
    }
    if (parts.length > 0) yield read<T>(seq, parts, decoder);
  }
}

/** Each part is decoded by itself: together they would be in memory twice. */
function read<T>(seq: number, parts: readonly Uint8Array[], decoder: TextDecoder): Row<T> {
  const last = parts.at(-1);
  const before = parts.slice(0, -1).map((part) => decoder.decode(part, { stream: true }));
  const text = before.join("") + decoder.decode(last);
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  try {
    return { seq, ok: true, value: JSON.parse(text), bytes };
  } catch {
    return { seq, ok: false };
  }
}
