-- Browsers that signed out before their cookie was too old.
CREATE TABLE IF NOT EXISTS ended_sign_ins (
  id TEXT NOT NULL PRIMARY KEY,
  until_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS ended_sign_ins_by_end ON ended_sign_ins (until_ms);
