-- Answers to requests with an Idempotency-Key.
CREATE TABLE IF NOT EXISTS kept_answers (
  name TEXT NOT NULL PRIMARY KEY,
  request_hash TEXT NOT NULL,
  attempt TEXT NOT NULL,
  effects INTEGER NOT NULL,
  alive_ms INTEGER NOT NULL,
  answer TEXT,
  expires_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS kept_answers_by_expiry ON kept_answers (expires_ms);
