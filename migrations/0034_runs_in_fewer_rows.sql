-- 0034_runs_in_fewer_rows.sql: a run is in few indexes, and whether its price is known is in its row.
ALTER TABLE runs ADD COLUMN price_known INTEGER;
CREATE INDEX IF NOT EXISTS runs_of_stages ON runs (tenant, created_at, id)
  WHERE NOT (session IS NULL OR substr(session, 1, 4) <> 'wfs_' OR id <> 'run_' || substr(session, 5));
DROP INDEX IF EXISTS runs_in_order;
DROP INDEX IF EXISTS runs_waiting;
DROP INDEX IF EXISTS runs_running;
DROP INDEX IF EXISTS runs_resting;
