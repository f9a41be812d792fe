/**
 * Which other sites' pages may read answers: only those of `cors_origins`. Hono's `cors` answers each OPTIONS without
 * the route, which knows its methods, and allows either a fixed list of headers or all.
 */
import type { RequestContext } from "./context.ts";

const ALLOW_HEADERS = [
  "authorization",
  "content-type",
  "idempotency-key",
  "if-match",
  "if-none-match",
  "last-event-id",
  "prefer",
  "x-hull-bot",
  "x-hull-mock-scope",
  "x-request-id",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
] as const;
/** Further headers that the vendors' SDKs send to `/v1`; their names change with each release. */
const SDK_HEADER = /^(?:x-api-key|user-agent|(?:x-stainless|anthropic|openai)-[a-z0-9-]+)$/;
/** How long a browser may cache a preflight's answer, in seconds. */
const MAX_AGE_S = "7200";
/** Headers that a page may read: all of Hull's own, and those that say how to handle an answer. */
const EXPOSE_HEADERS = [
  "x-hull-bundle",
  "x-hull-diagnostics",
  "x-hull-duration-ms",
  "x-hull-execution-id",
  "x-hull-files",
  "x-hull-finish-reason",
  "x-hull-ignored",
  "x-hull-note",
  "x-hull-replayed",
  "x-hull-run-id",
  "x-hull-skill",
  "x-hull-stale",
  "x-hull-usage",
  "x-hull-warnings",
  "x-request-id",
  "x-total-count",
  "server-timing",
  "retry-after",
  "etag",
  "link",
  "location",
  "content-disposition",
] as const;

/**
 * Adds the headers that a listed origin needs to an answer, including errors and the answer of a preflight.
 * @param v1 whether the request is for one of the vendors' routes
 */
export function addCors({ request, settings }: RequestContext, response: Response, v1: boolean): void {
  if (settings.cors_origins.length === 0) return;
  const { headers } = response;
  // The answer depends on the origin even if it is not listed: a cache must not mix them up.
  headers.append("vary", "Origin");
  const origin = request.headers.get("origin");
  if (origin === null || !settings.cors_origins.includes(origin)) return;
  headers.set("access-control-allow-origin", origin);
  const exposed = v1 ? [...EXPOSE_HEADERS, "request-id"] : EXPOSE_HEADERS;
  headers.set("access-control-expose-headers", exposed.join(", "));
  if (request.method !== "OPTIONS" || !request.headers.has("access-control-request-method")) return;
  headers.set("access-control-allow-methods", headers.get("allow") ?? "");
  const further = v1 ? sdkHeaders(request) : [];
  headers.set("access-control-allow-headers", [...ALLOW_HEADERS, ...further].join(", "));
  headers.set("access-control-max-age", MAX_AGE_S);
}

/** The vendors' headers among those for which a preflight asks. */
function sdkHeaders({ headers }: Request): string[] {
  const asked = headers.get("access-control-request-headers") ?? "";
  return asked
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => SDK_HEADER.test(name));
}
