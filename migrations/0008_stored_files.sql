-- The files of /v1/files.
CREATE TABLE IF NOT EXISTS stored_files (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  filename TEXT NOT NULL,
  mime TEXT NOT NULL,
  size INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  downloadable INTEGER NOT NULL,
  stored INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  expires_ms INTEGER,
  PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS stored_files_in_order ON stored_files (tenant, created_us);
CREATE INDEX IF NOT EXISTS stored_files_by_expiry ON stored_files (expires_ms) WHERE expires_ms IS NOT NULL;
