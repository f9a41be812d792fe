import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeProvider } from "../support/fake-provider.ts";
import { REPO } from "../support/hull-dev.ts";

const run = promisify(execFile);
let dir: string;

/** An environment with nothing of this checkout's node_modules on its PATH. */
function clean(): NodeJS.ProcessEnv {
  const path = (process.env.PATH ?? "").split(":").filter((part) => !part.startsWith(REPO));
  return { ...process.env, PATH: path.join(":"), npm_config_prefix: undefined, NODE_OPTIONS: "" };
}

/** A command in the folder. */
async function shell(command: string): Promise<{ stdout: string; stderr: string }> {
  return run("bash", ["-c", command], { cwd: dir, env: clean() });
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "hull-package-"));
  await run("npm", ["pack", "--silent", "--pack-destination", dir], { cwd: REPO });
  await shell("npm init -y && npm install --no-audit --no-fund ./hull-*.tgz");
}, 600_000);

afterAll(() => rm(dir, { recursive: true, force: true }));

test("S1: Hull installs from its own tarball, makes a project and runs its skills", async () => {
  const made = await shell("npx hull init .");
  expect(made.stdout).toMatch(/npx hull dev/);
  expect(JSON.parse(await readFile(join(dir, "package.json"), "utf8")).dependencies).toHaveProperty("hull");
  const called = await shell("npx hull call hello --input Ada");
  expect(called.stdout).toBe("Hello, Ada!\n");
  expect(called.stderr).not.toContain("Warning");
});

test("a typed skill is built, with types that the compiler finds", async () => {
  await shell("npx hull new Dice -l typed");
  expect((await shell("npx hull build")).stdout).toMatch(/^Built \d+ skills? into/);
  await shell(
    `${REPO}node_modules/.bin/tsc --noEmit --strict --module preserve --target es2022 --types '' skills/dice/skill.ts`,
  );
});

test("S113: failures have their exit codes there, too", async () => {
  const missing = await shell("npx hull call helo; echo exit $?");
  expect(missing.stdout).toMatch(/exit 3$/m);
  expect(missing.stderr).toContain("Did you mean hello?");
});

test("S1: its server answers the curl line of the documentation of llm skills", async () => {
  const fake = await startFakeProvider();
  const keys = { ANTHROPIC_API_KEY: "sk-ant-e2e-key", ANTHROPIC_BASE_URL: fake.url };
  const server = spawn(join(dir, "node_modules/.bin/hull"), ["dev", "--port", "0"], {
    cwd: dir,
    env: { ...clean(), ...keys },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const port = await new Promise<string>((resolve, reject) => {
      let output = "";
      server.stdout.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        const found = /on http:\/\/localhost:(\d+)/.exec(output)?.[1];
        if (found !== undefined) resolve(found);
      });
      server.once("close", () => reject(new Error(`hull dev ended: ${output}`)));
    });
    const line =
      "curl -sS -X POST localhost:3000/skills/assistant --data 'Summarize the plot of Hamlet in two sentences.'";
    const { stdout } = await shell(line.replace("3000", port));
    expect(stdout).toBe("Summarize the plot of Hamlet in two sentences.");
    expect(fake.requests.map((request) => request.path)).toEqual(["/v1/messages"]);
  } finally {
    server.kill("SIGTERM");
    await new Promise((resolve) => server.once("close", resolve));
    await fake.close();
  }
});
