-- The sessions in which stages of workflow runs ran: each session is in one of two indexes in order of creation.
CREATE INDEX IF NOT EXISTS sessions_of_stages ON sessions (tenant, created_at, id)
  WHERE substr(id, 1, 4) = 'wfs_' AND (parent_id IS NOT NULL OR json_extract(metadata, '$.workflow_run_id') IS NOT NULL);
DROP INDEX IF EXISTS sessions_in_order;
