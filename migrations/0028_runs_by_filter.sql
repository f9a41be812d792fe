-- What lists of runs are filtered by most: a session, a skill, the states of runs that have not ended, no stages of workflows.
CREATE INDEX IF NOT EXISTS runs_of_session ON runs (tenant, session, created_at, id) WHERE session IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_named ON runs (tenant, name, created_at, id) WHERE name IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_unsettled ON runs (tenant, state, created_at, id) WHERE settled_at IS NULL;
CREATE INDEX IF NOT EXISTS runs_without_stages ON runs (tenant, created_at, id)
  WHERE (session IS NULL OR substr(session, 1, 4) <> 'wfs_' OR id <> 'run_' || substr(session, 5));
