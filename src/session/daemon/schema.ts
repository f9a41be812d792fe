/** Tables of a session's daemon (docs/storage-schema.md), by version. They are created with its first run. */

/** The table that holds the version. */
export const DAEMON_VERSIONS = "daemon_version";

/** One step per version; a deployed step never changes. */
export const DAEMON_STEPS: readonly string[] = [
  `CREATE TABLE daemon (
     run TEXT PRIMARY KEY, name TEXT, persist_path TEXT, capacity INTEGER NOT NULL, webhook TEXT,
     skill TEXT, declared TEXT, created_at INTEGER NOT NULL,
     earlier_iterations INTEGER NOT NULL, iterations INTEGER NOT NULL, next_seq INTEGER NOT NULL,
     inflight INTEGER, inflight_at INTEGER, interrupted INTEGER NOT NULL, asked_at INTEGER, watched TEXT NOT NULL,
     wake_reason TEXT, wake_at INTEGER, saved_at INTEGER,
     idle_at INTEGER, timer_at INTEGER, cron_at INTEGER, tick_at INTEGER, ticks INTEGER NOT NULL,
     check_at INTEGER) WITHOUT ROWID;
   CREATE TABLE daemon_event (seq INTEGER, part INTEGER, data BLOB NOT NULL, PRIMARY KEY (seq, part)) WITHOUT ROWID;`,
];
