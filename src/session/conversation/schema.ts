/** Tables of a SessionObject (docs/storage-schema.md). */

/** The newest version of a session's tables. Earlier versions of Hull used up to 2, so the next one is 3. */
export const NEWEST_SESSION = 2;
/**
 * The tables of every session. Objects created by earlier versions of Hull have all optional tables, and a
 * `schema_version` of up to 2; of their tables only `record` and `event` differ from those here (`rows.ts`).
 */
export const CONVERSATION_STEPS: readonly string[] = [
  `CREATE TABLE session (
     id TEXT PRIMARY KEY, tenant TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
     state TEXT NOT NULL, request_hash TEXT, parent_id TEXT, branched_at INTEGER,
     metadata TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE records (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
   CREATE TABLE events (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
   CREATE TABLE run (
     id TEXT PRIMARY KEY, status TEXT NOT NULL, request_id TEXT NOT NULL, mock_scope TEXT NOT NULL, created_at INTEGER NOT NULL,
     settled_at INTEGER, first_event INTEGER NOT NULL, done_event INTEGER, first_record INTEGER NOT NULL,
     recoveries INTEGER NOT NULL, progress INTEGER NOT NULL, memo TEXT, listed TEXT) WITHOUT ROWID;
   CREATE INDEX run_in_order ON run (first_record);
   CREATE TABLE due (kind TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;`,
];

/** Tables that are created with their first row. */
export const OPTIONAL_TABLES = {
  checkpoint:
    "CREATE TABLE IF NOT EXISTS checkpoint (part INTEGER PRIMARY KEY, seq INTEGER NOT NULL, data BLOB NOT NULL) WITHOUT ROWID",
  request: `CREATE TABLE IF NOT EXISTS request (
     name TEXT PRIMARY KEY, hash TEXT NOT NULL, answer TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX IF NOT EXISTS request_by_age ON request (at);`,
  child: "CREATE TABLE IF NOT EXISTS child (id TEXT PRIMARY KEY) WITHOUT ROWID",
  handed_in:
    "CREATE TABLE IF NOT EXISTS handed_in (execution_id TEXT PRIMARY KEY, admitted INTEGER NOT NULL, workspace TEXT) WITHOUT ROWID",
  artifact: `CREATE TABLE IF NOT EXISTS artifact (
     id TEXT, version INTEGER, record INTEGER NOT NULL, at INTEGER NOT NULL, head TEXT NOT NULL,
     PRIMARY KEY (id, version)) WITHOUT ROWID`,
  call: `CREATE TABLE IF NOT EXISTS call (
     generation INTEGER PRIMARY KEY, caller TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, input TEXT NOT NULL,
     begun INTEGER NOT NULL, expires_at INTEGER, outcome TEXT) WITHOUT ROWID`,
  journal:
    "CREATE TABLE IF NOT EXISTS journal (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID",
  content: `CREATE TABLE IF NOT EXISTS content (
     name TEXT, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (name, part)) WITHOUT ROWID`,
  task: `CREATE TABLE IF NOT EXISTS task (
     run TEXT PRIMARY KEY, created_at INTEGER NOT NULL, closed_at INTEGER, told TEXT, thrown INTEGER NOT NULL,
     settings TEXT NOT NULL, artifacts TEXT NOT NULL) WITHOUT ROWID`,
  task_cycle: `CREATE TABLE IF NOT EXISTS task_cycle (
     seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL, run TEXT, task TEXT NOT NULL) WITHOUT ROWID`,
  delegate: `CREATE TABLE IF NOT EXISTS delegate (
     child TEXT PRIMARY KEY, run TEXT, relayed INTEGER NOT NULL, over INTEGER NOT NULL) WITHOUT ROWID`,
} as const;

export type OptionalTable = keyof typeof OPTIONAL_TABLES;
