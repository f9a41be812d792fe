/** Tables of a SessionObject (docs/storage-schema.md), by version. */

/** One step per version; a step never changes once it was deployed. */
export const CONVERSATION_STEPS: readonly string[] = [
  `CREATE TABLE session (
     id TEXT PRIMARY KEY, tenant TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
     state TEXT NOT NULL, parent_id TEXT, branched_at INTEGER, metadata TEXT NOT NULL);
   CREATE TABLE record (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID;
   CREATE TABLE event (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID;
   CREATE TABLE checkpoint (part INTEGER PRIMARY KEY, seq INTEGER NOT NULL, data BLOB NOT NULL) WITHOUT ROWID;
   CREATE TABLE run (
     id TEXT PRIMARY KEY, request_hash TEXT NOT NULL, status TEXT NOT NULL, created_at INTEGER NOT NULL,
     settled_at INTEGER, first_event INTEGER NOT NULL, first_record INTEGER NOT NULL, result TEXT, recoveries INTEGER NOT NULL,
     progress INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE child (id TEXT PRIMARY KEY) WITHOUT ROWID;
   CREATE TABLE handed_in (execution_id TEXT PRIMARY KEY, admitted INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE due (kind TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;`,
];
