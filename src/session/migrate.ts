/** Versions of a Durable Object's tables (docs/storage-schema.md). */
import { StorageUnreadable } from "../errors.ts";

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
 * @throws StorageUnreadable if a later version of Hull made the tables
 */
export function migrate(storage: DurableObjectStorage, steps: readonly string[], versions = OWN): void {
  const { sql } = storage;
  // An up-to-date object writes nothing here, so it can be read even if storage accepts no writes.
  const isNew = !hasSchema(sql, versions);
  if (isNew) sql.exec(`CREATE TABLE ${versions} (version INTEGER NOT NULL)`);
  const at = isNew ? 0 : checkVersion(sql, steps.length, versions);
  for (const [index, step] of steps.entries()) {
    if (index < at) continue;
    storage.transactionSync(() => {
      sql.exec(step);
      sql.exec(`INSERT INTO ${versions} (version) VALUES (?)`, index + 1);
    });
  }
}

/**
 * The version of the tables.
 * @param known the newest version that this Hull knows
 * @throws StorageUnreadable if a later version of Hull made the tables
 */
export function checkVersion(sql: SqlStorage, known: number, versions = OWN): number {
  const query = `SELECT coalesce(max(version), 0) AS at FROM ${versions}`;
  const { at } = sql.exec<{ at: number }>(query).one();
  if (at > known) throw new StorageUnreadable({});
  return at;
}
