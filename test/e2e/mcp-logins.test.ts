/** Logins at MCP servers that want OAuth, with `hull dev` and an authorization server with rotating tokens (docs/mcp.md). */
import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type FakeProvider, startFakeProvider } from "../support/fake-provider.ts";
import { type HullDev, hullScript, json, REPO, runHull, startHullDev } from "../support/hull-dev.ts";
import { CLIENT, type OAuthServer, PKCE, startOAuthServer } from "../support/oauth-server.ts";
import { until } from "../support/runner.ts";
import { killWorker } from "../support/shared.ts";

let fake: FakeProvider;
let crm: OAuthServer;
let hull: HullDev;
const ADMIN = "operator-key-of-this-test";
const settings = () => ({
  args: ["--direct"],
  env: {
    OPENAI_API_KEY: "sk-openai-e2e-key",
    OPENAI_BASE_URL: `${fake.url}/v1`,
    HULL_ADMIN_KEY: ADMIN,
    MACHINE_SECRET: CLIENT.secret,
  },
});
beforeAll(async () => {
  fake = await startFakeProvider();
  crm = await startOAuthServer();
  hull = await startHullDev({
    ...settings(),
    skills: {
      "sales/SKILL.md":
        "---\nname: sales\ndescription: d\nmode: llm\nprovider: openai\nmodel: gpt-4o\nmcp: crm\n---\nSell.\n",
    },
    project: {
      "hull.toml": [
        "[mcp]\nallow_loopback = true\n",
        `[mcp.servers.crm]\nurl = "${crm.url}/mcp"\n`,
        `[mcp.servers.machine]\nurl = "${crm.url}/mcp"\n`,
        `[mcp.servers.machine.oauth]\ngrant = "client_credentials"\nclient_id = "${CLIENT.id}"\n`,
        `client_secret = "\${MACHINE_SECRET}"\nissuer = "${crm.url}/tenant"\nscope = "tools:read"\n`,
      ].join(""),
    },
  });
});
afterAll(async () => {
  await hull?.stop();
  await crm?.close();
  await fake?.close();
});
beforeEach(() => {
  crm.asked.length = 0;
  crm.bearers.length = 0;
  crm.lifetime = 3600;
  crm.metadata = {};
  crm.resourceMetadata = {};
  crm.answer = {};
  crm.held = null;
});

const asOperator = { authorization: `Bearer ${ADMIN}` };
const command = (...args: string[]) =>
  runHull(["mcp", ...args, "--url", hull.url], { cwd: hull.root, env: { HULL_ADMIN_KEY: ADMIN } });

/** Runs a model that calls the tool once. @returns what it read, if it had the tool, and the warnings */
async function call(server = "crm"): Promise<{ told: string; warnings: string }> {
  fake.requests.length = 0;
  fake.script([{ tool_calls: [{ name: `${server}__find`, arguments: { name: "Ada" } }] }, { text: "Done." }]);
  const { status, warnings } = await json(
    await hull.post(
      "/runs",
      { prompt: "go", options: { provider: "openai", model: "gpt-4o", mcp_servers: [server] } },
      asOperator,
    ),
  );
  expect(status).toBe("done");
  return {
    told: JSON.stringify(fake.requests.at(-1)?.body.messages.at(-1)),
    warnings: JSON.stringify(warnings ?? []),
  };
}

/** Logs in as a person does: with the command as a process, and a browser that follows redirects. */
async function login(): Promise<{ code: number | null; output: string; page: string }> {
  const child = spawn(
    process.execPath,
    [hullScript(REPO), "mcp", "login", "crm", "--no-browser", "--url", hull.url],
    {
      cwd: hull.root,
      env: { PATH: process.env.PATH, HULL_ADMIN_KEY: ADMIN },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const done = ended.then(() => "");
  const address = await Promise.race([
    done,
    until(
      () => /^http\S+$/m.exec(output)?.[0],
      (found) => found !== undefined,
    ),
  ]);
  const page = address === undefined || address === "" ? "" : await (await fetch(address)).text();
  return { code: await ended, output, page };
}

/** Logs in, unless an earlier test has done so. */
async function loggedIn(): Promise<void> {
  if ((await entry())?.login === "stored") return;
  expect(await login()).toMatchObject({ code: 0 });
  crm.asked.length = 0;
}

const entry = async (name = "crm") => {
  const { output } = await command("list", "--json");
  const { data }: { data: { name: string; login: string }[] } = JSON.parse(output);
  return data.find((server) => server.name === name);
};

test("without a login the run goes on, and says which command helps", async () => {
  const { warnings } = await call();
  expect(warnings).toContain("hull mcp login crm");
  expect(await entry()).toMatchObject({ login: "none", needs_login: true, failure: "It wants a login." });
  expect((await command("list")).output).toMatch(/crm +http\S+ +needed/);
});

test("a person logs in once; the model's calls bring the token, which nobody reads", async () => {
  const { code, output, page } = await login();
  expect({ code, output, page }).toMatchObject({
    code: 0,
    page: expect.stringContaining("You can close this page"),
  });
  expect(Object.fromEntries(crm.authorized)).toMatchObject({
    response_type: "code",
    code_challenge_method: PKCE,
    resource: `${crm.url}/mcp`,
    scope: "tools:read offline_access",
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
  });
  expect((await call()).told).toContain("found Ada with [redacted]");
  expect(await entry()).toMatchObject({
    login: "stored",
    needs_login: false,
    renewable: true,
    failure: null,
  });
});

/** Runs that need the list of tools, all at once. */
const manyRuns = async (count: number): Promise<string[]> => {
  fake.script(Array.from({ length: count }, () => ({ text: "Done." })));
  const options = { provider: "openai", model: "gpt-4o", mcp_servers: ["crm"] };
  const runs = Array.from({ length: count }, async () => {
    const { warnings } = await json(await hull.post("/runs", { prompt: "go", options }, asOperator));
    return JSON.stringify(warnings ?? []);
  });
  return Promise.all(runs);
};

test("when the access token has ended, one of many runs renews it, and no refresh token comes twice", async () => {
  await killWorker(hull);
  crm.expire();
  expect(await manyRuns(8)).toEqual(Array.from({ length: 8 }, () => "[]"));
  expect(crm.asked).toEqual(["refresh_token"]);
  expect((await call()).told).toContain("found Ada");
});

test("a token is renewed before it ends, and the login survives a restart", async () => {
  crm.lifetime = 2;
  crm.expire();
  expect((await call()).told).toContain("found Ada");
  await hull.end("SIGTERM");
  hull = await startHullDev({ ...settings(), from: hull });
  crm.asked.length = 0;
  crm.bearers.length = 0;
  crm.lifetime = 3600;
  expect((await call()).told).toContain("found Ada");
  expect(crm.asked).toEqual(["refresh_token"]);
  // The server never saw a token that had ended.
  expect(new Set(crm.bearers).size).toBe(1);
});

test("a Worker killed in the middle of a renewal leaves the login usable", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  crm.held = promise;
  await killWorker(hull);
  crm.expire();
  const lost = manyRuns(1).catch(() => []);
  await until(
    () => crm.asked,
    (asked) => asked.includes("refresh_token"),
  );
  await killWorker(hull);
  await lost;
  resolve();
  crm.held = null;
  // The next isolate may renew the login when the killed one has had its time.
  await until(
    () => manyRuns(1),
    ([warnings]) => warnings === "[]",
  );
  expect(crm.asked).not.toContain("reuse");
}, 120_000);

test("when the login has ended for good, the call says what to do, and so do list, readyz and the log", async () => {
  crm.revokeAll();
  const { told, warnings } = await call();
  expect(told + warnings).toContain("The operator runs: hull mcp login crm");
  expect(await entry()).toMatchObject({
    needs_login: true,
    failure: expect.stringContaining("invalid_grant"),
  });
  expect((await command("list")).output).toMatch(/crm +http\S+ +lost +\d{4}-/);
  await hull.printed(/mcp_login_lost/);
  expect(await json(await hull.call("/readyz"))).toMatchObject({ status: "ok", mcp: "mcp_login_needed" });
  expect(await login()).toMatchObject({ code: 0 });
  expect((await call()).told).toContain("found Ada");
  expect(await json(await hull.call("/readyz"))).toMatchObject({ mcp: "ok" });
});

test.each<[string, () => void, RegExp]>([
  ["an answer of another issuer", () => (crm.answer = { iss: "https://evil.example" }), /unexpected "iss"/],
  ["an answer without issuer", () => (crm.answer = { iss: "" }), /"iss"/],
  ["metadata of another issuer", () => (crm.metadata = { issuer: "https://evil.example" }), /does not match/],
  ["no PKCE", () => (crm.metadata = { code_challenge_methods_supported: ["plain"] }), /supports PKCE/],
  [
    "a resource of another host",
    () => (crm.resourceMetadata = { resource: "https://evil.example/mcp" }),
    /another server/,
  ],
  [
    "a token endpoint by http",
    () => (crm.metadata = { token_endpoint: "http://auth.example/token" }),
    /by https only/,
  ],
  [
    "a private token endpoint",
    () => (crm.metadata = { token_endpoint: "https://10.0.0.7/token" }),
    /private address/,
  ],
  ["a denial", () => (crm.answer = { error: "access_denied" }), /access_denied/],
])("attack: a login is refused for %s, and the earlier one stays", async (_, change, why) => {
  await loggedIn();
  change();
  const { code, output } = await login();
  expect(code).toBe(1);
  expect(output).toMatch(why);
  expect(crm.asked).toEqual([]);
  expect(await entry()).toMatchObject({ login: "stored", needs_login: false });
});

test("client credentials need no login", async () => {
  expect((await call("machine")).told).toContain("found Ada with [redacted]");
  expect(crm.asked).toEqual(["client_credentials"]);
  expect(await entry("machine")).toMatchObject({ login: "client_credentials", needs_login: false });
});

test("attack: only the operator logs in and out; a callback with another state is none", async () => {
  const made = await json<{ key: string }>(
    await hull.post("/admin/keys", { tenant: "acme", scopes: ["admin"] }, asOperator),
  );
  const asTenant = { authorization: `Bearer ${made.key}` };
  const redirect_uri = "http://127.0.0.1:1/callback";
  expect((await hull.post("/admin/mcp/crm/login", { redirect_uri }, asTenant)).status).toBe(403);
  expect(
    (await hull.call("/admin/mcp/crm/login", undefined, { method: "DELETE", headers: asTenant })).status,
  ).toBe(403);
  const away = { redirect_uri: "https://evil.example/callback" };
  expect((await hull.post("/admin/mcp/crm/login", away, asOperator)).status).toBe(422);
});

test("attack: no token, code or secret is in the log, in an answer, in the state or in what the model reads", async () => {
  await loggedIn();
  await killWorker(hull);
  crm.expire();
  expect((await call()).told).toContain("found Ada");
  expect((await call("machine")).told).toContain("found Ada");
  expect(crm.asked).toEqual(["refresh_token", "client_credentials"]);
  const traces = await (await hull.call("/runs?limit=100", undefined, { headers: asOperator })).text();
  const texts = [
    hull.output(),
    traces,
    (await command("list", "--json")).output,
    JSON.stringify(fake.requests),
  ];
  for (const file of await readdir(hull.stateDir, { recursive: true, withFileTypes: true })) {
    if (file.isFile()) texts.push((await readFile(join(file.parentPath, file.name))).toString("latin1"));
  }
  const secrets = [...crm.issued, CLIENT.secret];
  expect(secrets.length).toBeGreaterThan(5);
  for (const secret of secrets) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
});

test("logout revokes the login", async () => {
  expect((await command("logout", "crm")).code).toBe(0);
  expect(crm.asked).toEqual(["revoke"]);
  expect(await entry()).toMatchObject({ login: "none" });
});
