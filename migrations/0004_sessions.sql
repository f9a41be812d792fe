-- Which sessions a tenant has.
CREATE TABLE IF NOT EXISTS sessions (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at TEXT NOT NULL,
  parent_id TEXT,
  metadata TEXT NOT NULL,
  PRIMARY KEY (tenant, id)
);
