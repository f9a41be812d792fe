-- Capability rules that tenants installed.
CREATE TABLE IF NOT EXISTS capability_rules (
  tenant TEXT PRIMARY KEY,
  rules TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
