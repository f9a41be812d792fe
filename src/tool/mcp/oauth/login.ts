/**
 * Logins at MCP servers: authorization code with PKCE (OAuth 2.1, RFC 7636), a client that hull.toml names or that is
 * registered (RFC 7591), refresh, client credentials, and revocation (RFC 7009). Tokens are requested for one resource
 * (RFC 8707).
 */
import * as oauth from "oauth4webapi";
import * as z from "zod/mini";
import { parsedJson } from "../../../skill/json-depth.ts";
import { type Discovered, sameIssuer } from "./discovery.ts";
import {
  ask,
  endpointFault,
  type OAuthNet,
  type Outcome,
  optionsOf,
  outcomeOf,
  refused,
} from "./requests.ts";

const AUTHORIZATION_SERVER = "The authorization server";

/** The part of the metadata that later requests need. */
const authorityShape = z.lazy(() =>
  z.object({
    issuer: z.string(),
    token_endpoint: z.string(),
    revocation_endpoint: z.exactOptional(z.string()),
    authorization_response_iss_parameter_supported: z.exactOptional(z.boolean()),
    id_token_signing_alg_values_supported: z.exactOptional(z.array(z.string())),
  }),
);
const clientShape = z.lazy(() =>
  z.object({
    client_id: z.string(),
    /** Absent: the client has none, or it is in a variable of the Worker. */
    client_secret: z.exactOptional(z.string()),
    method: z.enum(["none", "client_secret_basic", "client_secret_post"]),
    /** Whether hull.toml names it. */
    configured: z.boolean(),
  }),
);
type OAuthClient = z.infer<typeof clientShape>;

/** A client of hull.toml. */
export interface NamedClient {
  client_id: string;
  client_secret: string | null;
}

const begunShape = z.lazy(() =>
  z.object({
    authority: authorityShape,
    client: clientShape,
    verifier: z.string(),
    state: z.string(),
    redirect_uri: z.string(),
    resource: z.string(),
    /** Unix ms. */
    until: z.number(),
  }),
);
type Begun = z.infer<typeof begunShape>;

const loginShape = z.lazy(() =>
  z.object({
    authority: authorityShape,
    client: clientShape,
    resource: z.string(),
    access_token: z.string(),
    refresh_token: z.nullable(z.string()),
    /** Unix ms. */
    obtained_at: z.number(),
    /** `null`: the server does not say. */
    expires_at: z.nullable(z.number()),
  }),
);
export type Login = z.infer<typeof loginShape>;

/** What was sealed. */
export const readBegun = (text: string): Begun => begunShape.parse(JSON.parse(text));
export const readLogin = (text: string): Login => loginShape.parse(JSON.parse(text));

/** Everything of a login that nobody may read. */
export const secretsOf = ({ client, access_token, refresh_token }: Login): string[] =>
  [client.client_secret, access_token, refresh_token].filter((secret) => typeof secret === "string");

/** Why the client of hull.toml has no part in a login. */
export const OTHER_CLIENT = "hull.toml names another client or another issuer than those of the login.";

/**
 * Whether a login has the client that hull.toml names now, at the authorization server that it names: no other one may
 * get the client's secret. True if hull.toml does not name the login's client.
 * @param issuer absent: hull.toml names none
 */
export const hasNamedClient = (
  { authority, client }: Pick<Login, "authority" | "client">,
  named: NamedClient | null,
  issuer: string | undefined,
): boolean =>
  !client.configured ||
  (named?.client_id === client.client_id && (issuer === undefined || sameIssuer(authority.issuer, issuer)));

/** How long a person may take, in ms. */
const PERSON_MS = 10 * 60_000;

/** The address at which a person permits the access, and what `finish` needs. */
export async function begin(
  net: OAuthNet,
  { as, resource, scope }: Discovered,
  named: NamedClient | null,
  redirect_uri: string,
): Promise<Outcome<{ address: string; begun: Begun }>> {
  const { authorization_endpoint } = as;
  if (authorization_endpoint === undefined)
    return refused(`${AUTHORIZATION_SERVER} ${as.issuer} has no authorization endpoint.`);
  if (as.code_challenge_methods_supported?.includes("S256") !== true)
    return refused(`${AUTHORIZATION_SERVER} ${as.issuer} does not say that it supports PKCE with S256.`);
  const client =
    named === null
      ? await registered(net, as, redirect_uri, scope)
      : { ok: true as const, value: configured(as, named) };
  if (!client.ok) return client;
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const address = new URL(authorization_endpoint);
  const parameters = {
    response_type: "code",
    client_id: client.value.client_id,
    redirect_uri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    resource,
    ...(scope === null ? {} : { scope }),
    // OpenID Connect Core, section 11.
    ...(scope?.split(" ").includes("offline_access") === true ? { prompt: "consent" } : {}),
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  const begun = {
    authority: authorityShape.parse(as),
    client: client.value,
    verifier,
    state,
    redirect_uri,
    resource,
    until: Date.now() + PERSON_MS,
  };
  return { ok: true, value: { address: address.href, begun } };
}

/** The login that a person permitted. @param answer the query with which the browser came back */
export async function finish(
  net: OAuthNet,
  { authority, client, verifier, state, redirect_uri, resource, until }: Begun,
  answer: URLSearchParams,
  secret: string | null,
): Promise<Outcome<Login>> {
  if (Date.now() > until) return refused("The login took longer than 10 minutes.");
  const fault = endpointFault(authority.token_endpoint, net);
  if (fault !== null) return refused(fault);
  const tokens = await outcomeOf(AUTHORIZATION_SERVER, async () => {
    const params = oauth.validateAuthResponse(authority, client, answer, state);
    const options = { ...optionsOf(net), additionalParameters: { resource } };
    const authentication = authenticationOf(client, secret);
    const response = await oauth.authorizationCodeGrantRequest(
      authority,
      client,
      authentication,
      params,
      redirect_uri,
      verifier,
      options,
    );
    return oauth.processAuthorizationCodeResponse(authority, client, response);
  });
  return loginFrom(tokens, { authority, client, resource, refresh_token: null });
}

/** The login with new tokens. @param secret of a client that hull.toml names */
export async function refresh(net: OAuthNet, login: Login, secret: string | null): Promise<Outcome<Login>> {
  const { authority, client, resource, refresh_token } = login;
  if (refresh_token === null) return refused("Its access token has ended, and there is no refresh token.");
  const fault = endpointFault(authority.token_endpoint, net);
  if (fault !== null) return refused(fault, false);
  const tokens = await outcomeOf(AUTHORIZATION_SERVER, async () => {
    const options = { ...optionsOf(net), additionalParameters: { resource } };
    const authentication = authenticationOf(client, secret);
    const response = await oauth.refreshTokenGrantRequest(
      authority,
      client,
      authentication,
      refresh_token,
      options,
    );
    return oauth.processRefreshTokenResponse(authority, client, response);
  });
  return loginFrom(tokens, { authority, client, resource, refresh_token });
}

/** A login for which nobody is asked (MCP extension "OAuth Client Credentials"). */
export async function withCredentials(
  net: OAuthNet,
  { as, resource, scope }: Discovered,
  named: NamedClient,
): Promise<Outcome<Login>> {
  const client = configured(as, named);
  const tokens = await outcomeOf(AUTHORIZATION_SERVER, async () => {
    const parameters = { resource, ...(scope === null ? {} : { scope }) };
    const authentication = authenticationOf(client, named.client_secret);
    const response = await oauth.clientCredentialsGrantRequest(
      as,
      client,
      authentication,
      parameters,
      optionsOf(net),
    );
    return oauth.processClientCredentialsResponse(as, client, response);
  });
  return loginFrom(tokens, { authority: authorityShape.parse(as), client, resource, refresh_token: null });
}

/** Tells the authorization server that nobody needs the tokens any more, if it wants to know. */
export async function revoke(net: OAuthNet, login: Login, secret: string | null): Promise<void> {
  const { authority, client, access_token, refresh_token } = login;
  const { revocation_endpoint } = authority;
  if (revocation_endpoint === undefined || endpointFault(revocation_endpoint, net) !== null) return;
  await outcomeOf(AUTHORIZATION_SERVER, () =>
    oauth.revocationRequest(
      authority,
      client,
      authenticationOf(client, secret),
      refresh_token ?? access_token,
      optionsOf(net),
    ),
  );
}

function loginFrom(
  tokens: Outcome<oauth.TokenEndpointResponse>,
  before: Pick<Login, "authority" | "client" | "resource" | "refresh_token">,
): Outcome<Login> {
  if (!tokens.ok) return tokens;
  const { access_token, token_type, expires_in, refresh_token } = tokens.value;
  if (token_type !== "bearer")
    return refused(`${AUTHORIZATION_SERVER} issues tokens of the type ${token_type}, not Bearer.`);
  const obtained_at = Date.now();
  const value = {
    ...before,
    access_token,
    // Without rotation the old one stays valid (RFC 6749, section 6).
    refresh_token: refresh_token ?? before.refresh_token,
    obtained_at,
    expires_at: expires_in === undefined ? null : obtained_at + expires_in * 1000,
  };
  return { ok: true, value };
}

function authenticationOf({ client_secret, method }: OAuthClient, secret: string | null): oauth.ClientAuth {
  const own = client_secret ?? secret;
  if (method === "none" || own === null) return oauth.None();
  return method === "client_secret_post" ? oauth.ClientSecretPost(own) : oauth.ClientSecretBasic(own);
}

/**
 * How a client with a secret authenticates: as form fields if the server says that it takes them, since many servers do not
 * decode the header; a server that says nothing takes the header (RFC 8414, section 2).
 */
const methodFor = ({ token_endpoint_auth_methods_supported: known }: oauth.AuthorizationServer) =>
  known?.includes("client_secret_post") === true
    ? ("client_secret_post" as const)
    : ("client_secret_basic" as const);

const configured = (
  as: oauth.AuthorizationServer,
  { client_id, client_secret }: NamedClient,
): OAuthClient => ({
  client_id,
  method: client_secret === null ? "none" : methodFor(as),
  configured: true,
});

const registeredShape = z.lazy(() =>
  z.object({
    client_id: z.string(),
    client_secret: z.nullish(z.string()),
    token_endpoint_auth_method: z.nullish(z.string()),
  }),
);
const refusalShape = z.lazy(() => z.object({ error: z.string(), error_description: z.optional(z.string()) }));

/** A new client of the authorization server (RFC 7591). */
async function registered(
  net: OAuthNet,
  as: oauth.AuthorizationServer,
  redirect_uri: string,
  scope: string | null,
): Promise<Outcome<OAuthClient>> {
  const { registration_endpoint, token_endpoint_auth_methods_supported: methods } = as;
  const byHand = "Register a client there by hand, and name it under [mcp.servers.NAME.oauth] in hull.toml.";
  if (registration_endpoint === undefined)
    return refused(`${AUTHORIZATION_SERVER} ${as.issuer} registers no clients by itself. ${byHand}`);
  const wanted = methods?.includes("none") === true ? "none" : methodFor(as);
  const metadata = {
    client_name: "Hull",
    // A program on the person's own machine receives the code (OpenID Connect Registration, section 2).
    application_type: "native",
    redirect_uris: [redirect_uri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: wanted,
    ...(scope === null ? {} : { scope }),
  };
  const init = {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(metadata),
  };
  const response = await outcomeOf(AUTHORIZATION_SERVER, () => ask(net, registration_endpoint, init));
  if (!response.ok) return response;
  const answer = parsedJson(await response.value.text());
  const client = registeredShape.safeParse(answer);
  const { status } = response.value;
  if (status >= 300 || !client.success) {
    const { error, error_description = "" } = refusalShape.safeParse(answer).data ?? {};
    const why =
      error === undefined ? `the status ${status}` : `the error ${error} ${error_description}`.trim();
    return refused(`${AUTHORIZATION_SERVER} ${as.issuer} registers no client: ${why}. ${byHand}`);
  }
  const { client_id, client_secret, token_endpoint_auth_method: method } = client.data;
  const secret = client_secret ?? "";
  if (secret === "") return { ok: true, value: { client_id, method: "none", configured: false } };
  const known = method === "client_secret_post" || method === "none" ? method : "client_secret_basic";
  return { ok: true, value: { client_id, client_secret: secret, method: known, configured: false } };
}
