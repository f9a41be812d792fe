-- The keys of one tenant, in the order of their creation.
CREATE INDEX IF NOT EXISTS api_keys_of_tenant ON api_keys (tenant, created_at, id);
