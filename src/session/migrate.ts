/** Versions of a Durable Object's tables (docs/storage-schema.md). */

/** Where the version of an object's own tables is. Parts of an object that are optional have a table of their own. */
const OWN = "schema_version";

/** Whether anything was ever stored here. Asking stores nothing. */
export function hasSchema(sql: SqlStorage, versions = OWN): boolean {
  const query = "SELECT count(*) AS n FROM sqlite_master WHERE type = 'table' AND name = ?";
  return sql.exec<{ n: number }>(query, versions).one().n > 0;
}

/**
 * Brings the tables to the newest version, each step whole or not at all.
 * @param steps one per version; a step never changes once it was deployed
 * @param versions the table that holds the version
 */
export function migrate(storage: DurableObjectStorage, steps: readonly string[], versions = OWN): void {
  const { sql } = storage;
  // An object that is up to date writes nothing: it can be read even where nothing can be stored.
  if (!hasSchema(sql, versions)) sql.exec(`CREATE TABLE ${versions} (version INTEGER NOT NULL)`);
  const { at } = sql.exec<{ at: number }>(`SELECT coalesce(max(version), 0) AS at FROM ${versions}`).one();
  for (const [index, step] of steps.entries()) {
    if (index < at) continue;
    storage.transactionSync(() => {
      sql.exec(step);
      sql.exec(`INSERT INTO ${versions} (version) VALUES (?)`, index + 1);
    });
  }
}
