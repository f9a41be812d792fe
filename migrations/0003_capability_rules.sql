-- Capability rules that tenants installed. The same statement as in src/model/catalogue/rules-schema.ts.
CREATE TABLE IF NOT EXISTS capability_rules (
  tenant TEXT PRIMARY KEY,
  rules TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
