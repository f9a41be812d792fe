import { expect, test } from "vitest";
import { discover } from "../../../src/tool/mcp/oauth/discovery.ts";
import { hasNamedClient } from "../../../src/tool/mcp/oauth/login.ts";

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
