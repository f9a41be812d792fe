-- API keys: SHA-256 of each, never the key.
CREATE TABLE IF NOT EXISTS api_keys (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  prefix TEXT NOT NULL,
  tenant TEXT NOT NULL,
  scopes TEXT NOT NULL,
  name TEXT,
  created_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS api_keys_in_order ON api_keys (created_at, id);
