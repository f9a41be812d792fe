-- Without the files of which only the row is left: what a tenant stores, and what a sweep removes.
CREATE INDEX IF NOT EXISTS stored_files_kept ON stored_files (tenant, expires_ms, size) WHERE stored = 1;
CREATE INDEX IF NOT EXISTS stored_files_due ON stored_files (expires_ms) WHERE stored < 2 AND expires_ms IS NOT NULL;
