-- The workflow runs of one status.
CREATE INDEX IF NOT EXISTS workflow_runs_by_status ON workflow_runs (tenant, status, created_at, id);
