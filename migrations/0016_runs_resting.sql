-- The runs that the list shows as waiting, the oldest first. The same statement as in src/session/run-index.ts.
CREATE INDEX IF NOT EXISTS runs_resting ON runs (created_at) WHERE settled_at IS NULL AND state <> 'running';
