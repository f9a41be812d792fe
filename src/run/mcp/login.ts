/**
 * The access to an MCP server that wants OAuth (docs/mcp.md#servers-that-want-a-login): the access token for its requests,
 * from the login that the operator stored or from client credentials. Of all isolates, one at a time renews a login: it
 * stores the new tokens before anybody uses them, and the others wait for that.
 */
import { sleep, unlessAborted } from "../../at-most.ts";
import type { Settings } from "../../env.ts";
import { HullError } from "../../errors.ts";
import { lazily } from "../../lazily.ts";
import { logFault, logLine } from "../../log.ts";
import * as store from "../../registry/mcp-logins.ts";
import { allowedVariables } from "../../tool/execution.ts";
import type { McpFailure } from "../../tool/mcp/failure.ts";
import type * as oauth from "../../tool/mcp/oauth/login.ts";
import type { OAuthNet } from "../../tool/mcp/oauth/requests.ts";
import type { RunContext } from "../context.ts";
import { SentVariables } from "../sent-variables.ts";

/** `oauth` of a server in hull.toml. */
export type OAuthSettings = NonNullable<Settings["mcp"]["servers"][string]["oauth"]>;

/** How long an isolate uses a token, or the lack of one, without asking the database, in ms. */
const FRESH_MS = 60_000;
/** A token is renewed so long before its end, or after half of a shorter life, in ms. */
const AHEAD_MS = 60_000;
/** A server that refused a new token is not brought a newer one before that time, in ms. */
const YOUNG_MS = 30_000;
/** The wait for another isolate that renews the login, between two looks, in ms. */
const LOOK_MS = 250;

/** The protocol, which an isolate compiles with its first login. */
export const discover = lazily(async () => (await import("../../tool/mcp/oauth/discovery.ts")).discover);
const loginCode = lazily(async () => {
  const code = await import("../../tool/mcp/oauth/login.ts");
  return () => code;
});

/** How Hull reaches authorization servers: public ones by https; in local dev also those on its own machine. */
export const oauthNet = ({ mcp, local }: Settings): OAuthNet => ({
  loopback: local && mcp.allow_loopback,
  fetch: (url, init) => fetch(url, init),
});

/** The client of hull.toml with the values of its variables; `null`: it names none. @throws ProxyNotConfigured */
export function namedClient(
  settings: Settings,
  { client_id, client_secret }: OAuthSettings,
): oauth.NamedClient | null {
  if (client_id === undefined) return null;
  const read = (name: string) => allowedVariables([name], settings, null)[name];
  const variables = new SentVariables(read, null);
  return {
    client_id: variables.fill(client_id),
    client_secret: client_secret === undefined ? null : variables.fill(client_secret),
  };
}

/** What nobody may read of a login. The redactors have to know it before anything can show it. */
export function learnSecrets({ redactor, eventRedactor }: Settings, secrets: readonly string[]): void {
  redactor.learn(secrets);
  eventRedactor.learn(secrets);
}

/** A login in the form in which it is stored. */
export async function sealedLogin(
  { deployment, settings }: Pick<RunContext, "deployment" | "settings">,
  { server, url }: { server: string; url: string },
  login: oauth.Login,
  secrets: readonly string[],
): Promise<{ sealed: string; expires_at: string | null; renewable: boolean }> {
  learnSecrets(settings, secrets);
  const { expires_at, refresh_token } = login;
  return {
    sealed: await deployment.sealer.seal(JSON.stringify(login), { login: "stored", server, url }),
    expires_at: expires_at === null ? null : new Date(expires_at).toISOString(),
    renewable: refresh_token !== null,
  };
}

const renewAt = ({ obtained_at, expires_at }: oauth.Login): number =>
  expires_at === null
    ? Number.POSITIVE_INFINITY
    : Math.max(expires_at - AHEAD_MS, (obtained_at + expires_at) / 2);

/** The access of one run to one server of hull.toml. */
export class ServerAccess {
  readonly #context: RunContext;
  readonly #server: string;
  readonly #url: URL;
  readonly #oauth: OAuthSettings;
  /** By which the isolate knows the token. */
  readonly key: string;
  #token: string | null = null;
  /** Why the server refused the last request; `null`: it did not. */
  #refusal: string | null = null;

  constructor(context: RunContext, server: string, url: URL, settings: OAuthSettings) {
    this.#context = context;
    this.#server = server;
    this.#url = url;
    this.#oauth = settings;
    this.key = JSON.stringify([server, url.href]);
  }

  /** Gets a token for the requests that follow. @returns why there is none; `null`: the server may be asked */
  async ready(signal: AbortSignal): Promise<McpFailure | null> {
    this.#refusal = null;
    const known = this.#context.deployment.mcpTokens.get(this.key);
    const now = Date.now();
    if (known !== undefined && now < known.at + FRESH_MS && now < known.renew_at) {
      this.#token = known.token;
      return null;
    }
    return this.#obtain(signal, null);
  }

  /** Sends a request: to the server's own origin with the token, which is renewed once if the server refuses it. */
  async fetch(url: URL, init: RequestInit): Promise<Response> {
    const own = url.origin === this.#url.origin;
    const sent = this.#token;
    const response = await this.#send(url, init, own ? sent : null);
    if (!own || (response.status !== 401 && response.status !== 403)) return response;
    if (response.status === 403) {
      const scope = /insufficient_scope/.test(response.headers.get("www-authenticate") ?? "");
      if (scope)
        this.#refusal = `It wants a scope that its login does not have. The operator sets scope under [mcp.servers.${this.#server}.oauth] and runs: hull mcp login ${this.#server}`;
      return response;
    }
    const failure = await this.#obtain(init.signal ?? AbortSignal.timeout(LOOK_MS), sent ?? "");
    if (failure !== null || this.#token === sent) {
      this.#refusal = failure?.message ?? (await this.#refused(sent));
      return response;
    }
    await response.body?.cancel();
    return this.#send(url, init, this.#token);
  }

  /** The failure of a request that the server refused for want of a login; any other failure stays as it is. */
  explain(failure: McpFailure): McpFailure {
    if (this.#refusal === null) return failure;
    return { kind: "refused", message: this.#refusal, status: failure.status ?? 401 };
  }

  #send(url: URL, init: RequestInit, token: string | null): Promise<Response> {
    if (token === null) return fetch(url, init);
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(url, { ...init, headers });
  }

  /** What to say of a refusal that a new token does not change. */
  async #refused(token: string | null): Promise<string> {
    const { env } = this.#context;
    const server = this.#server;
    const at = { server, url: this.#url.href };
    if (this.#oauth.grant === "client_credentials") {
      const reason = "It refuses the token that the client credentials of hull.toml bring.";
      await this.#noted(reason);
      return reason;
    }
    const reason = token === null ? "It wants a login." : "It refuses the token of its login.";
    const row = await store.readLogin(env, at);
    if (token === null) await this.#noted(reason);
    else if (row?.sealed != null && row.failure !== reason)
      await store.failLogin(env, server, row.sealed, { failure: reason, lost: false });
    return `${reason} ${this.#remedy}`;
  }

  get #remedy(): string {
    return `The operator runs: hull mcp login ${this.#server}`;
  }

  /** Records why there is no access, without a stored login; `null`: there is. A fault of storage is only logged. */
  async #noted(reason: string | null): Promise<void> {
    const { env } = this.#context;
    const at = { server: this.#server, url: this.#url.href };
    try {
      const known = await store.readLogin(env, at);
      if ((known?.failure ?? null) !== reason) await store.noteRefusal(env, at, reason);
    } catch (error) {
      logFault(this.#context, { event: "mcp_login_not_noted", server: this.#server }, error);
    }
  }

  /** @param refused the token that the server refused; `null`: none, `""`: a request without one */
  async #obtain(signal: AbortSignal, refused: string | null): Promise<McpFailure | null> {
    try {
      return this.#oauth.grant === "client_credentials"
        ? await unlessAborted(this.#fromCredentials(refused), signal)
        : await this.#fromLogin(signal, refused);
    } catch (error) {
      if (signal.aborted) return { kind: "timeout", message: "The renewal of its login took too long." };
      if (error instanceof HullError) {
        const message = "Hull cannot get a token for it; the log says why.";
        return { kind: "refused", message, hint: error.message };
      }
      logFault(this.#context, { event: "mcp_login_unreadable", server: this.#server }, error);
      if (refused !== null)
        return { kind: "unavailable", message: "Hull cannot read its login; the log says why." };
      // The server decides whether what the isolate last knew is enough.
      this.#token = this.#context.deployment.mcpTokens.get(this.key)?.token ?? null;
      return null;
    }
  }

  async #fromLogin(signal: AbortSignal, refused: string | null): Promise<McpFailure | null> {
    const { env, settings, deployment, background } = this.#context;
    const at = { server: this.#server, url: this.#url.href };
    for (let renewed = false; ; signal.throwIfAborted()) {
      const row = await store.readLogin(env, at);
      if (row === null || row.sealed === null) return this.#use(null);
      if (row.lost) return this.#lost(row.failure ?? "");
      const { sealed } = row;
      const text = await deployment.sealer.unseal(sealed, { login: "stored", ...at });
      if (text === null) return this.#lost("No key of HULL_SECRET_KEY opens it.");
      const code = await loginCode();
      const login = code.readLogin(text);
      learnSecrets(settings, code.secretsOf(login));
      const now = Date.now();
      const isRefused = login.access_token === refused;
      if (!isRefused && (renewed || now < renewAt(login))) return this.#use(login);
      // The caller sees that the token is still the same one.
      if (isRefused && row.failure !== null && now < login.obtained_at + YOUNG_MS) return this.#use(login);
      const lasts = login.expires_at === null || now < login.expires_at;
      if (login.refresh_token === null && !isRefused && lasts) return this.#use(login);
      const named = login.client.configured ? namedClient(settings, this.#oauth) : null;
      if (!(await store.takeLease(env, at.server, sealed))) {
        await sleep(LOOK_MS, signal);
        continue;
      }
      // Continues if the caller leaves: the authorization server may have replaced the refresh token already.
      const renewal = this.#renewed(sealed, login, named);
      background(renewal.catch(() => {}));
      const failure = await unlessAborted(renewal, signal);
      renewed = true;
      if (failure === null) continue;
      if (!failure.final && !isRefused && lasts) return this.#use(login);
      if (!failure.final)
        return { kind: "unavailable", message: `Hull cannot renew its login. ${failure.reason}` };
    }
  }

  /** Renews the login and stores it. @returns why that failed; `null`: it is stored */
  async #renewed(
    sealed: string,
    login: oauth.Login,
    named: oauth.NamedClient | null,
  ): Promise<{ reason: string; final: boolean } | null> {
    const { env, settings } = this.#context;
    const server = this.#server;
    const code = await loginCode();
    const outcome = code.hasNamedClient(login, named, this.#oauth.issuer)
      ? await code.refresh(oauthNet(settings), login, named?.client_secret ?? null)
      : { ok: false as const, reason: code.OTHER_CLIENT, final: true };
    if (outcome.ok) {
      const at = { server, url: this.#url.href };
      const next = await sealedLogin(this.#context, at, outcome.value, code.secretsOf(outcome.value));
      await storedAtLast(() => store.renewLogin(env, server, sealed, next));
      return null;
    }
    const { reason, final } = outcome;
    const failure = settings.eventRedactor.text(reason);
    await store.failLogin(env, server, sealed, { failure, lost: final });
    if (final) {
      const remedy = this.#remedy;
      logLine(this.#context, { event: "mcp_login_lost", server, reason: failure, remedy }, "error");
    }
    return outcome;
  }

  async #fromCredentials(refused: string | null): Promise<McpFailure | null> {
    const { settings, deployment } = this.#context;
    const known = deployment.mcpTokens.get(this.key);
    const now = Date.now();
    const young = known !== undefined && now < known.obtained_at + YOUNG_MS;
    const other = known !== undefined && known.token !== refused;
    if (known !== undefined && now < known.renew_at && (other || young)) {
      this.#token = known.token;
      return null;
    }
    const { issuer = null, scope = null } = this.#oauth;
    const named = namedClient(settings, this.#oauth);
    const net = oauthNet(settings);
    const found = await discover(net, this.#url, { issuer, scope });
    const code = await loginCode();
    const outcome = found.ok && named !== null ? await code.withCredentials(net, found.value, named) : found;
    if (outcome.ok && "access_token" in outcome.value) {
      learnSecrets(settings, code.secretsOf(outcome.value));
      if (known === undefined) await this.#noted(null);
      return this.#use(outcome.value);
    }
    deployment.mcpTokens.delete(this.key);
    const reason = settings.eventRedactor.text(outcome.ok ? "hull.toml names no client." : outcome.reason);
    await this.#noted(reason);
    return { kind: "unavailable", message: `Hull gets no token for it. ${reason}` };
  }

  #use(login: oauth.Login | null): null {
    const now = Date.now();
    this.#token = login?.access_token ?? null;
    this.#context.deployment.mcpTokens.set(this.key, {
      token: this.#token,
      renew_at: login === null ? now + FRESH_MS : renewAt(login),
      obtained_at: login?.obtained_at ?? now,
      at: now,
    });
    return null;
  }

  #lost(failure: string): McpFailure {
    this.#context.deployment.mcpTokens.delete(this.key);
    return { kind: "refused", message: `Its login has ended. ${failure} ${this.#remedy}` };
  }
}

/** Repeats what must not fail: until it has succeeded, the only valid refresh token is in this isolate's memory. */
async function storedAtLast(work: () => Promise<void>): Promise<void> {
  for (let left = 2; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (left === 0) throw error;
      await sleep(LOOK_MS, new AbortController().signal);
    }
  }
}
