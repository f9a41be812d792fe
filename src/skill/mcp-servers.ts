/** `mcp_servers` of an llm skill: remote servers whose tools its model can call (docs/mcp.md). */
import { readMap, readMapping, wrongType } from "./fields.ts";
import type { Findings } from "./findings.ts";
import type { McpServer } from "./manifest.ts";
import { MCP_SERVER_FIELDS } from "./manifest-fields.ts";
import { templateVariables } from "./placeholder.ts";
import { readHeaders } from "./proxy.ts";
import { child, type Slot, stringOf } from "./tree.ts";

/** The form of its name, so that `<server>__<tool>` is a valid tool name. */
const NAME = /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/;
const MAX_NAME = 32;
const MAX_SERVERS = 16;
export const DEFAULT_MCP_TIMEOUT_MS = MCP_SERVER_FIELDS.timeout_ms.default;

/** @param keyVariables names of variables that hold provider keys, which no server gets */
export function readMcpServers(
  findings: Findings,
  slot: Slot | undefined,
  keyVariables: readonly string[],
): McpServer[] {
  const map = readMap(findings, slot);
  if (map === undefined || slot === undefined) return [];
  const prefixes = new Set<string>();
  const servers: McpServer[] = [];
  for (const name of map.entries.keys()) {
    const at = child(map, name, slot.path);
    if (at === undefined) continue;
    const prefix = toolPrefix(name);
    const why = prefixes.has(prefix) ? "another server has it" : serverNameFault(name);
    if (why !== null) {
      findings.error("mcp_server_name", at, `The server's name "${name}" is not accepted: ${why}.`);
      continue;
    }
    prefixes.add(prefix);
    const server = readServer(findings, name, at, keyVariables);
    if (server !== null) servers.push(server);
  }
  if (servers.length > MAX_SERVERS) {
    findings.error("mcp_server_count", slot, `A skill has at most ${MAX_SERVERS} MCP servers.`);
  }
  return servers;
}

/** The fault of a server's name; `null` if it is valid. */
export const serverNameFault = (name: string): string | null =>
  NAME.test(name) && name.length <= MAX_NAME
    ? null
    : `a name is 1 to ${MAX_NAME} of a-z, 0-9, - and _, beginning with a letter`;

/** The prefix of the names of a server's tools. */
export const toolPrefix = (name: string): string => `${name.replaceAll("-", "_")}__`;

function readServer(
  findings: Findings,
  name: string,
  slot: Slot,
  keyVariables: readonly string[],
): McpServer | null {
  if (slot.node.kind !== "map") {
    // The short form: only the address.
    const url = readUrl(findings, slot);
    return url === null ? null : { name, url, headers: {}, timeout_ms: DEFAULT_MCP_TIMEOUT_MS };
  }
  const server = readMapping(findings, slot, MCP_SERVER_FIELDS, {
    url: (at) => {
      if (at !== undefined) return readUrl(findings, at) ?? undefined;
      findings.error("mcp_server_url", slot, `The server ${name} has no url.`, "Add url: https://….");
      return undefined;
    },
    headers: (at) => {
      const headers = readHeaders(findings, at, "This server will bring no tools.");
      if (at !== undefined) checkKeys(findings, at, headers, keyVariables);
      return headers;
    },
  });
  return server === undefined ? null : { name, ...server };
}

function readUrl(findings: Findings, slot: Slot): string | null {
  const text = stringOf(slot.node)?.trim();
  if (text === undefined) {
    wrongType(findings, slot, "an address, or a mapping with url");
    return null;
  }
  const url = serverUrl(text);
  if (url !== null) return url.href;
  findings.error(
    "mcp_server_url",
    slot,
    `The field ${slot.path} must be an http or https URL without user name, fragment and placeholders.`,
    "Write for example https://mcp.example.com/mcp; put secrets into headers.",
  );
  return null;
}

/** The address of a server; `null` if no server may have this address. */
export function serverUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const fits = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  return fits && url.hash === "" && !text.includes("${") ? url : null;
}

function checkKeys(
  findings: Findings,
  slot: Slot,
  headers: McpServer["headers"],
  keyVariables: readonly string[],
): void {
  for (const name of templateVariables(Object.values(headers))) {
    if (!keyVariables.includes(name)) continue;
    findings.error(
      "mcp_server_key",
      slot,
      `${name} is a model provider's key, which Hull never sends to an MCP server.`,
      "Give the server a key of its own.",
    );
  }
}
