import { expect, test } from "vitest";
import { discover } from "../../../src/tool/mcp/oauth/discovery.ts";
import { hasNamedClient, withCredentials } from "../../../src/tool/mcp/oauth/login.ts";

const authority = { issuer: "https://auth.example/tenant", token_endpoint: "https://auth.example/token" };
const client = { client_id: "hull", method: "client_secret_post" as const, configured: true };
const named = { client_id: "hull", client_secret: "s" };

test.each<[string, boolean, Parameters<typeof hasNamedClient>]>([
  ["the client and the issuer of hull.toml", true, [{ authority, client }, named, authority.issuer]],
  ["an issuer with a slash more", true, [{ authority, client }, named, `${authority.issuer}/`]],
  ["hull.toml names no issuer", true, [{ authority, client }, named, undefined]],
  ["a registered client", true, [{ authority, client: { ...client, configured: false } }, null, undefined]],
  ["another issuer", false, [{ authority, client }, named, "https://new.example"]],
  ["another client", false, [{ authority, client }, { ...named, client_id: "other" }, authority.issuer]],
  ["no client any more", false, [{ authority, client }, null, undefined]],
])("a login has the client of hull.toml: %s", (_, has, given) => {
  expect(hasNamedClient(...given)).toBe(has);
});

test.each(["http://mcp.example/mcp", "https://10.0.0.7/mcp", "http://127.0.0.1:9/mcp"])(
  "discovery does not ask %s",
  async (server) => {
    const asked: string[] = [];
    const net = {
      loopback: false,
      fetch: async (url: URL) => {
        asked.push(url.href);
        return new Response(null, { status: 404 });
      },
    };
    const found = await discover(net, new URL(server), { issuer: null, scope: null });
    expect({ ok: found.ok, asked }).toEqual({ ok: false, asked: [] });
  },
);

test("discovery says that a server does not answer, which names its authorization server", async () => {
  const net = {
    loopback: false,
    fetch: async () => {
      throw new TypeError("connection refused");
    },
  };
  const server = new URL("https://mcp.example/mcp");
  expect(await discover(net, server, { issuer: null, scope: null })).toEqual({
    ok: false,
    final: false,
    reason: "The MCP server https://mcp.example/mcp cannot be reached.",
  });
  const named = await discover(net, server, { issuer: "https://auth.example", scope: null });
  expect(named).toMatchObject({ reason: "The authorization server https://auth.example cannot be reached." });
});

/** An answer of a token endpoint. */
const answer = (status: number, body: object, headers: Record<string, string> = {}) =>
  Response.json(body, { status, headers });

test.each<[reason: string, final: boolean, answered: () => Response]>([
  [
    "answered with the error invalid_client (No such client.).",
    true,
    () => answer(400, { error: "invalid_client", error_description: "No such client." }),
  ],
  [
    "answered with the error temporarily_unavailable.",
    false,
    () => answer(400, { error: "temporarily_unavailable" }),
  ],
  [
    "does not accept the client's credentials (401).",
    true,
    () => answer(401, {}, { "www-authenticate": 'Basic realm="tokens"' }),
  ],
  ["gave an answer that Hull cannot use: ", false, () => answer(200, { token_type: "bearer" })],
  [
    "cannot be reached.",
    false,
    () => {
      throw new TypeError("connection refused");
    },
  ],
])("an authorization server that %s: %s is final", async (reason, final, answered) => {
  const net = { loopback: false, fetch: async () => answered() };
  const found = { as: authority, resource: "https://mcp.example/mcp", scope: null };
  const login = await withCredentials(net, found, named);
  expect(login).toEqual({
    ok: false,
    final,
    reason: expect.stringContaining(`The authorization server ${reason}`),
  });
});
