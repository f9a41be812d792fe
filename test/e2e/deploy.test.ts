/**
 * `hull deploy`: the dry run with the real wrangler; the whole sequence with a stand-in for it that has an empty
 * account, whose state the real wrangler fills and a real Worker then serves.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { type LocalWorker, startWorker } from "../../scripts/dev/worker.ts";
import { workerFolder } from "../../scripts/dev/worker-bundle.ts";
import { json, REPO, runHull } from "../support/hull-dev.ts";
import { SERVERS } from "../support/memory.ts";

/** The stand-in for wrangler, as the run bundled it if it did: to strip its types takes longer than all that it does. */
const { HULL_CLI_BUNDLE } = process.env;
const FAKE_WRANGLER =
  HULL_CLI_BUNDLE === undefined
    ? join(REPO, "test/support/fake-wrangler.ts")
    : join(dirname(HULL_CLI_BUNDLE), "fake-wrangler.mjs");
const KEY = "deploy-admin-key-of-the-test";
const page = (word: string): string => `---\nname: Page\ndescription: d\nserve: page.txt\n---\n${word}\n`;

/** A project folder of its own. */
async function project(files: Record<string, string | Uint8Array>): Promise<string> {
  const dir = await mkdtemp(join(SERVERS, "hull-deploy-test-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) await put(dir, path, content);
  return dir;
}

async function put(dir: string, path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(join(dir, path)), { recursive: true });
  await writeFile(join(dir, path), content);
}

const SKILLS = {
  "skills/page/SKILL.md": page("one"),
  "skills/page/page.txt": "one",
};

test("--dry-run builds with the real wrangler, and prints what a deploy would do", async () => {
  const dir = await project({
    ...SKILLS,
    "hull.toml":
      'name = "Kitchen"\nrate_limit = "7/10s"\nauth = "none"\ndomain = "kitchen.example.com"\n[runner]\nqueue = 3\ndrain_ms = 9\n',
  });
  const { code, output } = await runHull(["deploy", "--dry-run"], { cwd: dir, process: true });
  expect(output).toContain("--dry-run: exiting now.");
  expect(output).toMatch(/KV kitchen-skills, D1 kitchen, R2 kitchen-files/);
  expect(output).toMatch(/wrangler deploy --config \S+kitchen\/wrangler\.json\n/);
  expect(code).toBe(0);
  const config = JSON.parse(await readFile(join(dir, ".hull/deploy/kitchen/wrangler.json"), "utf8"));
  expect(config).toMatchObject({
    name: "kitchen",
    main: join(dir, ".hull/deploy/kitchen/worker/worker.js"),
    no_bundle: true,
    compatibility_flags: expect.arrayContaining(["new_module_registry"]),
    routes: [{ pattern: "kitchen.example.com", custom_domain: true }],
    workers_dev: false,
  });
  // Hull has bundled already, into the project's own folder.
  expect(config).not.toHaveProperty("build");
  expect(output).toMatch(/Total \(\d+ modules\)/);
  expect(config.containers).toHaveLength(1);
  expect(config.vars.HULL_RUNNER_FLAGS).toBe(
    "--queue 3 --queue-timeout-ms 10000 --grace-ms 2000 --drain-ms 9 --install-ms 180000",
  );
  expect(config.vars.HULL_CATALOG).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.parse(config.vars.HULL_CONFIG)).toMatchObject({
    name: "Kitchen",
    auth: "none",
    rate_limit: { requests: 7, window_s: 10 },
  });
  expect(output).not.toContain("was deployed as");
  // More than a variable holds, for which origins of many bytes are enough.
  const origins = Array.from({ length: 300 }, (_, i) => `https://küche-${i}.example`);
  const long = `name = "Pantry"\nauth = "none"\nhost_delegate = {binding = "HOST"}\nallowed_hosts = ${JSON.stringify(origins.map((origin) => new URL(origin).host))}\n`;
  await writeFile(join(dir, "hull.toml"), long);
  // The test needs no wrangler to see where the name leads, so any program does.
  await writeFile(join(dir, "wrangler.mjs"), "");
  const renamed = await runHull(["deploy", "--dry-run"], {
    cwd: dir,
    env: { HULL_WRANGLER: join(dir, "wrangler.mjs") },
  });
  expect(renamed.output).toContain("This project was deployed as kitchen before. pantry is another Worker");
  expect(renamed.output).toContain("--worker kitchen");
  expect(renamed.output).toContain("host_delegate.binding names HOST, which the Worker does not have.");
  const { vars } = JSON.parse(await readFile(join(dir, ".hull/deploy/pantry/wrangler.json"), "utf8"));
  const count = Number(/^parts:(\d+)$/.exec(vars.HULL_CONFIG)?.[1]);
  const parts = Array.from({ length: count }, (_, i) => vars[`HULL_CONFIG_${i + 1}`]);
  expect(Math.max(...parts.map((part) => Buffer.byteLength(part)))).toBeLessThanOrEqual(5000);
  expect(JSON.parse(parts.join(""))).toMatchObject({ auth: "none", allowed_hosts: { length: 300 } });
  // Another Worker is wrangler's to bundle, in the folder of its file.
  const own = (await readFile(join(REPO, "wrangler.toml"), "utf8")).replace(
    "dist/worker.js",
    "own/worker.js",
  );
  await put(dir, "deployment/wrangler.toml", `${own}\n[[services]]\nbinding = "HOST"\nservice = "host"\n`);
  const bound = await runHull(["deploy", "--dry-run", "--config", "deployment/wrangler.toml"], {
    cwd: dir,
    env: { HULL_WRANGLER: join(dir, "wrangler.mjs") },
  });
  expect(bound.output).not.toContain("host_delegate.binding");
  expect(JSON.parse(await readFile(join(dir, ".hull/deploy/hull/wrangler.json"), "utf8"))).toMatchObject({
    main: join(dir, "deployment/own/worker.js"),
    build: { command: "node bin/hull.mjs bundle", cwd: join(dir, "deployment") },
  });
});

/** A Cloudflare account in a folder, and a server that runs the Worker which was deployed to it. */
class Account {
  readonly root: string;
  readonly #cloud = createServer((request, response) => {
    text(request)
      .then((body) => this.#deploy(JSON.parse(body)))
      .then((url) => response.end(url))
      .catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  #worker: LocalWorker | null = null;
  /** For each deployment: what /healthz of the previous and of the new Worker answered. */
  readonly states: { before: unknown; after: unknown }[] = [];

  private constructor(root: string) {
    this.root = root;
  }

  static async open(): Promise<Account> {
    const account = new Account(await mkdtemp(join(SERVERS, "hull-deploy-account-")));
    await new Promise<void>((resolve) => account.#cloud.listen(0, "127.0.0.1", resolve));
    onTestFinished(async () => {
      account.#cloud.close();
      await account.#worker?.stop();
      await rm(account.root, { recursive: true, force: true });
    });
    return account;
  }

  get url(): string {
    return this.#worker?.url ?? "";
  }

  /** The calls of wrangler since the last time, without the configuration file. */
  async calls(): Promise<string[]> {
    const file = join(this.root, "calls");
    const lines = (await readFile(file, "utf8")).trim().split("\n");
    await rm(file);
    return lines.map((line) => line.replace(/ --config \S+/, "").replace(/ \/\S+/g, " FILE"));
  }

  deploy(cwd: string, args: string[] = [], env: Record<string, string> = {}) {
    const address = this.#cloud.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const fake = {
      HULL_WRANGLER: FAKE_WRANGLER,
      FAKE_DIR: this.root,
      FAKE_CLOUD: `http://127.0.0.1:${port}`,
    };
    return runHull(["deploy", ...args], { cwd, env: { ...fake, ...env } });
  }

  /** Replaces the Worker by one with these variables, over the state that wrangler has filled. */
  async #deploy(config: { vars: Record<string, string> }): Promise<string> {
    const health = async (): Promise<unknown> =>
      this.#worker === null ? null : (await fetch(`${this.#worker.url}/healthz`)).json();
    const before = await health();
    await this.#worker?.stop();
    this.#worker = await startWorker({
      repoDir: REPO,
      stateDir: join(this.root, "state"),
      host: "127.0.0.1",
      port: 0,
      bundle: await workerFolder(join(this.root, "bundle")),
      variables: new Map(Object.entries({ ...config.vars, HULL_ADMIN_KEY: KEY })),
      onLine: () => {},
    });
    this.states.push({ before, after: await health() });
    return this.#worker.url;
  }
}

const headers = { authorization: `Bearer ${KEY}` };

test("S114: from an empty account to a skill that answers, and to further deployments: code and catalog switch together", async () => {
  const account = await Account.open();
  const large = new Uint8Array(24 * 1024 * 1024 + 1).fill(120);
  const dir = await project({
    ...SKILLS,
    "skills/large/SKILL.md": page("l").replace("Page", "Large").replace("page.txt", "l.bin"),
    "skills/large/l.bin": large,
    "hull.toml": 'name = "Kitchen"\nrate_limit = "8/60s"\nallowed_hosts = ["127.0.0.1"]\n',
  });
  const get = (path: string, url = account.url) => fetch(url + path, { headers });
  const said = async (path: string): Promise<string> => (await get(path)).text();

  const made = await account.deploy(dir, ["--worker", "hull"]);
  expect(made).toMatchObject({ code: 0, output: expect.stringContaining(`It answers at ${account.url}`) });
  expect(made.output).toContain("wrangler secret put HULL_ADMIN_KEY --name hull");
  expect(await account.calls()).toEqual([
    "whoami --json",
    "kv key list --binding SKILLS --remote",
    "kv namespace list",
    "kv namespace create hull-skills",
    "kv namespace list",
    "kv key list --namespace-id kv-id-1 --remote",
    "d1 info hull --json",
    "d1 create hull",
    "r2 bucket info hull-files --json",
    "r2 bucket create hull-files",
    "d1 migrations apply hull --remote",
    expect.stringMatching(/^r2 object put hull-files\/blob:[0-9a-f]{64} --file FILE --remote$/),
    "kv bulk put FILE --namespace-id kv-id-1 --remote",
    "deploy",
    "secret list --format json",
  ]);
  const [{ after: served } = { after: null }] = account.states;
  expect(served).toMatchObject({ skills: 2, catalog: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(await said("/skills/page")).toBe("one");
  expect((await (await get("/skills/large")).bytes()).length).toBe(large.length);
  expect(await json(await get("/", account.url.replace("127.0.0.1", "localhost")))).toMatchObject({
    code: "host_not_allowed",
  });
  expect(await said("/")).toContain("Kitchen");

  await put(dir, "skills/page/page.txt", "two");
  const remote = ["--url", account.url, "--key", KEY];
  await runHull(["publish", dir, ...remote], { cwd: dir });
  expect(await said("/skills/page")).toBe("two");
  await runHull(["publish", "--rollback", ...remote], { cwd: dir });
  expect(await said("/skills/page")).toBe("one");
  await put(dir, "bare/hull.toml", 'name = "bare"\n');
  await mkdir(join(dir, "bare", "skills"));
  const bare = ["publish", join(dir, "bare"), ...remote];
  expect(await runHull(bare, { cwd: dir })).toMatchObject({
    code: 1,
    output: expect.stringContaining(`would remove all skills of ${account.url}.`),
  });
  expect(await said("/skills/page")).toBe("one");
  expect(await runHull([...bare, "--empty"], { cwd: dir })).toMatchObject({ code: 0 });
  expect((await get("/skills/page")).status).toBe(404);
  await runHull(["publish", "--rollback", ...remote], { cwd: dir });
  expect(await said("/skills/page")).toBe("one");
  const rates = await Promise.all(Array.from({ length: 9 }, async () => (await get("/skills/page")).status));
  expect(rates.filter((status) => status === 429).length).toBeGreaterThan(0);

  await put(dir, "skills/page/page.txt", "three");
  await put(dir, "hull.toml", 'name = "hull"\npublic_skills = ["gone"]\n');
  const { code, output } = await account.deploy(dir);
  expect(code).toBe(0);
  expect(output).toContain("public_skills: No skill has the slug gone.");
  expect(output).toContain("(4 objects sent)");
  expect((await account.calls()).filter((call) => call.includes("create"))).toEqual([]);
  expect(account.states[1]?.before).toEqual(served);
  expect(await said("/skills/page")).toBe("three");

  await put(dir, "skills/page/SKILL.md", "broken");
  await put(dir, "skills/new/SKILL.md", "broken");
  const nowhere = await account.deploy(dir, ["--keep-going", "--url", "http://127.0.0.1:9"], {
    FAKE_FAIL: "whoami",
  });
  expect(nowhere.output).toMatch(/Broken skills are left out: .*http:\/\/127.0.0.1:9 cannot be reached/);
  const kept = await account.deploy(dir, ["--keep-going", "--url", account.url, "--key", KEY]);
  expect(kept.output).toContain("page stays as it was published before");
  expect(kept.code).toBe(0);
  const stale = await get("/skills/page");
  expect([stale.headers.get("x-hull-stale"), await stale.text()]).toEqual(["1", "three"]);
  const back = await runHull(["publish", "--rollback", "--url", account.url, "--key", KEY], { cwd: dir });
  expect(back).toMatchObject({
    code: 2,
    output: expect.stringContaining("no earlier catalog to go back to"),
  });
}, 600_000);

test.each([
  ["whoami", { FAKE_ACCOUNTS: "0" }, 5, /not logged in.*npx wrangler login/s],
  ["whoami", { FAKE_ACCOUNTS: "2" }, 2, /id0 {2}A0\n {2}id1 {2}A1.*CLOUDFLARE_ACCOUNT_ID/s],
  ["kv namespace create", {}, 1, /KV namespace hull-skills could not.*Workers KV Storage: Edit/s],
  ["r2 bucket create", {}, 1, /R2 bucket hull-files could not.*request to the Cloudflare API.*Activate R2/s],
  ["d1 migrations", {}, 1, /could not migrate.*run `hull deploy` again/s],
  ["kv bulk", {}, 1, /could not be stored.*continues from there/s],
  ["deploy", {}, 1, /could not deploy.*--no-containers/s],
])(
  "a failing %s reports the failure and the remedy, and deploys nothing (%o)",
  async (step, env, exit, words) => {
    const account = await Account.open();
    const dir = await project({ ...SKILLS, "hull.toml": 'name = "hull"\n' });
    const failed = await account.deploy(dir, [], { FAKE_FAIL: exit === 1 ? step : "", ...env });
    expect(failed.code).toBe(exit);
    expect(failed.output).toMatch(words);
    expect(account.states).toEqual([]);
    expect((await account.calls()).at(-1)).toMatch(new RegExp(`^${step}`));
  },
);

test("a missing name and errors in skills stop a deployment before any request", async () => {
  const account = await Account.open();
  const dir = await project({
    ...SKILLS,
    "skills/bad/SKILL.md": page("x").replace("serve", "mode: lmm\nserve"),
  });
  const nameless = await account.deploy(dir);
  expect(nameless).toMatchObject({
    code: 2,
    output: expect.stringMatching(/at its top: name = "hull-deploy-/),
  });
  await put(dir, "hull.toml", 'name = "Kitchen"\n');
  const { code, output } = await account.deploy(dir);
  expect(code).toBe(1);
  expect(output).toContain("Nothing was deployed");
  await expect(account.calls()).rejects.toThrow("ENOENT");
});
