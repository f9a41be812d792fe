-- Configured values of tools; secrets are encrypted.
CREATE TABLE IF NOT EXISTS tool_config (
  tenant TEXT NOT NULL,
  slug TEXT NOT NULL,
  bot TEXT NOT NULL,
  tool TEXT NOT NULL,
  param TEXT NOT NULL,
  value TEXT NOT NULL,
  sealed INTEGER NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (tenant, slug, bot, tool, param)
);
