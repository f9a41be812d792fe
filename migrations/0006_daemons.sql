-- Which daemons a tenant has.
CREATE TABLE IF NOT EXISTS daemons (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT,
  status TEXT NOT NULL,
  persist_path TEXT,
  skill TEXT,
  webhook TEXT,
  check_at INTEGER,
  created_at TEXT NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX IF NOT EXISTS daemons_in_order ON daemons (tenant, created_at, id);
CREATE UNIQUE INDEX IF NOT EXISTS daemons_by_path ON daemons (tenant, persist_path)
  WHERE status = 'running' AND persist_path IS NOT NULL;
CREATE INDEX IF NOT EXISTS daemons_to_check ON daemons (check_at) WHERE status = 'running' AND check_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS daemons_hooked ON daemons (id) WHERE webhook IS NOT NULL;
