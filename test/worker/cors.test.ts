import { beforeAll, describe, expect, it } from "vitest";
import documentation from "../../docs/http.md?raw";
import { Client, mockSkill } from "./served.ts";

const APP = "https://app.example";
const config = (more: object = {}) => ({ HULL_CONFIG: JSON.stringify({ cors_origins: [APP], ...more }) });
const keyed = new Client({ HULL_ADMIN_KEY: "hull-admin-canary-0123456789", ...config() });
const local = new Client({ HULL_ENV: "local", ...config() });

beforeAll(() => new Client().publish({ cat: mockSkill("cat") }));

/** Headers of any answer, and each `x-hull-*` that a row of a table in docs/http.md names. */
const EXPOSED = [
  ...Array.from(documentation.matchAll(/^\|.*`(x-hull-[a-z-]+)`[^|]*\|/gm), ([, name = ""]) => name),
  "x-request-id",
  "x-total-count",
  "server-timing",
  "retry-after",
  "etag",
  "link",
  "location",
  "content-disposition",
]
  .filter((name, at, all) => all.indexOf(name) === at)
  .sort();

const corsHeaders = (response: Response) =>
  [...response.headers.keys()].filter((name) => name.startsWith("access-control-"));

describe("S57: a preflight", () => {
  const preflight = (origin: string, path: string, method = "POST") =>
    keyed.fetch(path, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": method,
        "access-control-request-headers": "authorization,content-type",
      },
    });

  it.each([
    ["/skills/cat", "GET, HEAD, POST, OPTIONS"],
    ["/skills", "GET, HEAD, OPTIONS"],
    ["/admin/keys/key_x", "DELETE, OPTIONS"],
    ["/healthz", "GET, HEAD, OPTIONS"],
  ])("from a listed origin needs no key: %s", async (path, methods) => {
    const response = await preflight(APP, path);
    expect(response.status).toBe(204);
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({
      "access-control-allow-origin": APP,
      "access-control-allow-methods": methods,
      "access-control-allow-headers":
        "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, prefer, x-hull-bot, x-hull-mock-scope, x-request-id, mcp-protocol-version, mcp-method, mcp-name",
      "access-control-max-age": "7200",
      vary: "Origin",
    });
    expect(headers["access-control-expose-headers"]?.split(", ").sort()).toEqual(EXPOSED);
  });

  it("below /v1 permits the headers that the vendors' SDKs send, and no others", async () => {
    const asked = (path: string, names: string, origin = APP) =>
      keyed
        .fetch(path, {
          method: "OPTIONS",
          headers: {
            origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": names,
          },
        })
        .then(({ headers }) => headers.get("access-control-allow-headers")?.split(", ") ?? null);
    const sdk = [
      "anthropic-beta",
      "anthropic-dangerous-direct-browser-access",
      "anthropic-version",
      "openai-organization",
      "openai-project",
      "user-agent",
      "x-api-key",
      "x-stainless-retry-count",
    ];
    const names = ["authorization", ...sdk, "x-other", "x-hull-bot", "mf-loopback"].join(",");
    for (const path of ["/v1/messages", "/openai/v1/chat/completions"]) {
      const allowed = await asked(path, names);
      expect(allowed).toEqual([...((await asked("/skills/cat", names)) ?? []), ...sdk]);
      expect(await asked(path, names, "https://evil.example")).toBeNull();
    }
    const { headers } = await keyed.fetch("/v1/models", { headers: { origin: APP } });
    expect(headers.get("access-control-expose-headers")).toMatch(/(^|, )request-id(,|$)/);
  });

  it.each([
    "https://evil.example",
    "http://app.example",
    "https://app.example:8443",
    "null",
    "https://APP.example",
  ])("from %s has no CORS headers", async (origin) => {
    const response = await preflight(origin, "/skills/cat");
    expect([response.status, corsHeaders(response)]).toEqual([204, []]);
    expect(response.headers.get("vary")).toBe("Origin");
  });
});

describe("answers", () => {
  it("carry the origin, failures too; the key is still needed", async () => {
    for (const [headers, status] of [
      [{ origin: APP }, 401],
      [{ origin: APP, authorization: "Bearer hull-admin-canary-0123456789" }, 200],
    ] as const) {
      const response = await keyed.fetch("/skills/cat", { method: "POST", body: "hi", headers });
      expect(response.status).toBe(status);
      expect(response.headers.get("access-control-allow-origin")).toBe(APP);
      expect(response.headers.has("access-control-max-age")).toBe(false);
    }
  });

  it("a listed origin's page may run skills in local dev, streamed too; another may not", async () => {
    const run = (origin: string) =>
      local.fetch("/skills/cat?stream=1", { method: "POST", body: "hi", headers: { origin } });
    const allowed = await run(APP);
    expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([200, APP]);
    const evil = await run("https://evil.example");
    expect([evil.status, corsHeaders(evil)]).toEqual([403, []]);
  });

  it("without cors_origins there are no CORS headers", async () => {
    const response = await new Client().fetch("/healthz", { headers: { origin: APP } });
    expect([corsHeaders(response), response.headers.get("vary")]).toEqual([[], null]);
  });
});
