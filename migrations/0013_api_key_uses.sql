-- When each API key was used, about. The same statements as in src/auth/schema.ts.
CREATE TABLE IF NOT EXISTS api_key_uses (
  id TEXT PRIMARY KEY,
  used_at TEXT NOT NULL
);
