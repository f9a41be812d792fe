-- Which workflows a tenant has stored, and which runs.
CREATE TABLE IF NOT EXISTS workflows (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  digest TEXT NOT NULL,
  graph TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (tenant, name, version)
);
CREATE TABLE IF NOT EXISTS workflow_runs (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  workflow TEXT NOT NULL,
  task TEXT NOT NULL,
  status TEXT NOT NULL,
  created_at TEXT NOT NULL,
  finished_at TEXT,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX IF NOT EXISTS workflow_runs_in_order ON workflow_runs (tenant, created_at, id);
