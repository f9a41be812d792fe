/** Tables of an ExecutionObject (docs/storage-schema.md), by version. */

/** One step per version; a step never changes once it was deployed. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE execution (
     id TEXT PRIMARY KEY, generation INTEGER NOT NULL, caller TEXT NOT NULL, skill TEXT NOT NULL,
     digest TEXT NOT NULL, request_hash TEXT NOT NULL, request_id TEXT NOT NULL, input TEXT NOT NULL,
     state TEXT NOT NULL, begun INTEGER NOT NULL, created_at INTEGER NOT NULL, finished_at INTEGER,
     expires_at INTEGER, recoveries INTEGER NOT NULL, progress INTEGER NOT NULL, outcome TEXT);
   CREATE TABLE record (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID;
   CREATE TABLE event (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID;
   CREATE TABLE content (name TEXT, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (name, part)) WITHOUT ROWID;
   CREATE TABLE handed_in (execution_id TEXT PRIMARY KEY, admitted INTEGER NOT NULL) WITHOUT ROWID;`,
];

/** Whether anything was ever stored here. Asking stores nothing. */
export function hasSchema(sql: SqlStorage): boolean {
  const query = "SELECT count(*) AS n FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'";
  return sql.exec<{ n: number }>(query).one().n > 0;
}

/** Brings the tables to the newest version, each step whole or not at all. */
export function migrate(storage: DurableObjectStorage): void {
  const { sql } = storage;
  sql.exec("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)");
  const { at } = sql.exec<{ at: number }>("SELECT coalesce(max(version), 0) AS at FROM schema_version").one();
  for (const [index, step] of MIGRATIONS.entries()) {
    if (index < at) continue;
    storage.transactionSync(() => {
      sql.exec(step);
      sql.exec("INSERT INTO schema_version (version) VALUES (?)", index + 1);
    });
  }
}
