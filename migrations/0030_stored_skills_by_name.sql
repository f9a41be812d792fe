-- The skills of a name, the newest last.
CREATE INDEX IF NOT EXISTS stored_skills_by_name ON stored_skills (tenant, name, created_us);
