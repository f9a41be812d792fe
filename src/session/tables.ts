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

  /** Notes that other code created a table. */
  made(name: string): void {
    this.#present?.add(name);
  }

  /** Drops the cached names, after a failed transaction or after everything was removed. */
  forget(): void {
    this.#present = null;
  }
}
