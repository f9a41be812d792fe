/** Which hosts foreign code may reach: public ones, or those of a list. Pure. */

/** Names that never belong to the public internet (RFC 6761, RFC 6762, RFC 8375). */
const LOCAL_NAMES = ["localhost", "local", "internal", "home.arpa", "invalid"];

/** Networks that are not public, as `[address, length of the prefix]` (the registries of RFC 6890). */
const PRIVATE_V4: [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

/**
 * Why a URL may not be requested, as the end of a sentence that begins with the host; `null`: it may.
 * @param hosts names, `*.example.com` for all hosts below one; `null`: any public one
 */
export function hostFault({ protocol, hostname }: URL, hosts: readonly string[] | null): string | null {
  if (protocol !== "http:" && protocol !== "https:")
    return `has an address of ${protocol}, and only http and https are allowed`;
  const host = hostname.replace(/\.+$/, "").toLowerCase();
  if (isPrivate(host)) return "is a private address";
  if (hosts === null || hosts.some((pattern) => matches(pattern.toLowerCase(), host))) return null;
  return `is not among the hosts that are allowed: ${hosts.join(", ") || "none"}`;
}

function matches(pattern: string, host: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

function isPrivate(host: string): boolean {
  if (host.startsWith("[")) return isPrivateV6(host.slice(1, -1));
  const v4 = v4Number(host);
  if (v4 !== null) return isPrivateV4(v4);
  return !host.includes(".") || LOCAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}

/** The number of an IPv4 address. The URL parser has already written every form of it as four decimal numbers. */
function v4Number(host: string): number | null {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(host)) return null;
  return host.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function isPrivateV4(address: number): boolean {
  return PRIVATE_V4.some(([network, length]) => {
    const size = 2 ** (32 - length);
    return Math.floor(address / size) === Math.floor((v4Number(network) ?? 0) / size);
  });
}

/** Global unicast is `2000::/3`. Tunnels in it count as their targets, and documentation addresses are not public. */
function isPrivateV6(address: string): boolean {
  const groups = groupsOf(address);
  const [first = 0, second = 0, third = 0] = groups;
  const last = (groups[6] ?? 0) * 65_536 + (groups[7] ?? 0);
  const zeros = groups.slice(0, 5).every((group) => group === 0);
  if (zeros && groups[5] === 0xffff) return isPrivateV4(last);
  // Among the networks for address translation, only the well-known one leads to the embedded address (RFC 6052, RFC
  // 8215).
  if (first === 0x64 && second === 0xff9b) {
    return groups.slice(2, 6).some((group) => group !== 0) || isPrivateV4(last);
  }
  if (first === 0x2002) return isPrivateV4(second * 65_536 + third);
  if (first === 0x2001 && (second === 0xdb8 || second < 0x200)) return true;
  return first < 0x2000 || first > 0x3fff;
}

function groupsOf(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const numbers = (text: string) =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  if (tail === undefined) return numbers(head);
  const before = numbers(head);
  const after = numbers(tail);
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}
