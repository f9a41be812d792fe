/** Tables of a LedgerObject (docs/storage-schema.md), by version. Money is integer nano-USD, times are Unix ms. */

/** One step per version; a deployed step never changes. The first two tables existed before versions did. */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS rate_slots (
     subject TEXT NOT NULL, window_ms INTEGER NOT NULL, slot INTEGER NOT NULL, count INTEGER NOT NULL,
     expires_at INTEGER NOT NULL, PRIMARY KEY (subject, window_ms, slot)) WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS leases (
     id TEXT PRIMARY KEY, taken_at INTEGER NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE usage (
     day TEXT NOT NULL, skill TEXT NOT NULL, session TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
     calls INTEGER NOT NULL, unpriced_calls INTEGER NOT NULL, estimated_calls INTEGER NOT NULL,
     input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL,
     cache_write_tokens INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, cost INTEGER NOT NULL,
     duration_ms INTEGER NOT NULL, hour INTEGER NOT NULL, hour_prompt INTEGER NOT NULL, hour_output INTEGER NOT NULL,
     hour_cost INTEGER NOT NULL, PRIMARY KEY (day, skill, session, provider, model)) WITHOUT ROWID;
   CREATE INDEX usage_by_session ON usage (session, day);
   CREATE TABLE budget (
     scope TEXT PRIMARY KEY, per TEXT NOT NULL, max_cost INTEGER, max_input INTEGER, max_output INTEGER,
     period INTEGER NOT NULL, cost INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
     updated_at INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE reservation (
     id TEXT PRIMARY KEY, skill TEXT, session TEXT, account TEXT, provider TEXT NOT NULL, model TEXT NOT NULL,
     prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost INTEGER, taken_at INTEGER NOT NULL,
     expires_at INTEGER NOT NULL, expired INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE account (
     name TEXT PRIMARY KEY, max_cost INTEGER, cost INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
     output_tokens INTEGER NOT NULL, calls INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE provider_rate (provider TEXT PRIMARY KEY, rpm INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE recorded (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;`,
];
