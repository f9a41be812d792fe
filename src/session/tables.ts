/** The tables of a Durable Object that not every object of its class needs: each is made with its first row. */
export class Tables<Name extends string> {
  readonly #sql: SqlStorage;
  readonly #optional: Readonly<Record<Name, string>>;
  /** Names of the tables that are there; `null`: not known. Nobody else makes or removes any. */
  #present: Set<string> | null = null;

  /** @param optional what makes each table, by its name; `IF NOT EXISTS`, so that an object may have had it before */
  constructor(sql: SqlStorage, optional: Readonly<Record<Name, string>>) {
    this.#sql = sql;
    this.#optional = optional;
  }

  /** Whether a table is there. Asking stores nothing. */
  has(name: string): boolean {
    const rows = () =>
      this.#sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    this.#present ??= new Set(Array.from(rows(), (row) => row.name));
    return this.#present.has(name);
  }

  /** Makes a table unless it is there; called before a row is written. */
  need(name: Name): void {
    if (this.has(name)) return;
    this.#sql.exec(this.#optional[name]);
    this.#present?.add(name);
  }

  /** What was known before a transaction that failed, or before all was removed, may not be true. */
  forget(): void {
    this.#present = null;
  }
}
