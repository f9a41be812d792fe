/** Optional tables of a Durable Object: each is created with its first row. */
import { type Columns, insertRow, select } from "./sql.ts";

export class Tables<Name extends string> {
  readonly #sql: SqlStorage;
  readonly #optional: Readonly<Record<Name, string>>;
  /**
   * Names of the existing tables; `null`: unknown. Code that creates or removes a table that anybody asks for reports it
   * here.
   */
  #present: Set<string> | null = null;

  /**
   * @param optional the statement that creates each table, by name; with `IF NOT EXISTS`, since an object may already
   * have it
   */
  constructor(sql: SqlStorage, optional: Readonly<Record<Name, string>>) {
    this.#sql = sql;
    this.#optional = optional;
  }

  /** Whether a table exists. The check stores nothing. */
  has(name: string): boolean {
    const rows = () =>
      this.#sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    this.#present ??= new Set(Array.from(rows(), (row) => row.name));
    return this.#present.has(name);
  }

  /** Creates a table unless it exists. Call it before writing a row. */
  need(name: Name): void {
    if (this.has(name)) return;
    this.#sql.exec(this.#optional[name]);
    this.#present?.add(name);
  }

  /** Executes a statement on the rows of a table, unless it has none yet; returns the rows that the statement returns. */
  exec<T>(name: Name, statement: string, ...values: SqlStorageValue[]): T[] {
    return this.has(name) ? select<T>(this.#sql, statement, ...values) : [];
  }

  /** Writes a row, the first one in a new table. @param how as for `insertRow` */
  insert(name: Name, row: Columns, how?: string): void {
    this.need(name);
    insertRow(this.#sql, name, row, how);
  }

  /** Notes that other code created a table. */
  made(name: string): void {
    this.#present?.add(name);
  }

  /** Drops the cached names, after a failed transaction or after everything was removed. */
  forget(): void {
    this.#present = null;
  }
}
