-- Objects of conversations in R2 that no item has: not yet, or not any more.
CREATE TABLE IF NOT EXISTS conversation_objects (
  key TEXT PRIMARY KEY,
  since_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS conversation_objects_by_age ON conversation_objects (since_ms);
