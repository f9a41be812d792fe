-- When each API key was used, about.
CREATE TABLE IF NOT EXISTS api_key_uses (
  id TEXT PRIMARY KEY,
  used_at TEXT NOT NULL
);
