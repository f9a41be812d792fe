/** Tables of a session's workspace (docs/storage-schema.md), by version. They are created with its first file. */

/** The table that holds the version. */
export const WORKSPACE_VERSIONS = "workspace_version";

/** One step per version; a deployed step never changes. */
export const WORKSPACE_STEPS: readonly string[] = [
  `CREATE TABLE workspace (
     id TEXT PRIMARY KEY, version INTEGER NOT NULL, files INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE workspace_file (
     path TEXT PRIMARY KEY, sha256 TEXT NOT NULL, size INTEGER NOT NULL, executable INTEGER NOT NULL,
     modified_at INTEGER NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX workspace_file_by_content ON workspace_file (sha256);
   CREATE TABLE workspace_object (
     key TEXT PRIMARY KEY, state TEXT NOT NULL, sha256 TEXT, upload_id TEXT, due_at INTEGER) WITHOUT ROWID;
   CREATE INDEX workspace_object_by_content ON workspace_object (sha256);
   CREATE INDEX workspace_object_by_due ON workspace_object (due_at) WHERE due_at IS NOT NULL;
   CREATE TABLE workspace_change (
     version INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL);`,
];
