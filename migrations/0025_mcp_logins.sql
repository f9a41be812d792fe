-- Logins at MCP servers of hull.toml, one row for each server. `sealed` is NULL if there is only a failure to show.
CREATE TABLE IF NOT EXISTS mcp_logins (
  server TEXT NOT NULL,
  url TEXT NOT NULL,
  sealed TEXT,
  expires_at TEXT,
  renewable INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0,
  failure TEXT,
  failed_at TEXT,
  lease_until INTEGER,
  PRIMARY KEY (server)
) WITHOUT ROWID;
