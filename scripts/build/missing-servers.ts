/** Plugins whose skills lack MCP servers, since hull.toml does not have them. */
import { join, relative, sep } from "node:path";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { toolPrefix } from "../../src/skill/mcp-servers.ts";
import { type ExpectedServer, SERVERS_FILE } from "./plugin-servers.ts";
import type { Plugin } from "./plugins.ts";
import type { RootedDiagnostic } from "./roots.ts";
import type { SkillFolder } from "./skill-folder.ts";

/**
 * One finding for each plugin of these skills that expects servers which hull.toml does not have.
 * @param known names of the servers of hull.toml
 */
export function missingServers(
  folders: readonly SkillFolder[],
  known: readonly string[],
): RootedDiagnostic[] {
  const has = new Set(known.map(toolPrefix));
  const plugins = new Map<string, { root: string; plugin: Plugin }>();
  for (const { root, plugin } of folders)
    if (plugin !== undefined) plugins.set(plugin.path, { root, plugin });
  return [...plugins.values()].flatMap(({ root, plugin }): RootedDiagnostic[] => {
    const missing = plugin.servers.filter(({ name }) => !has.has(toolPrefix(name)));
    if (missing.length === 0) return [];
    const file = relative(root, join(plugin.path, SERVERS_FILE)).split(sep).join("/");
    return [{ root, diagnostic: missingOf(plugin, missing, file) }];
  });
}

function missingOf({ name }: Plugin, missing: readonly ExpectedServer[], file: string): Diagnostic {
  const remotes = missing.filter((each) => !each.process);
  const remote = remotes.find(({ url }) => url !== null) ?? remotes[0];
  const names = missing.map((each) => each.name).join(", ");
  return {
    level: "info",
    code: "plugin_mcp_servers",
    skill: "",
    file,
    message: `The plugin ${name} expects MCP servers that hull.toml does not have, so its skills run without their tools: ${names}.`,
    hint:
      remote === undefined
        ? "A server that is a process starts only from a skill's own folder: write it into mcp_servers of the skill."
        : `Add those that you want to hull.toml, e.g. [mcp.servers.${remote.name}] with url = "${remote.url ?? "https://…"}", and their hosts to allowed_hosts in [mcp].`,
  };
}
