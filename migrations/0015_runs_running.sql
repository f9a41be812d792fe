-- The runs that the list shows as running, the oldest first. The same statement as in src/session/run-index.ts.
CREATE INDEX IF NOT EXISTS runs_running ON runs (created_at) WHERE state = 'running';
