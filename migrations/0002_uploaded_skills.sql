-- Uploaded skills and their versions.
CREATE TABLE IF NOT EXISTS uploaded_skills (
  slug TEXT PRIMARY KEY,
  route TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  digest TEXT NOT NULL,
  card TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS uploaded_skills_of_owner ON uploaded_skills (owner, slug);
CREATE TABLE IF NOT EXISTS uploaded_versions (
  slug TEXT NOT NULL,
  version INTEGER NOT NULL,
  digest TEXT NOT NULL,
  uploaded_at TEXT NOT NULL,
  PRIMARY KEY (slug, version)
);
