import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { API_KEY_USES_SCHEMA, API_KEYS_SCHEMA } from "../../src/auth/key-store.ts";
import { CAPABILITY_RULES_SCHEMA } from "../../src/model/registry/tenant-rules.ts";
import { CONVERSATIONS_SCHEMA } from "../../src/registry/conversations/rows.ts";
import { KEPT_ANSWERS_SCHEMA } from "../../src/registry/kept-answers/rows.ts";
import { STORED_FILES_SCHEMA } from "../../src/registry/stored-files/rows.ts";
import { STORED_SKILLS_SCHEMA } from "../../src/registry/stored-skills/schema.ts";
import { TOOL_CONFIG_SCHEMA } from "../../src/registry/tool-config/store.ts";
import { UPLOADS_SCHEMA } from "../../src/registry/uploads.ts";
import { DAEMONS_SCHEMA } from "../../src/session/daemon/directory.ts";
import { RUNS_RESTING_SCHEMA, RUNS_RUNNING_SCHEMA, RUNS_SCHEMA } from "../../src/session/run-index.ts";
import { SESSIONS_SCHEMA } from "../../src/session/session-index.ts";
import { TASKS_SCHEMA } from "../../src/session/task/directory.ts";
import { WORKFLOWS_SCHEMA } from "../../src/session/workflow/directory.ts";
import wranglerToml from "../../wrangler.toml?raw";

const MIGRATIONS = import.meta.glob<string>("../../migrations/*.sql", {
  query: "?raw",
  import: "default",
  eager: true,
});
const SCHEMAS = {
  "0001_api_keys.sql": API_KEYS_SCHEMA,
  "0002_uploaded_skills.sql": UPLOADS_SCHEMA,
  "0003_capability_rules.sql": CAPABILITY_RULES_SCHEMA,
  "0004_sessions.sql": SESSIONS_SCHEMA,
  "0005_tool_config.sql": TOOL_CONFIG_SCHEMA,
  "0006_daemons.sql": DAEMONS_SCHEMA,
  "0007_stored_skills.sql": STORED_SKILLS_SCHEMA,
  "0008_stored_files.sql": STORED_FILES_SCHEMA,
  "0009_runs.sql": RUNS_SCHEMA,
  "0010_workflows.sql": WORKFLOWS_SCHEMA,
  "0011_conversations.sql": CONVERSATIONS_SCHEMA,
  "0012_tasks.sql": TASKS_SCHEMA,
  "0013_api_key_uses.sql": API_KEY_USES_SCHEMA,
  "0014_kept_answers.sql": KEPT_ANSWERS_SCHEMA,
  "0015_runs_running.sql": RUNS_RUNNING_SCHEMA,
  "0016_runs_resting.sql": RUNS_RESTING_SCHEMA,
};

test("the migrations and what the Worker applies by itself are the same", () => {
  expect(Object.keys(MIGRATIONS).map((path) => path.slice("../../migrations/".length))).toEqual(
    Object.keys(SCHEMAS),
  );
  for (const [file, schema] of Object.entries(SCHEMAS)) {
    const statements = MIGRATIONS[`../../migrations/${file}`]
      ?.replace(/^--.*\n/gm, "")
      .split(";\n")
      .filter((statement) => statement !== "");
    expect(statements).toEqual(schema);
  }
  expect(parse(wranglerToml)).toMatchObject({ d1_databases: [{ migrations_dir: "migrations" }] });
});
