import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { REPO } from "../support/hull-dev.ts";

const run = promisify(execFile);
let dir: string;

/** A command in the folder, with nothing of this checkout's node_modules on its PATH. */
async function shell(command: string): Promise<{ stdout: string; stderr: string }> {
  const path = (process.env.PATH ?? "").split(":").filter((part) => !part.startsWith(REPO));
  const env = { ...process.env, PATH: path.join(":"), npm_config_prefix: undefined, NODE_OPTIONS: "" };
  return run("bash", ["-c", command], { cwd: dir, env });
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "hull-package-"));
  await run("npm", ["pack", "--silent", "--pack-destination", dir], { cwd: REPO });
  await shell("npm init -y && npm install --no-audit --no-fund ./hull-*.tgz");
}, 240_000);

afterAll(() => rm(dir, { recursive: true, force: true }));

test("S1: Hull installs from its own tarball, makes a project and runs its skills", async () => {
  const made = await shell("npx hull init .");
  expect(made.stdout).toMatch(/npx hull dev/);
  expect(JSON.parse(await readFile(join(dir, "package.json"), "utf8")).dependencies).toHaveProperty("hull");
  const called = await shell("npx hull call hello --input Ada");
  expect(called.stdout).toBe("Hello, Ada!\n");
  expect(called.stderr).not.toContain("Warning");
}, 60_000);

test("S113: failures have their exit codes there, too", async () => {
  const missing = await shell("npx hull call helo; echo exit $?");
  expect(missing.stdout).toMatch(/exit 3$/m);
  expect(missing.stderr).toContain("Did you mean hello?");
}, 60_000);
