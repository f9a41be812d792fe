-- The conversations of /v1/conversations.
CREATE TABLE IF NOT EXISTS conversations (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE TABLE IF NOT EXISTS conversation_items (
  tenant TEXT NOT NULL,
  conversation TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  item TEXT NOT NULL,
  PRIMARY KEY (tenant, conversation, seq)
);
CREATE UNIQUE INDEX IF NOT EXISTS conversation_items_by_id ON conversation_items (tenant, conversation, id);
