/** A session's numbered rows: values in order. A long value takes several rows. */
import { rowChunks } from "../long-values.ts";
import { select } from "../sql.ts";

/** One stored value: its number, and the value if it is readable. */
export type Row<T> = { seq: number; ok: true; value: T; bytes: number } | { seq: number; ok: false };

/**
 * Tables whose key is one integer: 65,536 × the number of the value + the number of the part. SQLite then keeps a value of
 * up to 4 KB in the page of its key. In tables with the key (seq, part), those over 1 KB have pages of their own.
 */
const SINGLE_KEY = {
  seq: "(id >> 16)",
  part: "(id & 65535)",
  order: "id",
  newest: "id DESC",
  above: "id >= (?1 + 1) << 16",
  upTo: "id < (?1 + 1) << 16",
  insert: "(id, data) VALUES (?1 << 16 | ?2, ?3)",
};
const COMPOSITE_KEY: typeof SINGLE_KEY = {
  seq: "seq",
  part: "part",
  order: "seq, part",
  newest: "seq DESC",
  above: "seq > ?1",
  upTo: "seq <= ?1",
  insert: "(seq, part, data) VALUES (?1, ?2, ?3)",
};
/** `record` and `event` are those of sessions that earlier versions of Hull made; `mock` and `call` of a scope of mocks. */
const TABLES = {
  records: SINGLE_KEY,
  events: SINGLE_KEY,
  record: COMPOSITE_KEY,
  event: COMPOSITE_KEY,
  daemon_event: COMPOSITE_KEY,
  journal: COMPOSITE_KEY,
  mock: COMPOSITE_KEY,
  call: COMPOSITE_KEY,
} as const;
type Table = keyof typeof TABLES;

/** A value with fewer bytes takes one row. */
const SHORT_BYTES = 16 * 1024;
/** Number of short values that are parsed together. */
const AT_ONCE = 64;

export class Rows<T> {
  readonly #sql: SqlStorage;
  #table: Table;
  readonly #encoder = new TextEncoder();
  /** Number of the last row; `null`: unknown, since nothing was read yet or a transaction failed. */
  #last: number | null = null;

  constructor(sql: SqlStorage, table: Table) {
    this.#sql = sql;
    this.#table = table;
  }

  get table(): Table {
    return this.#table;
  }

  get #key(): typeof SINGLE_KEY {
    return TABLES[this.#table];
  }

  /** Number of the last row; 0: none. */
  last(): number {
    const { seq, newest } = this.#key;
    const query = `SELECT ${seq} AS n FROM ${this.#table} ORDER BY ${newest} LIMIT 1`;
    this.#last ??= this.#sql.exec<{ n: number }>(query).toArray()[0]?.n ?? 0;
    return this.#last;
  }

  /** Drops the cached number, which a failed transaction may have made wrong. */
  forget(): void {
    this.#last = null;
  }

  /** Switches to a table that was just created, or is yet to be created, and replaces a removed one. */
  begin(table: Table): void {
    this.#table = table;
    this.#last = 0;
  }

  /** Returns the number of bytes stored. @param value must still be a `T` after a round trip through JSON */
  insert(seq: number, value: unknown): number {
    const bytes = this.#encoder.encode(JSON.stringify(value));
    for (const [part, data] of rowChunks(bytes)) {
      this.#sql.exec(`INSERT INTO ${this.#table} ${this.#key.insert}`, seq, part, data);
    }
    this.#last = seq;
    return bytes.length;
  }

  /** Stores a value after the last one; returns its number. */
  append(value: unknown): number {
    const seq = this.last() + 1;
    this.insert(seq, value);
    return seq;
  }

  /**
   * Number of the row before the last rows that take at most this many bytes together, but at least one row; `after` if
   * all fit.
   */
  fitting(after: number, bytes: number): number {
    const last = this.last();
    if (after >= last) return after;
    const { seq, above, newest } = this.#key;
    const query = `SELECT ${seq}, length(data) FROM ${this.#table} WHERE ${above} ORDER BY ${newest}`;
    let total = 0;
    // The rows that do not fit are not read.
    for (const row of this.#sql.exec(query, after).raw<[seq: number, size: number]>()) {
      total += row[1];
      if (total > bytes && row[0] < last) return row[0];
    }
    return after;
  }

  /** Numbers of the rows up to `until` that are shorter than 4 KiB and whose JSON contains this text, the last first. */
  short(until: number, text: string): number[] {
    if (this.last() === 0) return [];
    const { seq, part, upTo, newest } = this.#key;
    const query = `SELECT ${seq} AS seq FROM ${this.#table} WHERE ${upTo} AND ${part} = 0 AND length(data) < 4096
      AND instr(data, CAST(?2 AS BLOB)) > 0 ORDER BY ${newest}`;
    return select<{ seq: number }>(this.#sql, query, until, text).map(({ seq }) => seq);
  }

  /** Numbers of the last rows before `before` whose JSON contains this text, the last first. */
  containing(before: number, text: string, most: number): number[] {
    if (this.last() === 0) return [];
    const { seq, upTo, newest } = this.#key;
    const query = `SELECT DISTINCT ${seq} AS seq FROM ${this.#table} WHERE ${upTo}
      AND instr(data, CAST(?2 AS BLOB)) > 0 ORDER BY ${newest} LIMIT ?3`;
    const until = Math.min(before, this.last() + 1) - 1;
    return select<{ seq: number }>(this.#sql, query, until, text, most).map(({ seq }) => seq);
  }

  /** The rows after number `after` in order, read lazily. Do not write while reading. */
  *after(after: number): Generator<Row<T>> {
    if (this.#last !== null && after >= this.#last) return;
    const { seq: number, above, order } = this.#key;
    const rows = this.#sql.exec<{ seq: number; data: ArrayBuffer }>(
      `SELECT ${number} AS seq, data FROM ${this.#table} WHERE ${above} ORDER BY ${order}`,
      after,
    );
    // One decoder for all rows: there may be very many short ones.
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

  /**
   * All values in order, in batches; `null` for an unreadable one. Short values are parsed together, which takes half
   * the time of parsing each. Do not write while reading.
   */
  *batches(): Generator<(T | null)[]> {
    const { seq: number, part, order } = this.#key;
    const rows = this.#sql
      .exec(
        `SELECT ${number}, CASE WHEN ${part} = 0 AND length(data) < ? THEN CAST(data AS TEXT) ELSE data END
        FROM ${this.#table} ORDER BY ${order}`,
        SHORT_BYTES,
      )
      .raw<[seq: number, data: string | ArrayBuffer]>();
    const decoder = new TextDecoder();
    let texts: string[] = [];
    let seq = 0;
    let parts: Uint8Array[] = [];
    for (const row of rows) {
      // No destructuring: it would run an iterator for each row.
      const of = row[0];
      const data = row[1];
      if (parts.length > 0 && of !== seq) {
        yield [readableValue(read<T>(seq, parts, decoder))];
        parts = [];
      }
      if (typeof data === "string") {
        if (texts.push(data) < AT_ONCE) continue;
      } else {
        seq = of;
        parts.push(new Uint8Array(data));
      }
      yield parsed<T>(texts);
      texts = [];
    }
    if (parts.length > 0) yield [readableValue(read<T>(seq, parts, decoder))];
    yield parsed<T>(texts);
  }
}

const readableValue = <T>(row: Row<T>): T | null => (row.ok ? row.value : null);

/** Parses the texts; `null` for one that is not valid JSON. */
function parsed<T>(texts: readonly string[]): (T | null)[] {
  try {
    // A JSON string cannot contain a line break, so a broken text makes the whole parse fail instead of merging with its
    // neighbour.
    const values: T[] = JSON.parse(`[${texts.join(",\n")}]`);
    if (values.length === texts.length) return values;
  } catch {
    // At least one text is invalid; parse each separately.
  }
  return texts.map((text) => {
    try {
      const value: T = JSON.parse(text);
      return value;
    } catch {
      return null;
    }
  });
}

/** Decodes each part separately: joining them first would double the memory. */
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
