/** Which hosts foreign code may reach: public ones, or those of a list. Pure. */
import ipaddr from "ipaddr.js";

/** Names that never belong to the public internet (RFC 6761, RFC 6762, RFC 8375). */
const LOCAL_NAMES = ["localhost", "local", "internal", "home.arpa", "invalid"];

/**
 * Why a URL may not be requested, as the end of a sentence that begins with the host; `null`: it may.
 * @param hosts names, `*.example.com` for all hosts below one; `null` means any public one
 */
export function hostFault({ protocol, hostname }: URL, hosts: readonly string[] | null): string | null {
  if (protocol !== "http:" && protocol !== "https:")
    return `has an address of ${protocol}, and only http and https are allowed`;
  // A URL has it in lower case.
  const host = hostname.replace(/(?<!\.)\.+$/, "");
  if (isPrivate(host)) return "is a private address";
  if (hosts === null || hosts.some((pattern) => matches(pattern.toLowerCase(), host))) return null;
  return `is not among the hosts that are allowed: ${hosts.join(", ") || "none"}`;
}

function matches(pattern: string, host: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

function isPrivate(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, "");
  if (ipaddr.isValid(address)) return isPrivateAddress(ipaddr.process(address));
  return !host.includes(".") || LOCAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}

/** Whether an address belongs to a network with a special purpose (the registries of RFC 6890). */
function isPrivateAddress(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address instanceof ipaddr.IPv6) {
    // The well-known network for address translation leads to the embedded IPv4 address (RFC 6052).
    if (address.match(ipaddr.parseCIDR("64:ff9b::/96")))
      return isPrivateAddress(new ipaddr.IPv4(address.toByteArray().slice(12)));
    // Global unicast (RFC 4291): the range of an address outside of it may be "unicast" too.
    if (!address.match(ipaddr.parseCIDR("2000::/3"))) return true;
  }
  return address.range() !== "unicast";
}
