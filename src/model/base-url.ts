/** Reads a provider's base URL from variables and configuration. */
import { ProviderMisconfigured } from "../errors/provider.ts";

interface BaseUrlRule {
  provider: string;
  /** The source of the text, for the error: a variable, or `base_url` of hull.toml. */
  variable: string;
  /** Appended to an origin without a path, e.g. `/v1`; may be empty. */
  path: string;
  /** Plain http is refused for hosts other than loopback, because the call carries a key. */
  keyed: boolean;
}

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|0\.0\.0\.0|\[::1\])$/;
const IP_ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/i;

/**
 * Normalises the text of a base URL. Without a scheme it gets `http://` for localhost and IP addresses, else
 * `https://`. An origin without a path gets the provider's path; a given path stays; trailing slashes are removed.
 * @throws ProviderMisconfigured for anything but an http(s) URL of host and path, and for http with a key to a host
 *   other than loopback
 */
export function readBaseUrl(text: string, rule: BaseUrlRule): string {
  const fail = (reason: string) =>
    new ProviderMisconfigured({ provider: rule.provider, variable: rule.variable, reason });
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${impliedScheme(text)}://${text}`);
  if (url === null || url.hostname === "" || !/^https?:$/.test(url.protocol)) {
    throw fail(`${rule.variable} is not an http or https URL`);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw fail(`${rule.variable} may hold a host, a port and a path only`);
  }
  if (rule.keyed && url.protocol === "http:" && !LOOPBACK.test(url.hostname)) {
    throw fail(`${rule.variable} must begin with https:// unless its host is loopback`);
  }
  const path = url.pathname.replace(/(?<!\/)\/+$/, "");
  return url.origin + (path === "" ? rule.path : path);
}

function impliedScheme(text: string): "http" | "https" {
  const host = text.replace(/\/.*$/, "").replace(/:\d*$/, "");
  return LOOPBACK.test(host) || IP_ADDRESS.test(host) ? "http" : "https";
}

/** Joins base and endpoint. Ollama's own endpoints do not lie below the path of its OpenAI-compatible ones. */
export function join(base: string, endpoint: string): string {
  const root = /^\/api\/(?:chat|generate|tags)$/.test(endpoint) ? base.replace(/\/v1$/, "") : base;
  return root + endpoint;
}
