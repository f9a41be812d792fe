import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadCassette } from "../../../scripts/cassette/replay.ts";
import { loadConfig } from "../../../scripts/config.ts";
import { loadEnvironment } from "../../../scripts/dotenv.ts";
import { readSigningKey } from "../../../scripts/signing-key.ts";
import { folder } from "./folder.ts";

test("the environment wins over .dev.vars, which wins over .env", async () => {
  const dir = folder({ ".env": "A=env\nB=env\nC='e n v'\n# D=no\n", ".dev.vars": 'B="vars"\nE=vars\n' });
  const variables = await loadEnvironment(dir, { E: "process", F: undefined });
  expect(Object.fromEntries(variables)).toEqual({ A: "env", B: "vars", C: "e n v", E: "process" });
  expect((await loadEnvironment(folder(), { X: "1" })).get("X")).toBe("1");
});

test("hull.toml: defaults and given values", async () => {
  expect(await loadConfig(folder())).toEqual({
    skills: null,
    commands: false,
    agents: false,
    name: null,
    port: 3000,
    host: "127.0.0.1",
    cors_origins: [],
    allowed_hosts: [],
    allowed_origins: [],
    auth: "keys",
    domain: null,
    pass_through: [],
    public_skills: [],
    max_body_bytes: 52428800,
    max_output_bytes: 104857600,
    hook_timeout_ms: 10000,
    limits: {
      max_upload_bytes: 31457280,
      max_file_bytes: 95000000,
      max_stored_bytes: 10737418240,
      code_timeout_ms: 120000,
      answer_ms: 420000,
    },
    mcp: { allowed_hosts: [], allow_loopback: false, servers: {} },
    approvals: {},
    signatures: { trusted_signers: [], require: "none" },
    workspace_tools: { enabled: "auto", network: false, env: [], image: "slim", allowed_tools: "approve" },
    daemons: { webhook_secrets: ["WEBHOOK_*", "*_WEBHOOK_SECRET"] },
    runner: {
      url: null,
      concurrency: null,
      queue: 256,
      queue_timeout_ms: 10000,
      grace_ms: 2000,
      drain_ms: 30000,
      network: "declared",
      installs: null,
      install_ms: 180000,
    },
  });
  const toml =
    'skills = "s"\nauth = "keys"\nrate_limit = "120/60s"\nallowed_hosts = ["Shop.test", "[fd00::7]"]\n[runner]\nurl = "http://127.0.0.1:9"\n';
  expect(await loadConfig(folder({ "hull.toml": toml }))).toMatchObject({
    skills: ["s"],
    auth: "keys",
    rate_limit: { requests: 120, window_s: 60 },
    allowed_hosts: ["shop.test", "[fd00::7]"],
    runner: { url: "http://127.0.0.1:9", queue: 256 },
  });
});

test("a folder .env is no file of variables", async () => {
  expect((await loadEnvironment(folder({ ".env/pyvenv.cfg": "" }), {})).size).toBe(0);
});

test.each<[string, (dir: string) => Promise<unknown>]>([
  ["hull.toml", loadConfig],
  [".env", loadEnvironment],
  [".dev.vars", loadEnvironment],
  ["key.pem", (dir) => readSigningKey(join(dir, "key.pem"))],
  ["calls.jsonl", (dir) => loadCassette(join(dir, "calls.jsonl"))],
])("%s that is there and cannot be read is a failure", async (name, read) => {
  const dir = folder();
  symlinkSync(name, join(dir, name));
  await expect(read(dir)).rejects.toMatchObject({
    code: "system_error",
    message: `Cannot open ${join(dir, name)}: its symbolic links lead in a circle.`,
    exit: 1,
  });
});
