/** Reads and writes rows in the tables of a Durable Object. */

/** The columns of a row to write, by name. */
export type Columns = { [name: string]: SqlStorageValue | Uint8Array };

/** All rows that a statement returns. */
export const select = <T>(sql: SqlStorage, statement: string, ...values: SqlStorageValue[]): T[] =>
  sql.exec<T & Record<string, SqlStorageValue>>(statement, ...values).toArray();

/** @param how `INSERT OR IGNORE` or `INSERT OR REPLACE`, where a row may have the key already */
export function insertRow(sql: SqlStorage, table: string, row: Columns, how = "INSERT"): void {
  const names = Object.keys(row);
  const places = names.map(() => "?");
  sql.exec(`${how} INTO ${table} (${names}) VALUES (${places})`, ...Object.values(row));
}

/** Changes columns of the rows that a condition selects. */
export function updateRows(
  sql: SqlStorage,
  table: string,
  changes: Columns,
  where = "true",
  ...values: SqlStorageValue[]
): void {
  const names = Object.keys(changes);
  if (names.length === 0) return;
  const set = names.map((name) => `${name} = ?`);
  sql.exec(`UPDATE ${table} SET ${set} WHERE ${where}`, ...Object.values(changes), ...values);
}

/** Optional tables of a Durable Object: each is created with its first row. */
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
