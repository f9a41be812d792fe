/**
 * Requests to authorization servers, and what becomes of their failures. The protocol itself is that of `oauth4webapi`; an
 * isolate loads this folder only for a login.
 */
import * as oauth from "oauth4webapi";
import { textWithin } from "../../../bytes.ts";
import { firstWords } from "../../../cut.ts";
import { addressFault } from "../address.ts";

/** The way to authorization servers. */
export interface OAuthNet {
  /** Whether they may be on this machine. */
  loopback: boolean;
  fetch: (url: URL, init: RequestInit) => Promise<Response>;
}

/** `final`: the same request would fail again, so somebody has to log in. */
type OAuthFailure = { ok: false; reason: string; final: boolean };
export type Outcome<T> = { ok: true; value: T } | OAuthFailure;

export const refused = (reason: string, final = true): OAuthFailure => ({ ok: false, reason, final });

const MAX_ANSWER_BYTES = 256 * 1024;
/** A lease (`src/registry/mcp-logins.ts`) lasts longer. */
const TIMEOUT_MS = 20_000;
const MAX_DESCRIPTION = 200;

/** Why Hull may not ask this address of an authorization server; `null`: it may. */
export function endpointFault(address: string, { loopback }: OAuthNet): string | null {
  if (!URL.canParse(address)) return "The address of an authorization server is not a URL.";
  return addressFault(new URL(address), { hosts: null, loopback });
}

/** The answer of a server, which Hull reads up to a limit. It follows no redirect. */
export async function ask(net: OAuthNet, url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("user-agent", "hull");
  const response = await net.fetch(new URL(url), {
    ...init,
    headers,
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const { status, body } = response;
  const text = body === null ? null : await textWithin(body, MAX_ANSWER_BYTES);
  const kept = new Headers();
  for (const name of ["content-type", "www-authenticate"]) {
    const value = response.headers.get(name);
    if (value !== null) kept.set(name, value);
  }
  return new Response(text === "" ? null : text, { status, headers: kept });
}

/** Options of the library's requests. `endpointFault` has checked their addresses. */
export const optionsOf = (net: OAuthNet) => ({
  [oauth.customFetch]: (url: string, { method, headers, body }: oauth.CustomFetchOptions<string, unknown>) =>
    ask(net, url, {
      method,
      headers,
      ...(typeof body === "string" || body instanceof URLSearchParams ? { body } : {}),
    }),
  [oauth.allowInsecureRequests]: true,
});

/** Errors of a token endpoint after which the same request is useless (RFC 6749, section 5.2). */
const FINAL = new Set([
  "invalid_grant",
  "invalid_client",
  "unauthorized_client",
  "invalid_scope",
  "access_denied",
]);

/** The outcome of work with the library. @param who for messages, e.g. `The authorization server` */
export async function outcomeOf<T>(who: string, work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError) {
      const { error: code, error_description: said } = error;
      const more = said === undefined ? "" : ` (${firstWords(said, MAX_DESCRIPTION)})`;
      return refused(
        `${who} answered with the error ${firstWords(code, MAX_DESCRIPTION)}${more}.`,
        FINAL.has(code),
      );
    }
    if (error instanceof oauth.WWWAuthenticateChallengeError)
      return refused(`${who} does not accept the client's credentials (${error.status}).`);
    if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError)
      return refused(`${who} gave an answer that Hull cannot use: ${error.message}.`, false);
    return refused(`${who} cannot be reached.`, false);
  }
}
