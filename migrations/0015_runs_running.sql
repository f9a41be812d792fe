-- The runs that the list shows as running, the oldest first.
CREATE INDEX IF NOT EXISTS runs_running ON runs (created_at) WHERE state = 'running';
