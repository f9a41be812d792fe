/** The request of a proxy skill to its upstream. */
import type { SentVariables } from "../../run/sent-variables.ts";
import type { ProxySettings, SkillRecord } from "../../skill/manifest.ts";

/**
 * Headers that authenticate a caller to Hull, or that set a cookie in the caller's browser. For an uploaded skill, Hull
 * neither forwards nor returns them, even if the manifest lists them: the skill could steal its callers' keys.
 */
const CREDENTIAL_HEADERS = ["authorization", "x-api-key", "cookie", "x-hull-form-token", "set-cookie"];

/** The same of Cloudflare Access in front of Hull: the assertion of who calls, and the keys of services. */
const isCredential = (name: string): boolean =>
  CREDENTIAL_HEADERS.includes(name) || name.startsWith("cf-access-");

/** The proxy settings of a skill; those of an uploaded skill without headers that are credentials. */
export function proxySettings({ manifest, uploaded_by }: SkillRecord): ProxySettings | undefined {
  const { proxy } = manifest;
  if (proxy === undefined || uploaded_by === undefined) return proxy;
  const allowed = (names: string[]): string[] => names.filter((name) => !isCredential(name));
  const { forward_headers, return_headers } = proxy;
  return { ...proxy, forward_headers: allowed(forward_headers), return_headers: allowed(return_headers) };
}

/**
 * The upstream URL: the manifest's, with the caller's query added as it was written. A caller cannot change what the
 * manifest sets.
 */
export function upstreamUrl(proxy: ProxySettings, variables: SentVariables, requestUrl: string): URL {
  const url = new URL(variables.fill(proxy.url, encodeURIComponent));
  const own = new Set(url.searchParams.keys());
  const setsOwn = (pair: string): boolean =>
    [...new URLSearchParams(pair).keys()].some((name) => own.has(name));
  // To some servers a ; separates as & does.
  const asked = new URL(requestUrl).search.slice(1).replaceAll(";", "%3B").split("&");
  const added = asked.filter((pair) => pair !== "" && !setsOwn(pair));
  const kept = url.search === "" ? [] : [url.search.slice(1)];
  url.search = [...kept, ...added].join("&");
  return url;
}

/**
 * Headers upstream: those that describe the body, those that the skill forwards by name, and those that the manifest
 * sets.
 */
export function upstreamHeaders(proxy: ProxySettings, variables: SentVariables, incoming: Headers): Headers {
  const headers = new Headers();
  for (const name of ["content-type", "accept", ...proxy.forward_headers]) {
    const value = incoming.get(name);
    if (value !== null) headers.set(name, value);
  }
  for (const [name, template] of Object.entries(proxy.headers)) {
    headers.set(name, variables.fill(template));
  }
  // Lengths are valid only for a body that nothing recodes on the way.
  headers.set("accept-encoding", "identity");
  if (!headers.has("user-agent")) headers.set("user-agent", "hull");
  return headers;
}

const PASSED_DOWN = new Set([
  "content-type",
  "content-disposition",
  "content-language",
  "content-range",
  "accept-ranges",
  "cache-control",
  "etag",
  "last-modified",
  "expires",
  "retry-after",
]);

/** Headers downstream: those that describe the answer, rate limits, and those that the skill returns by name. */
export function returnedHeaders(proxy: ProxySettings, upstream: Headers, url: URL): Headers {
  const headers = new Headers();
  const named = new Set(proxy.return_headers);
  for (const [name, value] of upstream) {
    if (PASSED_DOWN.has(name) || /^(x-)?ratelimit/.test(name) || named.has(name)) headers.append(name, value);
  }
  const location = upstream.get("location");
  if (location !== null && URL.canParse(location, url)) {
    const target = new URL(location, url);
    if (target.origin === url.origin) headers.set("location", target.pathname + target.search + target.hash);
    else headers.delete("location");
  }
  return headers;
}
