import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Client, mockSkill } from "./served.ts";

const KEY = "hull-admin-canary-0123456789";
const local = new Client();

beforeAll(() => local.publish({ cat: mockSkill("cat") }));
afterEach(() => vi.restoreAllMocks());

const run = (client: Client, headers: Record<string, string> = {}, url = "/skills/cat") =>
  client.fetch(url, { method: "POST", body: "hi", headers: { "content-type": "text/plain", ...headers } });
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe("S72: a deployment", () => {
  it("refuses everything but health if it has no key, and says how to set one", async () => {
    const bare = new Client({});
    for (const path of ["/", "/skills", "/skills/cat", "/skills/none", "/nowhere", "/_hull/bundles"]) {
      const response = await bare.fetch(`https://hull.example${path}`);
      expect([path, response.status]).toEqual([path, 503]);
      expect(await response.json()).toMatchObject({ code: "auth_not_configured" });
    }
    expect((await bare.fetch("https://hull.example/healthz")).status).toBe(200);
  });

  it("requires exactly its key if it has one", async () => {
    const keyed = new Client({ HULL_ADMIN_KEY: KEY });
    const none = await run(keyed);
    expect(none.status).toBe(401);
    expect(none.headers.get("www-authenticate")).toBe("Bearer");
    expect((await run(keyed, bearer("wrong"))).status).toBe(401);
    expect((await run(keyed, bearer(KEY))).status).toBe(200);
    expect((await run(keyed, { "x-api-key": KEY })).status).toBe(200);
    expect((await keyed.fetch("https://hull.example/unknown")).status).toBe(401);
  });

  it("runs skills for everybody but publishes for nobody if it is declared public", async () => {
    const open = new Client({ HULL_PUBLIC: "1" });
    expect((await run(open)).status).toBe(200);
    expect((await open.fetch("/_hull/bundles")).status).toBe(503);
    const both = new Client({ HULL_PUBLIC: "1", HULL_ADMIN_KEY: KEY });
    expect((await run(both)).status).toBe(200);
    expect((await both.fetch("/_hull/bundles")).status).toBe(401);
    expect((await run(both, bearer("wrong"))).status).toBe(401);
  });
});

it.each([
  ["hull.example", 200],
  ["hull.example:8443", 200],
  ["evil.example", 403],
  // Only local dev has the names of the machine itself.
  ["localhost", 403],
  ["127.0.0.1:3000", 403],
])("attack: a deployment with names of its own, Host %s → %i", async (host, status) => {
  const named = new Client({ HULL_CONFIG: JSON.stringify({ allowed_hosts: ["hull.example"] }) });
  expect((await named.fetch("https://hull.example/healthz", { headers: { host } })).status).toBe(status);
});

describe("local dev", () => {
  it.each([
    ["localhost:3000", 200],
    ["127.0.0.1:3000", 200],
    ["[::1]:3000", 200],
    ["evil.example", 403],
    ["localhost.evil.example", 403],
  ])("S69: Host %s → %i", async (host, status) => {
    const response = await local.fetch(`http://${host}/healthz`, { headers: { host } });
    expect(response.status).toBe(status);
    if (status === 403) expect(await response.json()).toMatchObject({ code: "host_not_allowed" });
  });

  it.each([
    [{ "x-forwarded-for": "192.0.2.7" }, 503],
    [{ "x-forwarded-for": "127.0.0.1, 192.0.2.7" }, 503],
    [{ "x-forwarded-for": "127.0.0.1.evil.example" }, 503],
    [{ "x-real-ip": "2001:db8::1" }, 503],
    [{ forwarded: 'proto=https;for="[2001:db8::1]:4711"' }, 503],
    [{ forwarded: "for=_hidden" }, 503],
    // A development server of this machine that passes requests on.
    [{ "x-forwarded-for": "::1, ::ffff:127.0.0.1, 127.0.0.1:4711", "x-real-ip": "[::1]:4711" }, 200],
    [{ forwarded: 'for="[::1]", for=127.0.0.1;proto=http' }, 200],
  ])("attack: a tunnel that leads to this machine with %j → %i", async (headers, status) => {
    for (const path of ["/skills", "/admin/keys"]) {
      const response = await local.fetch(path, { headers });
      expect([path, response.status]).toEqual([path, status]);
      if (status === 503) expect(await response.json()).toMatchObject({ code: "auth_not_configured" });
    }
    const keyed = new Client({ HULL_ENV: "local", HULL_ADMIN_KEY: KEY });
    expect((await keyed.fetch("/admin/keys", { headers: { ...headers, ...bearer(KEY) } })).status).toBe(200);
    const open = new Client({ HULL_ENV: "local", HULL_PUBLIC: "1" });
    expect((await run(open, headers)).status).toBe(200);
    expect((await open.fetch("/admin/keys", { headers })).status).toBe(status);
  });

  it.each([
    ["evil.example", 403],
    ["192.168.7.9.evil.example", 403],
    ["10.1.2.3:3000", 403],
    ["192.168.7.9:3000", 200],
    ["[fd00::7]:3000", 200],
    ["localhost:3000", 200],
  ])("attack: Host %s on a reachable address → %i", async (host, status) => {
    const config = { loopback: false, allowed_hosts: ["192.168.7.9", "[fd00::7]"] };
    const reachable = new Client({
      HULL_ENV: "local",
      HULL_PUBLIC: "1",
      HULL_CONFIG: JSON.stringify(config),
    });
    const response = await reachable.fetch("http://localhost:3000/skills", { headers: { host } });
    expect(response.status).toBe(status);
  });

  it.each([
    [{ origin: "https://evil.example", authorization: "Basic x" }],
    [{ origin: "https://evil.example", authorization: "Bearer x" }],
    [{ "sec-fetch-site": "cross-site", authorization: "Bearer x" }],
    [{ "sec-fetch-site": "same-site" }],
    [{ "sec-fetch-site": "anything" }],
  ])("attack: another site's page with %j runs nothing", async (headers) => {
    for (const client of [local, new Client({ HULL_PUBLIC: "1" })]) {
      const response = await client.fetch("/skills/cat?q=x", { method: "POST", body: "hi", headers });
      const remedy = "origin" in headers ? "list it in cors_origins" : "Send an API key";
      const detail = expect.stringContaining(remedy);
      expect(await response.json()).toMatchObject({ status: 403, code: "origin_not_allowed", detail });
    }
    const own = await run(local, { "sec-fetch-site": "same-origin" });
    expect(own.status).toBe(200);
  });

  it.each([
    "/cdn-cgi/local/explorer/api/d1/database",
    "/cdn-cgi/explorer/api/d1/database",
    "/cdn-cgi/local/scheduled",
    "/cdn-cgi/mf/scheduled",
  ])("attack: %s does not exist, with or without a key", async (path) => {
    for (const client of [local, new Client({}), new Client({ HULL_ADMIN_KEY: KEY })]) {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        const response = await client.fetch(path, { method });
        expect([method, response.status]).toEqual([method, 404]);
      }
    }
  });

  it("S70: another site's page runs nothing", async () => {
    const evil = await run(local, { origin: "https://evil.example" });
    expect(evil.status).toBe(403);
    expect(await evil.json()).toMatchObject({ code: "origin_not_allowed" });
    expect((await run(local, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await run(local, { origin: "null" })).status).toBe(403);
    expect((await run(local, { origin: "http://localhost:3000" })).status).toBe(200);
    const listed = new Client({
      HULL_ENV: "local",
      HULL_CONFIG: JSON.stringify({ allowed_origins: ["https://evil.example"] }),
    });
    expect((await run(listed, { origin: "https://evil.example" })).status).toBe(200);
  });
});

describe("S118 in small: the log line", () => {
  it("is one JSON object per request with id, skill, status, usage, and no secret", async () => {
    const lines: string[] = [];
    vi.spyOn(console, "log").mockImplementation((line: string) => lines.push(line));
    const keyed = new Client({ HULL_ADMIN_KEY: KEY, OPENAI_API_KEY: "sk-canary-openai-1" });
    await run(keyed, { ...bearer(KEY), "x-request-id": "request-77" });
    await keyed.fetch(`/skills/${KEY}`, { headers: bearer(KEY) });
    expect(lines).toHaveLength(2);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      event: "request",
      request_id: "request-77",
      method: "POST",
      path: "/skills/cat",
      status: 200,
      skill: "cat",
      usage: { input_tokens: 2 },
    });
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ status: 404, code: "skill_not_found" });
    expect(lines.join("\n")).not.toContain("canary");
  });

  it("HULL_LOG=failures leaves out what succeeds", async () => {
    const lines: string[] = [];
    vi.spyOn(console, "log").mockImplementation((line: string) => lines.push(line));
    const quiet = new Client({ HULL_ENV: "local", HULL_LOG: "failures" });
    await quiet.fetch("/skills/cat");
    await quiet.fetch("/skills/none");
    expect(lines.map((line) => JSON.parse(line).code)).toEqual(["skill_not_found"]);
  });

  it("a secret in a path or an answer is redacted", async () => {
    const keyed = new Client({ HULL_ADMIN_KEY: KEY });
    const missing = await keyed.fetch(`/skills/${KEY}`, { headers: bearer(KEY) });
    expect(await missing.text()).not.toContain(KEY);
    const echoed = await keyed.fetch("/skills/cat", {
      method: "POST",
      body: `say ${KEY}`,
      headers: bearer(KEY),
    });
    expect(await echoed.text()).toContain("say [redacted]");
    const streamed = await keyed.fetch("/skills/cat?stream=1", {
      method: "POST",
      body: KEY,
      headers: bearer(KEY),
    });
    expect(await streamed.text()).not.toContain("canary");
  });

  it("text that could begin a secret stays in its place between reasoning and text", async () => {
    const keyed = new Client({ HULL_ADMIN_KEY: KEY });
    const begun = KEY.slice(0, 4);
    const streamed = await keyed.fetch("/llm/stream", {
      method: "POST",
      headers: { ...bearer(KEY), "content-type": "application/json" },
      body: JSON.stringify({ prompt: "x", options: { mock: [{ thinking: begun, text: `a ${begun}` }] } }),
    });
    const pieces = (await streamed.text()).matchAll(/event: (delta|thought)\n(?:id: .*\n)?data: (.*)/g);
    const told = [...pieces].map(([, name, data]) => [name, JSON.parse(data ?? "").text]);
    expect(told).toEqual([
      ["thought", begun],
      ["delta", "a "],
      ["delta", begun],
    ]);
  });
});
