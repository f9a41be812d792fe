-- The sessions that lists show: without those in which stages of workflow runs ran.
CREATE INDEX IF NOT EXISTS sessions_without_stages ON sessions (tenant, created_at, id)
  WHERE NOT (substr(id, 1, 4) = 'wfs_' AND (parent_id IS NOT NULL OR json_extract(metadata, '$.workflow_run_id') IS NOT NULL));
