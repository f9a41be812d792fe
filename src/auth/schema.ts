/** The table of API keys (docs/storage-schema.md). */
export const API_KEYS_SCHEMA = [
  `CREATE TABLE IF NOT EXISTS api_keys (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  prefix TEXT NOT NULL,
  tenant TEXT NOT NULL,
  scopes TEXT NOT NULL,
  name TEXT,
  created_at TEXT NOT NULL
)`,
  "CREATE INDEX IF NOT EXISTS api_keys_in_order ON api_keys (created_at, id)",
] as const;

/** Approximate time of each key's last use: in a separate table, so that the table of keys stays unchanged. */
export const API_KEY_USES_SCHEMA = [
  `CREATE TABLE IF NOT EXISTS api_key_uses (
  id TEXT PRIMARY KEY,
  used_at TEXT NOT NULL
)`,
] as const;
