/** Optional tables of a Durable Object: each is made with its first row. */
export class Tables<Name extends string> {
  readonly #sql: SqlStorage;
  readonly #optional: Readonly<Record<Name, string>>;
  /** Names of the existing tables, of those that anybody asks for; `null`: unknown. Nobody else makes or removes any unnoticed. */
  #present: Set<string> | null = null;

  /**
   * @param optional the statement that makes each table, by name; with `IF NOT EXISTS`, since an object may already
   *   have it
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

  /** Makes a table unless it exists; call it before writing a row. */
  need(name: Name): void {
    if (this.has(name)) return;
    this.#sql.exec(this.#optional[name]);
    this.#present?.add(name);
  }

  /** Somebody else made a table. */
  made(name: string): void {
    this.#present?.add(name);
  }

  /** Knowledge from before a failed transaction, or from before everything was removed, may be invalid. */
  forget(): void {
    this.#present = null;
  }
}
