-- Failed daemons that will be resumed: the sweep checks them, too.
CREATE INDEX IF NOT EXISTS daemons_to_resume ON daemons (check_at) WHERE status = 'failed' AND check_at IS NOT NULL;
