/** Logins at servers of hull.toml: while D1, which has them, is away; where tokens go; and who renews them. */
import { beforeEach, expect, it, vi } from "vitest";
import {
  failLogin,
  noteRefusal,
  readLogin,
  removeLogin,
  renewLogin,
  storeLogin,
  takeLease,
} from "../../src/registry/mcp-logins.ts";
import { withFaults } from "./faulty-storage.ts";
import { Client } from "./served.ts";

const SERVER = "https://mcp.example/mcp";
/** Redirects to the other one. */
const MOVED = "https://moved.example/mcp";
const SECRET = "CRM_SECRET";
const oauth = {
  grant: "client_credentials",
  client_id: "hull",
  client_secret: `\${${SECRET}}`,
  issuer: "https://auth.example",
};
const hull = new Client({
  HULL_ENV: "local",
  [SECRET]: "a-secret-of-this-test",
  HULL_SECRET_KEY: "s".repeat(32),
  HULL_LLM: '{"llm":{"mock_routes":true,"aliases":{"mocked":{"id":"m","provider":"mock"}}}}',
  HULL_CONFIG: JSON.stringify({
    mcp: {
      allowed_hosts: ["mcp.example", "moved.example"],
      servers: { crm: { url: SERVER }, machine: { url: SERVER, oauth }, moved: { url: MOVED, oauth } },
    },
  }),
});

const TOKENS = { access_token: "a-token-of-this-test", token_type: "Bearer", expires_in: 3600 };
const ISSUER = {
  issuer: oauth.issuer,
  token_endpoint: `${oauth.issuer}/token`,
};
/** The tokens with which the server was asked. */
const bearers: (string | null)[] = [];
/** Whether the server wants a token. */
let closed = false;

beforeEach(() => {
  bearers.length = 0;
  closed = false;
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    const { hostname, pathname } = new URL(request.url);
    if (hostname === "auth.example")
      return pathname === "/token"
        ? Response.json(TOKENS)
        : pathname === "/.well-known/oauth-authorization-server"
          ? Response.json(ISSUER)
          : new Response(null, { status: 404 });
    if (pathname !== "/mcp") return new Response(null, { status: 404 });
    const bearer = request.headers.get("authorization");
    bearers.push(bearer);
    if (hostname === "moved.example")
      return new Response(null, { status: 307, headers: { location: SERVER } });
    if (closed && bearer === null) return new Response(null, { status: 401 });
    const { id, method }: { id?: number; method: string } = await request.json();
    if (id === undefined) return new Response(null, { status: 202 });
    const result =
      method === "initialize"
        ? {
            protocolVersion: "2025-06-18",
            capabilities: { tools: {} },
            serverInfo: { name: "crm", version: "1" },
          }
        : { tools: [{ name: "find", inputSchema: { type: "object" } }] };
    return method === "initialize" || method === "tools/list"
      ? Response.json({ jsonrpc: "2.0", id, result })
      : Response.json({ jsonrpc: "2.0", id, error: { code: -32601, message: "unknown" } });
  });
  return () => vi.unstubAllGlobals();
});

/** A run with the server while no statement about logins succeeds. */
async function run(server: string): Promise<{ status: unknown; warnings: string; faults: number }> {
  await hull.post("/llm/mocks", [{ text: "Done." }]);
  const fault = { binding: "DB", method: "prepare", of: "mcp_logins" } as const;
  const options = { model: "mocked", mcp_servers: [server] };
  const asked = () => hull.post("/runs", { prompt: "go", options });
  const { answer, faults } = await withFaults(hull.env, fault, 1000, asked);
  const { status, warnings }: { status?: unknown; warnings?: unknown } = await answer.json();
  return { status, warnings: JSON.stringify(warnings ?? []), faults };
}

it("a server that wants a login fails alone, and says that Hull cannot read it", async () => {
  closed = true;
  const { status, warnings, faults } = await run("crm");
  expect({ status, faults: faults > 0 }).toEqual({ status: "done", faults: true });
  expect(warnings).toContain("Hull cannot read its login");
});

it("a server without login serves the run", async () => {
  const { status, warnings, faults } = await run("crm");
  expect({ status, warnings, faults: faults > 0 }).toEqual({ status: "done", warnings: "[]", faults: true });
  expect(new Set(bearers)).toEqual(new Set([null]));
});

it("client credentials, which D1 does not have, serve the run", async () => {
  const { status, warnings } = await run("machine");
  expect({ status, warnings }).toEqual({ status: "done", warnings: "[]" });
  // The first request asks without token who gives one.
  const [first, ...further] = bearers;
  expect([first, new Set(further)]).toEqual([null, new Set([`Bearer ${TOKENS.access_token}`])]);
});

it("attack: a server that redirects to another one does not hand its token on", async () => {
  const { status, warnings } = await run("moved");
  expect({ status, warnings }).toEqual({ status: "done", warnings: "[]" });
  // The first request asks without token who gives one; then each one is redirected.
  const [first, ...further] = bearers;
  const sent = further.filter((_, n) => n % 2 === 0);
  const handedOn = further.filter((_, n) => n % 2 === 1);
  expect([first, new Set(sent), new Set(handedOn)]).toEqual([
    null,
    new Set([`Bearer ${TOKENS.access_token}`]),
    new Set([null]),
  ]);
});

it("tokens that come after another isolate has given the login up make it work again", async () => {
  const at = { server: "late", url: SERVER };
  const tokens = { sealed: "before", expires_at: null, renewable: true };
  await storeLogin(hull.env, at, tokens);
  expect(await takeLease(hull.env, at.server, tokens.sealed)).toBe(true);
  expect(await takeLease(hull.env, at.server, tokens.sealed)).toBe(false);
  await failLogin(hull.env, at.server, tokens.sealed, { failure: "invalid_grant", lost: true });
  expect(await takeLease(hull.env, at.server, tokens.sealed)).toBe(false);
  await renewLogin(hull.env, at.server, tokens.sealed, { ...tokens, sealed: "after" });
  expect(await readLogin(hull.env, at)).toMatchObject({ sealed: "after", lost: false, failure: null });
  expect(await takeLease(hull.env, at.server, tokens.sealed)).toBe(false);
  expect(await takeLease(hull.env, at.server, "after")).toBe(true);
});

it("a login keeps its place when a request without it is refused, and holds for its own address alone", async () => {
  const at = { server: "kept", url: SERVER };
  await storeLogin(hull.env, at, { sealed: "tokens", expires_at: null, renewable: false });
  await noteRefusal(hull.env, at, "It wants a login.");
  expect(await readLogin(hull.env, at)).toMatchObject({ sealed: "tokens", failure: null });
  expect(await readLogin(hull.env, { ...at, url: "https://other.example/mcp" })).toBe(null);
  await removeLogin(hull.env, at.server);
  expect(await readLogin(hull.env, at)).toBe(null);
});

it("an administrator of a tenant sees the servers of that tenant alone, and logs in at none", async () => {
  const admin = "operator-key-of-this-test-of-logins";
  const keyed = new Client({
    HULL_ADMIN_KEY: admin,
    HULL_SECRET_KEY: "s".repeat(32),
    HULL_CONFIG: JSON.stringify({
      mcp: {
        allowed_hosts: ["mcp.example"],
        servers: {
          all: { url: SERVER },
          acme: { url: SERVER, tenants: ["acme"] },
          other: { url: SERVER, tenants: ["other"] },
        },
      },
    }),
  });
  const as = (key: string, path: string, body?: object) =>
    keyed.fetch(path, {
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
  const made = await as(admin, "/admin/keys", { tenant: "acme", scopes: ["admin"] });
  const { key }: { key: string } = await made.json();
  const named = async (by: string) => {
    const answer: { data: { name: string }[] } = await (await as(by, "/admin/mcp")).json();
    return answer.data.map(({ name }) => name);
  };
  expect(await named(admin)).toEqual(["all", "acme", "other"]);
  expect(await named(key)).toEqual(["all", "acme"]);
  const refused = await as(key, "/admin/mcp/acme/login", { redirect_uri: "http://127.0.0.1:1/" });
  expect(refused.status).toBe(403);
});
