/** The table of capability rules that tenants install (docs/storage-schema.md). */
export const CAPABILITY_RULES_SCHEMA = [
  `CREATE TABLE IF NOT EXISTS capability_rules (
  tenant TEXT PRIMARY KEY,
  rules TEXT NOT NULL,
  updated_at TEXT NOT NULL
)`,
] as const;
