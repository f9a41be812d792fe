/** Tables of a SessionObject (docs/storage-schema.md), by version. */

/** One step per version; a step never changes once it was deployed. */
export const CONVERSATION_STEPS: readonly string[] = [
  `CREATE TABLE session (
     id TEXT PRIMARY KEY, tenant TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
     state TEXT NOT NULL, request_hash TEXT, parent_id TEXT, branched_at INTEGER,
     metadata TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE record (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID;
   CREATE TABLE event (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID;
   CREATE TABLE checkpoint (part INTEGER PRIMARY KEY, seq INTEGER NOT NULL, data BLOB NOT NULL) WITHOUT ROWID;
   CREATE TABLE run (
     id TEXT PRIMARY KEY, status TEXT NOT NULL, request_id TEXT NOT NULL, mock_scope TEXT NOT NULL, created_at INTEGER NOT NULL,
     settled_at INTEGER, first_event INTEGER NOT NULL, done_event INTEGER, first_record INTEGER NOT NULL,
     recoveries INTEGER NOT NULL, progress INTEGER NOT NULL, memo TEXT) WITHOUT ROWID;
   CREATE INDEX run_in_order ON run (first_record);
   CREATE INDEX run_alive ON run (id) WHERE settled_at IS NULL;
   CREATE TABLE request (name TEXT PRIMARY KEY, hash TEXT NOT NULL, answer TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX request_by_age ON request (at);
   CREATE TABLE child (id TEXT PRIMARY KEY) WITHOUT ROWID;
   CREATE TABLE handed_in (execution_id TEXT PRIMARY KEY, admitted INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE due (kind TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;`,
  `CREATE TABLE artifact (
     id TEXT, version INTEGER, record INTEGER NOT NULL, at INTEGER NOT NULL, head TEXT NOT NULL,
     PRIMARY KEY (id, version)) WITHOUT ROWID;`,
];
