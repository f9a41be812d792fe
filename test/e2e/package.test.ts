import { execFile, spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeProvider } from "../support/fake-provider.ts";
import { REPO } from "../support/hull-dev.ts";
import { SERVERS } from "../support/memory.ts";

const run = promisify(execFile);
let dir: string;

/** An environment with nothing of this checkout's node_modules on its PATH, but for Node itself: a package brings none. */
function clean(): NodeJS.ProcessEnv {
  const path = (process.env.PATH ?? "").split(":").filter((part) => !part.startsWith(REPO));
  return {
    ...process.env,
    PATH: [join(dir, "node"), ...path].join(":"),
    npm_config_prefix: undefined,
    NODE_OPTIONS: "",
    XDG_CACHE_HOME: join(dir, "cache"),
  };
}

/** A command in the folder. @param path what stands before its PATH */
async function shell(command: string, path = ""): Promise<{ stdout: string; stderr: string }> {
  const { PATH, ...env } = clean();
  return run("bash", ["-c", command], { cwd: dir, env: { ...env, PATH: `${path}${PATH}` } });
}

beforeAll(async () => {
  dir = await mkdtemp(join(SERVERS, "hull-package-"));
  await mkdir(join(dir, "node"));
  await symlink(process.execPath, join(dir, "node", "node"));
  // `npm ci` has run `prepare` already.
  await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", dir], { cwd: REPO });
  await writeFile(join(dir, "package.json"), '{"name": "of-a-user", "version": "1.0.0"}\n');
  await shell("npm install --no-audit --no-fund ./hullrun-*.tgz");
}, 600_000);

afterAll(() => rm(dir, { recursive: true, force: true }));

// Root bypasses permission checks, so the commands run without these capabilities.
const WITHOUT_ROOT = process.getuid?.() === 0 ? "setpriv --bounding-set=-dac_override,-dac_read_search " : "";

test("S1: Hull installs from its own tarball, makes a project and runs its skills, also without root", async () => {
  const made = await shell("npx hull init .");
  expect(made.stdout).toMatch(/npx hull dev/);
  expect(JSON.parse(await readFile(join(dir, "package.json"), "utf8")).dependencies).toHaveProperty(
    "hullrun",
  );
  await mkdir(join(dir, "tmp"));
  const called = await shell(`TMPDIR=${dir}/tmp ${WITHOUT_ROOT}npx hull call hello --input Ada`);
  expect(called).toEqual({ stdout: "Hello, Ada!\n", stderr: "" });
  expect((await readdir(join(dir, "tmp"))).filter((name) => name.startsWith("hull-call"))).toEqual([]);
});

test("without root, hull dev reports an installation that it cannot write to", async () => {
  await chmod(join(dir, "node_modules/hullrun"), 0o555);
  const dev = await shell(`${WITHOUT_ROOT}node_modules/.bin/hull dev --port 0 2>&1; echo exit $?`);
  await chmod(join(dir, "node_modules/hullrun"), 0o755);
  expect(dev.stdout).toMatch(
    /^hull: Hull is installed in \S+hullrun\. wrangler must write .*\n.*--direct.*\nexit 2\n$/,
  );
});

test("its own test passes, with the Node that the project has", async () => {
  const { stdout } = await shell("node --test 'test/**/*.test.mts'", "node_modules/.bin:");
  expect(stdout).toMatch(/pass 2/);
  // A second Node there would come before the user's own in each script.
  expect(await readdir(join(dir, "node_modules/.bin"))).not.toContain("node");
  expect(await readdir(join(dir, "node_modules/hullrun/scripts"))).not.toContain("architecture.ts");
});

test("npx of the package alone makes a project elsewhere", async () => {
  // Without the programs that it does not need for this, workerd and esbuild, which take long to unpack.
  const made = await shell(
    "npm_config_omit=optional npm_config_ignore_scripts=true npx --yes ./hullrun-*.tgz init elsewhere/my-skills",
  );
  expect(made.stdout).toMatch(/Next:\n {2}cd \S+my-skills\n {2}npm install\n {2}npm start\n/);
  const { name, devDependencies } = JSON.parse(
    await readFile(join(dir, "elsewhere/my-skills/package.json"), "utf8"),
  );
  expect([name, Object.keys(devDependencies)]).toEqual(["my-skills", ["@types/node", "hullrun"]]);
  // There npx hull would run an unrelated package.
  const other = await shell("mkdir other; echo '{}' > other/package.json; npx hull init other");
  expect(other.stdout).toMatch(/\n {2}npm install --save-dev hullrun @types\/node\n {2}npx hull dev\n/);
});

test("a typed skill is built, with types that the compiler finds", async () => {
  await shell("node_modules/.bin/hull new Dice -l typed");
  expect((await shell("node_modules/.bin/hull build")).stdout).toMatch(/^Built \d+ skills? into/);
  await shell(
    `"${REPO}node_modules/.bin/tsc" --ignoreConfig --noEmit --strict --module preserve --target es2022 --types '' skills/dice/skill.ts`,
  );
  // The project's own settings, and the types that its package.json asks for.
  await shell(`"${REPO}node_modules/.bin/tsc" -p . --typeRoots "${REPO}node_modules/@types"`);
});

test("hullrun/client is in the package, with types that the compiler finds", async () => {
  const program =
    'import { Hull } from "hullrun/client";\nconst hull: Hull = new Hull({ url: "http://x" });\nconsole.log(typeof hull.run);\n';
  await writeFile(join(dir, "client.mts"), program);
  await shell(
    `"${REPO}node_modules/.bin/tsc" --ignoreConfig --noEmit --strict --module nodenext --target es2022 --lib es2022,dom,dom.iterable --types '' --skipLibCheck false client.mts`,
  );
  expect((await shell("node client.mts")).stdout).toBe("function\n");
});

test("S1, S113: its server answers the curl line of the documentation of llm skills; a failing call has its exit code", async () => {
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
    const missing = await shell(
      `node_modules/.bin/hull call helo --url http://localhost:${port}; echo exit $?`,
    );
    expect(missing.stdout).toMatch(/exit 3$/m);
    expect(missing.stderr).toContain("Did you mean hello?");
  } finally {
    server.kill("SIGTERM");
    await new Promise((resolve) => server.once("close", resolve));
    await fake.close();
  }
});
