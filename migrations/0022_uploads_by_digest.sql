-- Whether an upload has a version.
CREATE INDEX IF NOT EXISTS uploaded_skills_by_digest ON uploaded_skills (digest);
CREATE INDEX IF NOT EXISTS uploaded_versions_by_digest ON uploaded_versions (digest);
