/**
 * `/admin/mcp`: the MCP servers of hull.toml, and the logins there (docs/mcp.md#servers-that-want-a-login). Only the
 * operator logs in and out, since a login serves every tenant that may use the server.
 */
import { loginAnswerBody, loginBody } from "../api/bodies/publishing.ts";
import { DEFAULT_TENANT } from "../auth/api-key.ts";
import { BadRequest, Forbidden, McpServerNotFound } from "../errors/request.ts";
import { McpLoginFailed } from "../errors/run.ts";
import { removeLogin, readLogin as storedLogin, storeLogin } from "../registry/mcp-logins.ts";
import { listedServers } from "../run/mcp/listed.ts";
import {
  discover,
  learnSecrets,
  namedClient,
  type OAuthSettings,
  oauthNet,
  sealedLogin,
} from "../run/mcp/login.ts";
import { hasOwnLogin, LOGIN } from "../run/mcp/owner.ts";
import { allowedHosts } from "../run/mcp/servers.ts";
import { addressFault } from "../tool/mcp/address.ts";
import type { Outcome } from "../tool/mcp/oauth/requests.ts";
import { readJson } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { jsonNow } from "./page.ts";
import type { Params } from "./routes.ts";

/** `GET /admin/mcp`: all servers for the operator, for another administrator those that the tenant may use. */
export async function listMcpServers({ deployment, caller }: RequestContext): Promise<Response> {
  return jsonNow({ data: await listedServers(deployment, caller.operator ? null : caller.tenant) });
}

/** `POST /admin/mcp/:name/login {redirect_uri}`: the address where a person permits the access. */
export async function beginMcpLogin(context: RequestContext, { name = "" }: Params): Promise<Response> {
  const { settings, deployment, request } = context;
  const { at, url, oauth } = serverOf(context, name);
  const { redirect_uri } = await readJson(request, loginBody);
  if (oauth.grant === "client_credentials")
    throw new BadRequest({
      detail: `The server ${name} has the grant client_credentials: it needs no login.`,
    });
  // A login that cannot be stored would be lost after the person has given it.
  await deployment.sealer.seal("", { login: "begun", ...at });
  const { issuer = null, scope = null } = oauth;
  const net = oauthNet(settings);
  const found = valueIn(context, name, await discover(net, url, { issuer, scope }));
  const code = await import("../tool/mcp/oauth/login.ts");
  const { address, begun } = valueIn(
    context,
    name,
    await code.begin(net, found, namedClient(settings, oauth), redirect_uri),
  );
  const login = await deployment.sealer.seal(JSON.stringify(begun), { login: "begun", ...at });
  return jsonNow({ address, login });
}

/** `PUT /admin/mcp/:name/login {login, answer}`: stores the login that the person permitted. */
export async function finishMcpLogin(context: RequestContext, { name = "" }: Params): Promise<Response> {
  const { env, settings, deployment, request } = context;
  const { at, oauth } = serverOf(context, name);
  const { login: sealed, answer } = await readJson(request, loginAnswerBody);
  const text = await deployment.sealer.unseal(sealed, { login: "begun", ...at });
  if (text === null) throw new BadRequest({ detail: `login is not from POST /admin/mcp/${name}/login.` });
  const code = await import("../tool/mcp/oauth/login.ts");
  const begun = code.readBegun(text);
  const query = new URLSearchParams(answer);
  learnSecrets(settings, [begun.verifier, begun.client.client_secret ?? "", query.get("code") ?? ""]);
  const named = begun.client.configured ? namedClient(settings, oauth) : null;
  const outcome = code.hasNamedClient(begun, named, oauth.issuer)
    ? await code.finish(oauthNet(settings), begun, query, named?.client_secret ?? null)
    : { ok: false as const, reason: code.OTHER_CLIENT, final: true };
  const login = valueIn(context, name, outcome);
  await storeLogin(env, at, await sealedLogin(context, at, login, code.secretsOf(login)));
  deployment.mcpTokens.delete(JSON.stringify([name, at.url]));
  const [entry] = (await listedServers(deployment, null)).filter((server) => server.name === name);
  return jsonNow(entry);
}

/** `DELETE /admin/mcp/:name/login`: forgets the login, and revokes it if the authorization server can do that. */
export async function endMcpLogin(context: RequestContext, { name = "" }: Params): Promise<Response> {
  const { env, settings, deployment } = context;
  const { at, oauth } = serverOf(context, name);
  const row = await storedLogin(env, at);
  await removeLogin(env, name);
  deployment.mcpTokens.delete(JSON.stringify([name, at.url]));
  const text =
    row?.sealed == null ? null : await deployment.sealer.unseal(row.sealed, { login: "stored", ...at });
  if (text !== null) {
    const code = await import("../tool/mcp/oauth/login.ts");
    const login = code.readLogin(text);
    learnSecrets(settings, code.secretsOf(login));
    const named = login.client.configured ? namedClient(settings, oauth) : null;
    if (code.hasNamedClient(login, named, oauth.issuer))
      await code.revoke(oauthNet(settings), login, named?.client_secret ?? null);
  }
  return new Response(null, { status: 204 });
}

/** @throws Forbidden McpServerNotFound BadRequest */
function serverOf(
  { settings, caller }: RequestContext,
  name: string,
): { at: { server: string; url: string }; url: URL; oauth: OAuthSettings } {
  if (!caller.operator) throw new Forbidden({ scope: "admin", tenant: DEFAULT_TENANT });
  const { servers } = settings.mcp;
  const server = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (server === undefined) throw new McpServerNotFound({ name, known: Object.keys(servers) });
  if (hasOwnLogin(server.headers))
    throw new BadRequest({
      detail: `The server ${name} has a header authorization in hull.toml, and no login.`,
    });
  const url = new URL(server.url);
  const fault = addressFault(url, allowedHosts(settings));
  if (fault !== null) throw new BadRequest({ detail: fault });
  return { at: { server: name, url: url.href }, url, oauth: server.oauth ?? LOGIN };
}

/** @throws McpLoginFailed, without secrets */
function valueIn<T>({ settings }: RequestContext, name: string, outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  throw new McpLoginFailed({ name, reason: settings.eventRedactor.text(outcome.reason) });
}
