/** Decides who may call: host pin, origin rule, keys and scopes. */

import { type ApiKey, digestOf, grants, hasKeyForm, type Scope } from "../auth/api-key.ts";
import { ADMIN_CALLER, type Caller, callerOf, LOCAL_CALLER, PUBLIC_CALLER } from "../auth/caller.ts";
import { isSame } from "../auth/sign-in.ts";
import { fromHex, toHex } from "../bytes.ts";
import type { Settings } from "../env.ts";
import {
  AuthNotConfigured,
  Forbidden,
  FormNotTrusted,
  HostNotAllowed,
  OriginNotAllowed,
  Unauthenticated,
} from "../errors/request.ts";
import { Redactor } from "../redact.ts";
import type { RequestContext } from "./context.ts";
import { shieldKeyLookup } from "./rate.ts";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Refuses host names that are not the server's own. A local Hull accepts loopback names and the names that it was given
 * (`hull dev` adds the addresses on which it listens), so a page whose DNS name points to this machine reaches nothing.
 * A deployment accepts the names that it was given; if it was given none, it accepts every name that leads to it.
 * @throws HostNotAllowed
 */
export function checkHost(context: RequestContext): void {
  const { local, allowed_hosts } = context.settings;
  if (!local && allowed_hosts.length === 0) return;
  const header = context.request.headers.get("host") ?? new URL(context.request.url).host;
  const name = header.toLowerCase().replace(/:\d+$/, "");
  if (allowed_hosts.includes(name) || (local && LOOPBACK.has(name))) return;
  throw new HostNotAllowed({ host: name });
}

/**
 * Admits a permitted call, and records its caller. It checks the origin first, then the key. In local dev that only
 * loopback reaches, calls without a key belong to the developer, unless a proxy passes them on for another machine. If
 * other machines can reach it and it is declared public, it runs things for everybody and does nothing else without a
 * key. A request that Hull derives from an admitted one has the same caller.
 * @param scope `any` admits every key
 * @param anyOrigin for operations that run nothing: static files
 * @throws OriginNotAllowed, AuthNotConfigured, Unauthenticated, Forbidden, FormNotTrusted
 */
export async function guard(
  context: RequestContext,
  scope: Scope | "any",
  { anyOrigin = false }: { anyOrigin?: boolean } = {},
): Promise<void> {
  const { settings, request, admitted } = context;
  if (admitted !== null) {
    if (scope === "any" || grants(admitted.scopes, scope)) return;
    throw new Forbidden({ scope });
  }
  const open = openTo(settings, scope);
  // If no key is configured, a key that a client sends means nothing.
  const keyed = await keysConfigured(context);
  const sent = keyed ? sentKey(request) : null;
  if (await sentByHullDev(context)) return context.admit(LOCAL_CALLER);
  if (sent === null && keyed && (await isSignedIn(context, scope))) return;
  if (sent === null && !anyOrigin && (open !== null || !keyed)) checkOrigin(context);
  if (sent !== null) return context.admit(await callerWith(context, sent, scope));
  const { local, loopback } = settings;
  if (!keyed && local && loopback && !isForwarded(request)) return context.admit(LOCAL_CALLER);
  if (open !== null) return context.admit(open);
  if (!keyed) throw new AuthNotConfigured({ local });
  throw new Unauthenticated({ reason: "This deployment needs an API key." });
}

/** In these headers proxies and tunnels state for whom they ask. A client that forges one only loses rights. */
const FORWARDED = ["x-forwarded-for", "x-real-ip", "forwarded"];
const THIS_MACHINE = /^(?:::ffff:)?127\.\d+\.\d+\.\d+(?::\d+)?$|^(?:::1|\[::1\](?::\d+)?)$/i;

/** Whether a proxy on this machine says that it asks for another one. */
function isForwarded({ headers }: Request): boolean {
  const listed = FORWARDED.flatMap((name) => headers.get(name)?.split(",") ?? []);
  const addresses = listed.map((item) =>
    (/\bfor=([^;]*)/i.exec(item)?.[1] ?? item).replaceAll('"', "").trim(),
  );
  return !addresses.every((address) => THIS_MACHINE.test(address));
}

/** The caller of a request without a key: on a server that was declared public, anybody may run things. */
function openTo(settings: Settings, scope: Scope | "any"): Caller | null {
  return settings.public && (scope === "invoke" || scope === "any") ? PUBLIC_CALLER : null;
}

/**
 * Whether keys decide who may call. Only `HULL_ADMIN_KEY` makes local dev require keys: keys in its database must not
 * lock out a developer who has no other.
 */
export async function keysConfigured({ settings, deployment }: RequestContext): Promise<boolean> {
  return settings.adminKey !== null || (!settings.local && (await deployment.keys.any()));
}

/**
 * Refuses requests from another site's page that carry no key: without that proof of intent, the page may not make a
 * browser run something.
 */
function checkOrigin(context: RequestContext): void {
  const { headers } = context.request;
  // Browsers omit `Origin` in many GET requests. Another port of this machine counts as the same site, although its page
  // is not Hull's.
  const from = headers.get("sec-fetch-site") ?? "none";
  if (headers.get("origin") === null && from !== "none" && from !== "same-origin") {
    throw new OriginNotAllowed({ origin: null });
  }
  checkSentOrigin(context);
}

/**
 * Refuses the pages of other sites, whatever key they send, as MCP requires of a server.
 * @param always tells the caller that a key makes no difference
 * @throws OriginNotAllowed
 */
export function checkSentOrigin({ request, settings }: RequestContext, always = false): void {
  const { headers } = request;
  const origin = headers.get("origin");
  if (origin === null) return;
  // A form on a page that hides its address sent the request. A sandboxed page counts as another site.
  if (origin === "null" && headers.get("sec-fetch-site") === "same-origin") return;
  const { allowed_origins, cors_origins } = settings;
  if (isOrigin(origin, request) || allowed_origins.includes(origin) || cors_origins.includes(origin)) return;
  throw new OriginNotAllowed({ origin, always });
}

/** The key in a request. */
export function sentKey({ headers }: Request): string | null {
  const authorization = headers.get("authorization");
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? headers.get("x-api-key");
}

async function callerWith(context: RequestContext, sent: string, scope: Scope | "any"): Promise<Caller> {
  const digest = await digestOf(sent);
  if (await context.deployment.keys.isAdmin(digest)) return ADMIN_CALLER;
  const hash = toHex(new Uint8Array(digest));
  const key = hasKeyForm(sent) ? await storedKey(context, hash) : null;
  if (key === null) throw new Unauthenticated({ reason: "This API key is not known here." });
  context.stillAdmitted = async () => (await storedKey(context, hash)) !== null;
  context.redactAlso(new Redactor([sent]));
  return permitted(context, key, scope);
}

/** @throws Forbidden */
function permitted(context: RequestContext, key: ApiKey, scope: Scope | "any"): Caller {
  const caller = callerOf(key);
  if (scope === "any" || grants(key.scopes, scope)) return caller;
  context.admit(caller);
  throw new Forbidden({ scope });
}

/**
 * The cookie of browsers that signed in. Browsers send a cookie with the prefix `__Host-` only over HTTPS, to the host
 * that set it.
 */
export function signInCookieName({ url }: Request): string {
  const { protocol, port } = new URL(url);
  // For a browser, local servers on other ports are the same host.
  return protocol === "https:" ? "__Host-hull" : `hull-${port || "80"}`;
}

/** Methods without effects. */
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
/** Forms below this path carry their token in a field; the reader of the form checks it. */
const FORMS = "/console/";

/**
 * Whether a page of this origin sent the request from a browser that signed in; if so, this admits the caller. A request
 * with effects must also prove that no other page sent it: by `x-hull-form-token`, or by a field of the console's forms.
 * @throws Forbidden, FormNotTrusted
 */
async function isSignedIn(context: RequestContext, scope: Scope | "any"): Promise<boolean> {
  const { request, deployment } = context;
  const name = `${signInCookieName(request)}=`;
  const cookies = request.headers.get("cookie")?.split(/; */) ?? [];
  const sealed = cookies.find((cookie) => cookie.startsWith(name))?.slice(name.length) ?? "";
  if (sealed === "" || !isOwnPage(request)) return false;
  const signIn = await deployment.signIns.open(sealed, Date.now());
  if (signIn === null || (await deployment.endedSignIns.has(signIn, context.background))) return false;
  const caller = await callerOfHash(context, signIn.hash, scope);
  if (caller === null) return false;
  context.signIn = signIn;
  context.stillAdmitted = async () =>
    Date.now() < signIn.until &&
    !(await deployment.endedSignIns.has(signIn, context.background)) &&
    (await callerOfHash(context, signIn.hash, scope)) !== null;
  if (!SAFE.has(request.method) && !context.route.startsWith(FORMS)) {
    await checkFormToken(context, request.headers.get("x-hull-form-token"));
  }
  context.admit(caller);
  return true;
}

/** The owner of the key with this hash; `null` if the key no longer exists. @throws Forbidden */
async function callerOfHash(
  context: RequestContext,
  hash: string,
  scope: Scope | "any",
): Promise<Caller | null> {
  if (await context.deployment.keys.isAdmin(fromHex(hash).buffer)) return ADMIN_CALLER;
  const key = await storedKey(context, hash);
  return key === null ? null : permitted(context, key, scope);
}

/**
 * Refuses a request of a signed-in browser that lacks the token of its cookie. Callers with a key need no such token.
 * @throws FormNotTrusted
 */
export async function checkFormToken({ signIn }: RequestContext, token: string | null): Promise<void> {
  if (signIn === null) return;
  if (!(await isSame(token ?? "", signIn.token))) throw new FormNotTrusted({});
}

/**
 * Whether a page of this origin made the request, or the user directly. Browsers state this; other clients are not
 * pages.
 */
export function isOwnPage(request: Request): boolean {
  const from = request.headers.get("sec-fetch-site");
  if (from !== null) return from === "same-origin" || from === "none";
  const origin = request.headers.get("origin");
  return origin === null || isOrigin(origin, request);
}

/** Whether an origin is the one at which the request arrived. */
const isOrigin = (origin: string, { headers, url }: Request): boolean =>
  origin === new URL(url).origin || (URL.canParse(origin) && new URL(origin).host === headers.get("host"));

/** Whether the request comes from the local server itself, which must be able to publish even if nobody else may. */
async function sentByHullDev({ settings, request }: RequestContext): Promise<boolean> {
  const sent = settings.local && settings.devKey !== null ? sentKey(request) : null;
  if (sent === null || settings.devKey === null) return false;
  return crypto.subtle.timingSafeEqual(await digestOf(sent), await digestOf(settings.devKey));
}

/** The stored key with this hash. */
export async function storedKey(context: RequestContext, hash: string): Promise<ApiKey | null> {
  const { keys } = context.deployment;
  const remembered = keys.remembered(hash, context.background);
  if (remembered !== undefined) return remembered;
  await shieldKeyLookup(context);
  return keys.read(hash, context.background);
}
