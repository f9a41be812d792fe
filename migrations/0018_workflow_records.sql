-- Which run wrote its record last at a path that a request named.
CREATE TABLE IF NOT EXISTS workflow_records (
  tenant TEXT NOT NULL,
  path TEXT NOT NULL,
  run TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (tenant, path)
);
CREATE INDEX IF NOT EXISTS workflow_records_by_run ON workflow_records (tenant, run);
