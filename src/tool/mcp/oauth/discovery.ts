/**
 * Finds the authorization server of an MCP server (MCP 2026-07-28, "Authorization Server Discovery"): by the metadata of
 * the protected resource (RFC 9728), then by its own metadata (RFC 8414, OpenID Connect Discovery).
 */
import * as oauth from "oauth4webapi";
import * as z from "zod/mini";
import { parsedJson } from "../../../skill/json-depth.ts";
import { HULL_VERSION, LEGACY_VERSIONS } from "../versions.ts";
import { ask, endpointFault, type OAuthNet, type Outcome, outcomeOf, refused } from "./requests.ts";

export interface Discovered {
  as: oauth.AuthorizationServer;
  /** The server's identifier, for which tokens are requested (RFC 8707). */
  resource: string;
  /** The scopes to request; `null`: the server names none. */
  scope: string | null;
}

const resourceShape = z.lazy(() =>
  z.object({
    resource: z.string(),
    authorization_servers: z.optional(z.array(z.string())),
    scopes_supported: z.optional(z.array(z.string())),
  }),
);
type ResourceMetadata = z.infer<typeof resourceShape>;

/** @param issuer the one that hull.toml names; `null`: the MCP server names it @param scope that of hull.toml */
export async function discover(
  net: OAuthNet,
  server: URL,
  { issuer, scope }: { issuer: string | null; scope: string | null },
): Promise<Outcome<Discovered>> {
  const unasked = endpointFault(server.href, net);
  if (unasked !== null) return refused(unasked);
  const challenge = await challengeOf(net, server);
  const found = await resourceMetadata(net, server, challenge?.metadata ?? null);
  if (!found.ok) return found;
  const { authorization_servers: named = [], resource, scopes_supported } = found.value ?? {};
  if (issuer !== null && named.length > 0 && !named.some((one) => sameIssuer(one, issuer)))
    return refused(
      `The server names the authorization server ${named[0]}, hull.toml names ${issuer}: Hull uses its client with no other.`,
    );
  if (challenge === null && issuer === null && named.length === 0)
    return refused(`The MCP server ${server.href} cannot be reached.`, false);
  const as = await serverMetadata(net, issuer ?? named[0] ?? server.origin);
  if (!as.ok) return as;
  const wanted = challenge?.scope ?? scopes_supported?.join(" ") ?? null;
  const offline = wanted !== null && as.value.scopes_supported?.includes("offline_access") === true;
  const asked =
    offline && !wanted.split(" ").includes("offline_access") ? `${wanted} offline_access` : wanted;
  const value = { as: as.value, resource: resource ?? withoutFragment(server), scope: scope ?? asked };
  return { ok: true, value };
}

/** Whether two identifiers of authorization servers mean the same one. */
export const sameIssuer = (a: string, b: string): boolean => a.replace(/\/$/, "") === b.replace(/\/$/, "");

function withoutFragment(server: URL): string {
  const url = new URL(server);
  url.hash = "";
  return url.href;
}

/** What the server's 401 says (RFC 9728, section 5.1; RFC 6750, section 3); `null`: it does not answer. */
async function challengeOf(
  net: OAuthNet,
  server: URL,
): Promise<{ metadata: string | null; scope: string | null } | null> {
  const [protocolVersion] = LEGACY_VERSIONS;
  const clientInfo = { name: "hull", version: HULL_VERSION };
  const params = { protocolVersion, capabilities: {}, clientInfo };
  const init = {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  };
  const response = await ask(net, server.href, init).catch(() => null);
  if (response === null) return null;
  const header = response.status === 401 ? (response.headers.get("www-authenticate") ?? "") : "";
  const parameter = (name: string): string | null =>
    new RegExp(`(?:^|[\\s,])${name}=(?:"([^"]*)"|([^\\s,]+))`, "i").exec(header)?.slice(1).find(Boolean) ??
    null;
  return { metadata: parameter("resource_metadata"), scope: parameter("scope") };
}

/** The metadata at the address that the server names, else at the well-known ones; `null`: it has none. */
async function resourceMetadata(
  net: OAuthNet,
  server: URL,
  named: string | null,
): Promise<Outcome<ResourceMetadata | null>> {
  const path = server.pathname.replace(/\/$/, "");
  const wellKnown = `${server.origin}/.well-known/oauth-protected-resource`;
  for (const address of named === null ? new Set([wellKnown + path, wellKnown]) : [named]) {
    const fault = endpointFault(address, net);
    if (fault !== null) return refused(fault);
    const response = await ask(net, address).catch(() => null);
    if (response?.status !== 200) continue;
    const read = resourceShape.safeParse(parsedJson(await response.text()));
    if (!read.success) continue;
    if (!covers(read.data.resource, server))
      return refused(`The metadata at ${address} is that of another server: ${read.data.resource}.`);
    return { ok: true, value: read.data };
  }
  return named === null
    ? { ok: true, value: null }
    : refused(`The server has no metadata at ${named}.`, false);
}

/** Whether the server is this resource or below it. */
function covers(resource: string, server: URL): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin, pathname } = new URL(resource);
  return origin === server.origin && `${server.pathname}/`.startsWith(`${pathname.replace(/\/$/, "")}/`);
}

/** The metadata of an authorization server, whose addresses Hull may ask. */
async function serverMetadata(net: OAuthNet, issuer: string): Promise<Outcome<oauth.AuthorizationServer>> {
  const fault = endpointFault(issuer, net);
  if (fault !== null) return refused(fault);
  const expected = new URL(issuer);
  const path = expected.pathname.replace(/\/$/, "");
  const addresses = [
    `${expected.origin}/.well-known/oauth-authorization-server${path}`,
    `${expected.origin}/.well-known/openid-configuration${path}`,
    ...(path === "" ? [] : [`${expected.origin}${path}/.well-known/openid-configuration`]),
  ];
  const who = `The authorization server ${issuer}`;
  let last: Outcome<oauth.AuthorizationServer> = refused(`${who} has no metadata.`, false);
  for (const address of addresses) {
    const response = await outcomeOf(who, () => ask(net, address));
    if (!response.ok) return response;
    if (response.value.status !== 200) continue;
    last = await outcomeOf(who, () => oauth.processDiscoveryResponse(expected, response.value));
    if (last.ok) break;
  }
  if (!last.ok) return last;
  const { authorization_endpoint, token_endpoint, registration_endpoint, revocation_endpoint } = last.value;
  for (const endpoint of [
    authorization_endpoint,
    token_endpoint,
    registration_endpoint,
    revocation_endpoint,
  ]) {
    const unusable = endpoint === undefined ? null : endpointFault(endpoint, net);
    if (unusable !== null) return refused(unusable);
  }
  return token_endpoint === undefined ? refused(`${who} has no token endpoint.`) : last;
}
