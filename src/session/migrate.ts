/** Versions of a Durable Object's tables (docs/storage-schema.md). */

/** Whether anything was ever stored here. Asking stores nothing. */
export function hasSchema(sql: SqlStorage): boolean {
  const query = "SELECT count(*) AS n FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'";
  return sql.exec<{ n: number }>(query).one().n > 0;
}

/**
 * Brings the tables to the newest version, each step whole or not at all.
 * @param steps one per version; a step never changes once it was deployed
 */
export function migrate(storage: DurableObjectStorage, steps: readonly string[]): void {
  const { sql } = storage;
  sql.exec("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)");
  const { at } = sql.exec<{ at: number }>("SELECT coalesce(max(version), 0) AS at FROM schema_version").one();
  for (const [index, step] of steps.entries()) {
    if (index < at) continue;
    storage.transactionSync(() => {
      sql.exec(step);
      sql.exec("INSERT INTO schema_version (version) VALUES (?)", index + 1);
    });
  }
}
