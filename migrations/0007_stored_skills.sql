-- The skills of /v1/skills, their versions and bundles.
CREATE TABLE IF NOT EXISTS stored_skills (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  label TEXT,
  default_number INTEGER,
  last_number INTEGER NOT NULL,
  last_epoch INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  updated_us INTEGER NOT NULL,
  created_by TEXT,
  updated_by TEXT,
  PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS stored_skills_in_order ON stored_skills (tenant, created_us);
CREATE INDEX IF NOT EXISTS stored_skills_by_label ON stored_skills (tenant, label) WHERE label IS NOT NULL;
CREATE TABLE IF NOT EXISTS stored_skill_versions (
  tenant TEXT NOT NULL,
  skill TEXT NOT NULL,
  number INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  directory TEXT NOT NULL,
  digest TEXT NOT NULL,
  original TEXT,
  diagnostics TEXT NOT NULL,
  PRIMARY KEY (tenant, skill, number)
);
CREATE UNIQUE INDEX IF NOT EXISTS stored_skill_versions_by_epoch ON stored_skill_versions (tenant, skill, epoch);
CREATE UNIQUE INDEX IF NOT EXISTS stored_skill_versions_by_id ON stored_skill_versions (tenant, skill, id);
CREATE INDEX IF NOT EXISTS stored_skill_versions_by_digest ON stored_skill_versions (tenant, digest);
CREATE INDEX IF NOT EXISTS stored_skill_versions_by_original ON stored_skill_versions (tenant, original);
CREATE TABLE IF NOT EXISTS stored_bundles (
  tenant TEXT NOT NULL,
  digest TEXT NOT NULL,
  key TEXT NOT NULL,
  size INTEGER NOT NULL,
  stored INTEGER NOT NULL,
  doomed INTEGER NOT NULL,
  loose_ms INTEGER,
  PRIMARY KEY (tenant, digest)
);
CREATE INDEX IF NOT EXISTS stored_bundles_loose ON stored_bundles (loose_ms) WHERE loose_ms IS NOT NULL;
