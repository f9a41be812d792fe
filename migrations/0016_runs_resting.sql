-- The runs that the list shows as waiting, the oldest first.
CREATE INDEX IF NOT EXISTS runs_resting ON runs (created_at) WHERE settled_at IS NULL AND state <> 'running';
