-- The skill that a daemon runs. The column `skill` of `daemons` has only the one that declares it.
CREATE TABLE IF NOT EXISTS daemon_skills (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  skill TEXT NOT NULL,
  PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS daemon_skills_go AFTER DELETE ON daemons BEGIN DELETE FROM daemon_skills WHERE tenant = old.tenant AND id = old.id; END;
