/**
 * Tables of a session that is a task or has delegated one (docs/storage-schema.md). Each is created with its first row.
 */
export const TASK_TABLES = {
  task: `CREATE TABLE IF NOT EXISTS task (
     run TEXT PRIMARY KEY, created_at INTEGER NOT NULL, closed_at INTEGER, told TEXT, thrown INTEGER NOT NULL,
     settings TEXT NOT NULL, artifacts TEXT NOT NULL) WITHOUT ROWID`,
  task_cycle: `CREATE TABLE IF NOT EXISTS task_cycle (
     seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL, run TEXT, task TEXT NOT NULL) WITHOUT ROWID`,
  delegate: `CREATE TABLE IF NOT EXISTS delegate (
     child TEXT PRIMARY KEY, run TEXT, relayed INTEGER NOT NULL, over INTEGER NOT NULL) WITHOUT ROWID`,
} as const;
