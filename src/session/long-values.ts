/** Values that may not fit into one row, in several rows: SQLite in a Durable Object limits a row to 2 MB. */
import { join } from "../bytes.ts";
import type { Tables } from "./tables.ts";

/** Bytes of one row. */
const CHUNK_BYTES = 256 * 1024;

/** Splits bytes into parts for rows; no bytes give one empty part. */
export function* rowChunks(bytes: Uint8Array): Generator<[part: number, data: Uint8Array]> {
  for (let part = 0; part === 0 || part * CHUNK_BYTES < bytes.length; part += 1) {
    yield [part, bytes.subarray(part * CHUNK_BYTES, (part + 1) * CHUNK_BYTES)];
  }
}

/** A text with more UTF-16 units gets rows of its own. A shorter one fits into one row, at three bytes for each unit. */
const LONG_TEXT = CHUNK_BYTES;

/** Values by name, in the table `content`. */
export class LongValues {
  readonly #tables: Tables<"content">;

  constructor(tables: Tables<"content">) {
    this.#tables = tables;
  }

  /** Replaces the value under a name. Call it in a transaction. */
  write(name: string, value: Uint8Array | string): void {
    this.remove(name);
    const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
    for (const [part, data] of rowChunks(bytes)) {
      this.#tables.insert("content", { name, part, data });
    }
  }

  read(name: string): Uint8Array<ArrayBuffer> {
    const query = "SELECT data FROM content WHERE name = ? ORDER BY part";
    const rows = this.#tables.exec<{ data: ArrayBuffer }>("content", query, name);
    return join(rows.map(({ data }) => new Uint8Array(data)));
  }

  /** Stores a text that replaces an earlier one; returns the value for its column, which is empty for a long text. */
  column(name: string, text: string): string {
    const isLong = text.length > LONG_TEXT;
    if (isLong) this.write(name, text);
    else this.remove(name);
    return isLong ? "" : text;
  }

  /** The text of such a column. */
  whole(name: string, column: string): string {
    return column === "" ? new TextDecoder().decode(this.read(name)) : column;
  }

  remove(name: string): void {
    this.#tables.exec("content", "DELETE FROM content WHERE name = ?", name);
  }

  removeAll(): void {
    this.#tables.exec("content", "DELETE FROM content");
  }
}
