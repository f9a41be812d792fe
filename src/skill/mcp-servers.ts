/** `mcp_servers` of an llm skill: servers whose tools its model can call, remote ones and processes (docs/mcp.md). */
import { checkCommandFiles, readCommand, type SkillFiles } from "./command.ts";
import { type Readers, readMapping, readSlots, wrongType } from "./fields.ts";
import type { Findings } from "./findings.ts";
import type { McpProcess, McpServer } from "./manifest.ts";
import { MCP_PROCESS_FIELDS, MCP_SERVER_FIELDS } from "./manifest-fields.ts";
import { DEFAULT_MCP_TIMEOUT_MS, serverNameFault, serverUrl } from "./mcp-server-name.ts";
import { templateVariables } from "./placeholder.ts";
import { readHeaders, readTemplate } from "./proxy.ts";
import { variableFault } from "./tool-env.ts";
import { type Slot, stringOf } from "./tree.ts";

const MAX_SERVERS = 16;

/** The program and all arguments of a server that is a process. */
export const serverArgv = ({ command, args = [] }: McpProcess): string[] => [...command, ...args];

/** The texts of a server that may contain `${VAR}`. */
export const serverTemplates = (server: McpServer | McpProcess): string[] =>
  Object.values("command" in server ? server.env : server.headers);

/**
 * @param keyVariables names of variables that hold provider keys, which no server gets
 * @param files of the skill
 */
export function readMcpServers(
  findings: Findings,
  slot: Slot,
  keyVariables: readonly string[],
  files: SkillFiles | undefined,
): (McpServer | McpProcess)[] {
  const prefixes = new Set<string>();
  const servers: (McpServer | McpProcess)[] = [];
  for (const [name, at] of readSlots(findings, slot) ?? []) {
    const prefix = toolPrefix(name);
    const why = prefixes.has(prefix) ? "another server has it" : serverNameFault(name);
    if (why !== null) {
      findings.error("mcp_server_name", at, `The server's name "${name}" is not accepted: ${why}.`);
      continue;
    }
    prefixes.add(prefix);
    const isProcess = at.node.kind === "map" && at.node.entries.has("command");
    const server = isProcess
      ? readProcess(findings, name, at, keyVariables, files)
      : readServer(findings, name, at, keyVariables);
    if (server !== null) servers.push(server);
  }
  if (servers.length > MAX_SERVERS) {
    findings.error("mcp_server_count", slot, `A skill has at most ${MAX_SERVERS} MCP servers.`);
  }
  return servers;
}

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
  const readers: Readers<typeof MCP_SERVER_FIELDS> = {
    url: (at) => readUrl(findings, at) ?? undefined,
    headers: (at) => {
      const headers = readHeaders(findings, at, NO_TOOLS);
      checkKeys(findings, at, headers, keyVariables);
      return headers;
    },
  };
  const noUrl = `The server ${name} has no url.`;
  const hint = "Add url: https://…, or the command: of a server that speaks by its standard streams.";
  const server = readMapping(findings, slot, MCP_SERVER_FIELDS, readers, {
    url: () => findings.error("mcp_server_url", slot, noUrl, hint),
  });
  return server === undefined ? null : { name, ...server };
}

/** What follows from a variable that Hull never fills in. */
const NO_TOOLS = "This server will bring no tools.";

function readProcess(
  findings: Findings,
  name: string,
  slot: Slot,
  keyVariables: readonly string[],
  files: SkillFiles | undefined,
): McpProcess | null {
  const read = readMapping(findings, slot, MCP_PROCESS_FIELDS, {
    command: (at) => readCommand(findings, at),
    env: (at) => readEnv(findings, at, keyVariables),
  });
  if (read === undefined) return null;
  const server = { name, ...read };
  if (files !== undefined) checkCommandFiles(findings, slot, serverArgv(server), files);
  return server;
}

/** The environment that a server's process gets in addition to that of every process. */
function readEnv(findings: Findings, slot: Slot, keyVariables: readonly string[]): McpProcess["env"] {
  const env: McpProcess["env"] = {};
  for (const [name, at] of readSlots(findings, slot) ?? []) {
    const isKey = keyVariables.includes(name);
    const fault =
      variableFault(name) ?? (isKey ? "no process gets a variable of a model provider's key" : null);
    if (fault !== null) {
      findings.error("mcp_server_env", at, `The variable ${name} is not accepted: ${fault}.`);
      continue;
    }
    const value = readTemplate(findings, at, `the variable ${name}`, NO_TOOLS);
    if (value !== undefined) env[name] = value;
  }
  checkKeys(findings, slot, env, keyVariables);
  return env;
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

function checkKeys(
  findings: Findings,
  slot: Slot,
  templates: { [name: string]: string },
  keyVariables: readonly string[],
): void {
  for (const name of templateVariables(Object.values(templates))) {
    if (!keyVariables.includes(name)) continue;
    findings.error(
      "mcp_server_key",
      slot,
      `${name} is a model provider's key, which Hull never sends to an MCP server.`,
      "Give the server a key of its own.",
    );
  }
}
