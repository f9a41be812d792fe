/** Servers of hull.toml while D1, which has the logins there, is away. */
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
      allowed_hosts: ["mcp.example"],
      servers: { crm: { url: SERVER }, machine: { url: SERVER, oauth } },
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
