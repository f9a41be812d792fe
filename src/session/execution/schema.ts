/** Tables of an ExecutionObject (docs/storage-schema.md), by version. */

/** One step per version; a step never changes once it was deployed. */
export const MIGRATIONS: readonly string[] = [
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
