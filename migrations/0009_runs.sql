-- Which runs a tenant has.
CREATE TABLE IF NOT EXISTS runs (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT,
  session TEXT,
  state TEXT NOT NULL,
  created_at TEXT NOT NULL,
  settled_at TEXT,
  duration_ms INTEGER,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  code TEXT,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX IF NOT EXISTS runs_failed ON runs (tenant, code, created_at, id) WHERE code IS NOT NULL;
