/** Versions of a Durable Object's tables (docs/storage-schema.md). */

/** The table with the version of an object's own tables. Optional parts of an object have their own version tables. */
const OWN = "schema_version";

/** Whether the tables exist. The check itself stores nothing. */
export function hasSchema(sql: SqlStorage, versions = OWN): boolean {
  const query = "SELECT count(*) AS n FROM sqlite_master WHERE type = 'table' AND name = ?";
  return sql.exec<{ n: number }>(query, versions).one().n > 0;
}

/**
 * Upgrades the tables to the newest version. Each step is applied whole or not at all.
 * @param steps one per version; a deployed step never changes
 * @param versions the table that holds the version
 */
export function migrate(storage: DurableObjectStorage, steps: readonly string[], versions = OWN): void {
  const { sql } = storage;
  // An up-to-date object writes nothing here, so it can be read even if storage accepts no writes.
  const isNew = !hasSchema(sql, versions);
  if (isNew) sql.exec(`CREATE TABLE ${versions} (version INTEGER NOT NULL)`);
  const at = isNew ? 0 : newestIn(sql, versions);
  for (const [index, step] of steps.entries()) {
    if (index < at) continue;
    storage.transactionSync(() => {
      sql.exec(step);
      sql.exec(`INSERT INTO ${versions} (version) VALUES (?)`, index + 1);
    });
  }
}

function newestIn(sql: SqlStorage, versions: string): number {
  const query = `SELECT coalesce(max(version), 0) AS at FROM ${versions}`;
  return sql.exec<{ at: number }>(query).one().at;
}
