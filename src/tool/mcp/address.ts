/** Which MCP servers Hull may ask (docs/mcp.md): hosts that the deployment lists, public ones, over https. Pure. */
import { hostFault } from "../public-host.ts";

export interface AllowedHosts {
  /** Names; `*.example.com` for all hosts below one. `null`: all public ones. */
  hosts: readonly string[] | null;
  /** Permits servers on the same machine, in local dev. */
  loopback: boolean;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Why Hull may not ask the server, as a sentence that says what to do; `null`: it may. */
export function addressFault(url: URL, { hosts, loopback }: AllowedHosts): string | null {
  if (LOOPBACK.has(url.hostname)) {
    return loopback
      ? null
      : `The host ${url.hostname} is this machine; local dev permits it with allow_loopback = true under [mcp] in hull.toml.`;
  }
  // No setting permits this host.
  const never = hostFault(url, null);
  if (never !== null) return `The host ${url.hostname} ${never}.`;
  const fault = hostFault(url, hosts);
  if (fault !== null)
    return `The host ${url.hostname} ${fault}. The operator adds it to [mcp] allowed_hosts in hull.toml.`;
  // Headers hold secrets, so http is refused.
  return url.protocol === "https:"
    ? null
    : `The host ${url.hostname} has an http address; Hull asks it by https only.`;
}
