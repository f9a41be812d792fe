-- The objects of uploaded skills in KV and R2, and which versions use them.
CREATE TABLE IF NOT EXISTS uploaded_records (
  digest TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  loose_ms INTEGER,
  removing_ms INTEGER
);
CREATE INDEX IF NOT EXISTS uploaded_records_loose ON uploaded_records (loose_ms) WHERE loose_ms IS NOT NULL;
CREATE TABLE IF NOT EXISTS uploaded_objects (
  digest TEXT NOT NULL,
  key TEXT NOT NULL,
  PRIMARY KEY (digest, key)
);
CREATE INDEX IF NOT EXISTS uploaded_objects_by_key ON uploaded_objects (key);
