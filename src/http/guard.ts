/** Who may call (serving.md §5.3, contract.md "Auth"): host pin, origin rule, keys and scopes. */
import { AuthNotConfigured, HostNotAllowed, OriginNotAllowed, Unauthenticated } from "../errors/request.ts";
import type { RequestContext } from "./context.ts";

export type Scope = "invoke" | "publish" | "admin";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Served on loopback, only its own names are served, so that a rebound DNS name reaches nothing. */
export function checkHost(context: RequestContext): void {
  if (!context.settings.local || !context.settings.pin_hosts) return;
  const header = context.request.headers.get("host") ?? new URL(context.request.url).host;
  const name = hostName(header);
  if (!LOOPBACK.has(name) && !context.settings.allowed_hosts.includes(name)) {
    throw new HostNotAllowed({ host: name });
  }
}

/** Without a key to prove intent, another site's page may not make a browser run something. */
export function checkOrigin(context: RequestContext): void {
  const { headers, url } = context.request;
  if (headers.has("authorization")) return;
  const origin = headers.get("origin");
  if (origin === null) {
    if (headers.get("sec-fetch-site") === "cross-site") throw new OriginNotAllowed({ origin: null });
    return;
  }
  const own = new URL(url).origin;
  const sameHost = URL.canParse(origin) && new URL(origin).host === headers.get("host");
  if (origin === own || sameHost || context.settings.allowed_origins.includes(origin)) return;
  throw new OriginNotAllowed({ origin });
}

/**
 * Lets a call pass that proves one of the deployment's keys. Local dev without a key is open; a deployment without a
 * key refuses everything, unless it is declared public, which opens running but not publishing.
 */
export async function checkKey(context: RequestContext, scope: Scope): Promise<void> {
  const { settings, request } = context;
  if (settings.adminKey === null) {
    if (settings.local || (settings.public && scope === "invoke")) return;
    throw new AuthNotConfigured({});
  }
  const authorization = request.headers.get("authorization");
  const sent = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? request.headers.get("x-api-key");
  if (sent === undefined || sent === null) {
    if (settings.public && scope === "invoke") return;
    throw new Unauthenticated({ reason: "This deployment needs an API key." });
  }
  if (!(await sameSecret(sent, settings.adminKey))) {
    throw new Unauthenticated({ reason: "This API key is not known here." });
  }
}

/** Compares digests, so that the time taken tells nothing about the key. */
async function sameSecret(a: string, b: string): Promise<boolean> {
  const digest = (text: string): Promise<ArrayBuffer> =>
    crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const [left, right] = await Promise.all([digest(a), digest(b)]);
  return crypto.subtle.timingSafeEqual(left, right);
}

function hostName(header: string): string {
  return header.toLowerCase().replace(/:\d+$/, "");
}
