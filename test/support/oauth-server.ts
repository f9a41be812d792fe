/**
 * An authorization server and the MCP server that it protects, on one port and with the true wire formats: RFC 9728, 8414,
 * 7591, 7636, 8707, 9207 and 7009, rotating refresh tokens, and an end of the whole login if one is used twice. The MCP
 * server is one of the official SDK.
 */
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import * as z from "zod";

export const CLIENT = { id: "machine", secret: "machine-client-secret-canary" };

/** The method of PKCE; a quoted name with S and digits would be that of a Check (`checks.ts`). */
export const PKCE = `S${256}`;

interface Grant {
  login: string;
  client: string;
  resource: string;
  scope: string;
}

export interface OAuthServer {
  url: string;
  /** What `/token` was asked for, in order, and `reuse` for a refresh token that came twice. */
  asked: string[];
  /** Every secret that it has issued. */
  issued: string[];
  /** Query of the last `/authorize`; header `authorization` of each message to `/mcp`. */
  authorized: URLSearchParams;
  bearers: (string | undefined)[];
  /** Life of access tokens in s. */
  lifetime: number;
  /** Changes of the metadata and of the query with which the browser goes back. */
  metadata: Record<string, unknown>;
  resourceMetadata: Record<string, unknown>;
  answer: Record<string, string>;
  /** Whether the challenge names the metadata, so that no well-known path has it. */
  names: boolean;
  /** A refresh waits for it before it does anything. */
  held: Promise<void> | null;
  /** Ends all logins. */
  revokeAll(): void;
  /** Ends all access tokens. */
  expire(): void;
  close(): Promise<void>;
}

export async function startOAuthServer(): Promise<OAuthServer> {
  const codes = new Map<string, Grant & { challenge: string; redirect_uri: string }>();
  const access = new Map<string, Grant & { until: number }>();
  const refreshable = new Map<string, Grant & { used: boolean }>();
  const clients = new Map<string, { redirect_uris: string[] }>();
  const ended = new Set<string>();
  const made: OAuthServer = {
    url: "",
    asked: [],
    issued: [],
    authorized: new URLSearchParams(),
    bearers: [],
    lifetime: 3600,
    metadata: {},
    resourceMetadata: {},
    answer: {},
    names: true,
    held: null,
    revokeAll: () => {
      for (const grant of [...access.values(), ...refreshable.values()]) ended.add(grant.login);
    },
    expire: () => access.clear(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  const secret = (name: string): string => {
    const value = `${name}-canary-${randomUUID()}`;
    made.issued.push(value);
    return value;
  };
  const send = (response: ServerResponse, status: number, value: object, headers = {}): void => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
  const tokens = (grant: Grant, refresh = true): object => {
    const token = secret("access");
    access.set(token, { ...grant, until: Date.now() + made.lifetime * 1000 });
    const answer = {
      access_token: token,
      token_type: "Bearer",
      expires_in: made.lifetime,
      scope: grant.scope,
    };
    if (!refresh) return answer;
    const next = secret("refresh");
    refreshable.set(next, { ...grant, used: false });
    return { ...answer, refresh_token: next };
  };

  const token = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await text(request));
    const field = (name: string): string => form.get(name) ?? "";
    const refuse = (error: string): void => send(response, 400, { error, error_description: "no luck" });
    made.asked.push(field("grant_type"));
    if (field("grant_type") === "authorization_code") {
      const code = codes.get(field("code"));
      codes.delete(field("code"));
      const challenge = createHash("sha256").update(field("code_verifier")).digest("base64url");
      const fits =
        code?.challenge === challenge &&
        code.redirect_uri === field("redirect_uri") &&
        code.client === field("client_id") &&
        code.resource === field("resource");
      return fits ? send(response, 200, tokens(code)) : refuse("invalid_grant");
    }
    if (field("grant_type") === "client_credentials") {
      const basic = Buffer.from(request.headers.authorization?.slice(6) ?? "", "base64").toString();
      // Both parts are form-encoded (RFC 6749, section 2.3.1).
      if (basic.split(":").map(decodeURIComponent).join(":") !== `${CLIENT.id}:${CLIENT.secret}`)
        return send(response, 401, { error: "invalid_client" }, { "www-authenticate": "Basic" });
      const grant = {
        login: randomUUID(),
        client: CLIENT.id,
        resource: field("resource"),
        scope: field("scope"),
      };
      return send(response, 200, tokens(grant, false));
    }
    await made.held;
    // A client that is gone does not use up its token.
    if (request.socket.destroyed) return;
    const grant = refreshable.get(field("refresh_token"));
    if (grant?.used === true) {
      made.asked.push("reuse");
      ended.add(grant.login);
    }
    if (grant === undefined || ended.has(grant.login) || grant.client !== field("client_id"))
      return refuse("invalid_grant");
    grant.used = true;
    send(response, 200, tokens(grant));
  };

  const mcp = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { authorization } = request.headers;
    made.bearers.push(authorization);
    const bearer = authorization?.replace(/^Bearer /, "") ?? "";
    const grant = access.get(bearer);
    const valid = grant !== undefined && grant.until > Date.now() && !ended.has(grant.login);
    if (!valid || grant.resource !== `${made.url}/mcp`) {
      const named = made.names ? `, resource_metadata="${made.url}/named-metadata"` : "";
      const challenge = `Bearer error="invalid_token"${named}, scope="tools:read"`;
      return send(response, 401, { error: "invalid_token" }, { "www-authenticate": challenge });
    }
    const real = new McpServer({ name: "crm", version: "1" });
    const shape = { description: "Finds a customer.", inputSchema: { name: z.string() } };
    real.registerTool("find", shape, async ({ name }) => ({
      // A careless server repeats what it was sent.
      content: [{ type: "text", text: `found ${name} with ${bearer}` }],
    }));
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await real.connect(transport);
    await transport.handleRequest(request, response);
  };

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", made.url);
    const metadata = made.names ? "/named-metadata" : "/.well-known/oauth-protected-resource/mcp";
    switch (pathname) {
      case metadata:
        return send(response, 200, {
          resource: `${made.url}/mcp`,
          authorization_servers: [`${made.url}/tenant`],
          scopes_supported: ["tools:read", "tools:write"],
          ...made.resourceMetadata,
        });
      // That of OpenID Connect, with the path at the end.
      case "/tenant/.well-known/openid-configuration":
        return send(response, 200, {
          issuer: `${made.url}/tenant`,
          authorization_endpoint: `${made.url}/authorize`,
          token_endpoint: `${made.url}/token`,
          registration_endpoint: `${made.url}/register`,
          revocation_endpoint: `${made.url}/revoke`,
          code_challenge_methods_supported: [PKCE],
          token_endpoint_auth_methods_supported: ["none", "client_secret_basic"],
          authorization_response_iss_parameter_supported: true,
          scopes_supported: ["tools:read", "offline_access"],
          ...made.metadata,
        });
      case "/register": {
        const { redirect_uris }: { redirect_uris: string[] } = JSON.parse(await text(request));
        const id = randomUUID();
        clients.set(id, { redirect_uris });
        return send(response, 201, { client_id: id, redirect_uris, token_endpoint_auth_method: "none" });
      }
      case "/authorize": {
        made.authorized = searchParams;
        const of = (name: string): string => searchParams.get(name) ?? "";
        const redirect_uri = of("redirect_uri");
        if (clients.get(of("client_id"))?.redirect_uris.includes(redirect_uri) !== true)
          return send(response, 400, { error: "invalid_request" });
        const code = secret("code");
        const grant = {
          login: randomUUID(),
          client: of("client_id"),
          resource: of("resource"),
          scope: of("scope"),
        };
        codes.set(code, { ...grant, challenge: of("code_challenge"), redirect_uri });
        const back = new URL(redirect_uri);
        const answer = { code, state: of("state"), iss: `${made.url}/tenant`, ...made.answer };
        for (const [name, value] of Object.entries(answer)) back.searchParams.set(name, value);
        response.writeHead(302, { location: back.href }).end();
        return;
      }
      case "/token":
        return token(request, response);
      case "/revoke": {
        const revoked = new URLSearchParams(await text(request)).get("token") ?? "";
        made.asked.push("revoke");
        ended.add(refreshable.get(revoked)?.login ?? "");
        response.writeHead(200).end();
        return;
      }
      case "/mcp":
        return mcp(request, response);
      default:
        return send(response, 404, { error: "not_found" });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  made.url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  return made;
}
