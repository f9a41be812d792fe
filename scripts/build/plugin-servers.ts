/**
 * The MCP servers that a plugin expects: those of its `.mcp.json`, and of `mcpServers` in plugin.json or marketplace.json.
 * Its skills use those that hull.toml has under the same names (docs/mcp.md); Hull takes no address or command from here.
 */
import { resolve } from "node:path";
import * as z from "zod";
import { serverNameFault } from "../../src/skill/mcp-server-name.ts";
import { toolPrefix } from "../../src/skill/mcp-servers.ts";
import { slugify } from "../../src/skill/slug.ts";
import { isWithin, jsonIn, orNull, readRegular } from "./file-system.ts";

export const SERVERS_FILE = ".mcp.json";

export interface ExpectedServer {
  /** In the form of hull.toml. */
  name: string;
  /** `null`: it has none, or is a process. */
  url: string | null;
  /** Whether a command starts it. */
  process: boolean;
}

const server = z.looseObject({ url: z.string().optional(), command: z.string().optional() });
const servers = z.record(z.string(), server.catch({}));
const serversFile = z.union([
  z.looseObject({ mcpServers: servers }).transform((file) => file.mcpServers),
  servers,
]);

/** `mcpServers` in plugin.json or marketplace.json: servers, or files of the plugin that have them. */
export const declaredServers = z
  .union([servers, z.string().transform((file) => [file]), z.array(z.string())])
  .optional()
  .catch(undefined);

/**
 * @param path the plugin's folder, absolute
 * @returns in byte order, each once
 */
export function expectedServers(path: string, declared: z.infer<typeof declaredServers>): ExpectedServer[] {
  const files = [SERVERS_FILE, ...(Array.isArray(declared) ? declared : [])].map((file) =>
    resolve(path, file),
  );
  const found = files.filter((file) => isWithin(file, path)).map(serversIn);
  const all = [...found, declared === undefined || Array.isArray(declared) ? {} : declared];
  const named = new Map<string, ExpectedServer>();
  for (const [given, { url, command }] of all.flatMap((each) => Object.entries(each))) {
    const name = slugify(given);
    if (serverNameFault(name) !== null || named.has(toolPrefix(name))) continue;
    named.set(toolPrefix(name), { name, url: url || null, process: command !== undefined });
  }
  return [...named.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** What a file says; nothing if it is missing or is no such file. */
function serversIn(file: string): z.infer<typeof servers> {
  const bytes = orNull(() => readRegular(file));
  const parsed = serversFile.safeParse(bytes === null ? {} : jsonIn(bytes));
  return parsed.success ? parsed.data : {};
}
