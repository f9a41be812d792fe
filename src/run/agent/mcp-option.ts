/**
 * The run option `mcp_servers`: servers of hull.toml by name, and other servers on hosts that hull.toml allows
 * (docs/mcp.md).
 */
import type { Fault } from "../../engine/fault.ts";
import { refused } from "../../llm/prepare.ts";
import type { McpServer } from "../../skill/manifest.ts";
import { DEFAULT_MCP_TIMEOUT_MS, serverNameFault, serverUrl } from "../../skill/mcp-server-name.ts";
import { toolPrefix } from "../../skill/mcp-servers.ts";
import { addressFault } from "../../tool/mcp/address.ts";
import type { RunContext } from "../context.ts";
import { type ServerOwner, serversOfDeployment, serversOfRequest } from "../mcp/owner.ts";
import { allowedHosts } from "../mcp/servers.ts";
import type { RunOptions } from "./option-shapes.ts";

type Given = NonNullable<RunOptions["mcp_servers"]>[number];

/**
 * The servers of hull.toml that a run asks for, and those that the request defines.
 * @throws InputInvalid with a path per finding
 */
export function readServersOption(
  { settings, tenant }: RunContext,
  given: readonly Given[],
): { deployed: ServerOwner<McpServer>; brought: ServerOwner<McpServer> } {
  const faults: Fault[] = [];
  const deployed = serversOfDeployment(settings, tenant);
  const named: McpServer[] = [];
  const brought: McpServer[] = [];
  const prefixes = new Set<string>();
  for (const [index, item] of given.entries()) {
    const path = `options.mcp_servers.${index}`;
    const asked = typeof item === "string" ? { name: item } : item;
    const known = deployed.servers.find(({ name }) => name === asked.name);
    const fault = faultOf(asked, known, deployed, prefixes) ?? hostFault(settings, asked.url);
    if (fault !== null) faults.push({ path, message: `${path} ${fault}` });
    else if (known !== undefined) named.push(narrowed(known, asked));
    else {
      const { name, url = "", tools, timeout_ms = DEFAULT_MCP_TIMEOUT_MS } = asked;
      const server = { name, url: new URL(url).href, headers: {}, timeout_ms };
      brought.push(tools === undefined ? server : { ...server, tools });
    }
    prefixes.add(toolPrefix(asked.name));
  }
  if (faults.length > 0) throw refused(faults);
  return { deployed: { ...deployed, servers: named }, brought: serversOfRequest(brought) };
}

type Asked = Exclude<Given, string>;

/** Why the run may not use a server, as the end of a sentence that begins with the option's path; `null`: it may. */
function faultOf(
  { name, url }: Asked,
  known: McpServer | undefined,
  { servers }: ServerOwner<McpServer>,
  prefixes: ReadonlySet<string>,
): string | null {
  const names = servers.map((server) => server.name).join(", ") || "none";
  if (prefixes.has(toolPrefix(name))) return `names "${name}" for the second time.`;
  if (url === undefined) {
    return known === undefined ? `names "${name}"; hull.toml has these servers for you: ${names}.` : null;
  }
  if (known !== undefined) return `has a url, but "${name}" is a server of hull.toml: leave the url out.`;
  const fault = serverNameFault(name);
  return fault === null ? null : `has the name "${name}", but ${fault}.`;
}

function hostFault(settings: RunContext["settings"], url: string | undefined): string | null {
  if (url === undefined) return null;
  const address = serverUrl(url);
  if (address === null) return "has an invalid url, or one with a user name, a fragment or a placeholder.";
  const fault = addressFault(address, allowedHosts(settings));
  return fault === null ? null : `cannot be asked. ${fault}`;
}

/** The server limited to what the caller asks for, which may be less than hull.toml permits. */
function narrowed(server: McpServer, { tools, timeout_ms = server.timeout_ms }: Asked): McpServer {
  const { tools: given } = server;
  const wanted = tools?.filter((tool) => given === undefined || given.includes(tool)) ?? given;
  const limited = { ...server, timeout_ms: Math.min(timeout_ms, server.timeout_ms) };
  return wanted === undefined ? limited : { ...limited, tools: wanted };
}
