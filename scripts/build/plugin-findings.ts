/** What Hull does not serve of plugins, or what their skills lack. */
import { join, relative, sep } from "node:path";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { toolPrefix } from "../../src/skill/mcp-servers.ts";
import { statOf } from "./file-system.ts";
import { type ExpectedServer, SERVERS_FILE } from "./plugin-servers.ts";
import { type Plugin, SINGLES } from "./plugins.ts";
import type { RootedDiagnostic } from "./roots.ts";
import { wantedKinds } from "./singles.ts";
import type { SingleChoices, SkillFolder } from "./skill-folder.ts";

/** What a plugin runs at events of other clients. */
const HOOKS = "hooks/hooks.json";

/**
 * For each plugin of these skills: one finding if it has parts that Hull does not serve, one if it expects MCP servers
 * that hull.toml does not have.
 * @param known names of the servers of hull.toml
 * @param singles the commands and agents that the project serves
 */
export function pluginFindings(
  folders: readonly SkillFolder[],
  known: readonly string[],
  singles: SingleChoices,
): RootedDiagnostic[] {
  const has = new Set(known.map(toolPrefix));
  const wanted = wantedKinds(singles);
  const unwanted = SINGLES.filter((kind) => !wanted.includes(kind));
  const plugins = new Map<string, { root: string; plugin: Plugin }>();
  for (const { root, plugin } of folders)
    if (plugin !== undefined) plugins.set(plugin.path, { root, plugin });
  return [...plugins.values()].flatMap(({ root, plugin }): RootedDiagnostic[] => {
    const missing = plugin.servers.filter(({ name }) => !has.has(toolPrefix(name)));
    const parts = [...unwanted, HOOKS].filter((path) => statOf(join(plugin.path, path)) !== null);
    const at = (path: string): string => relative(root, join(plugin.path, path)).split(sep).join("/");
    return [
      ...parts.slice(0, 1).map((first) => unserved(plugin, parts, at(first))),
      ...(missing.length === 0 ? [] : [missingOf(plugin, missing, at(SERVERS_FILE))]),
    ].map((diagnostic) => ({ root, diagnostic }));
  });
}

function unserved({ name }: Plugin, paths: readonly string[], file: string): Diagnostic {
  const parts = paths.map((path) => path.replace(HOOKS, "hooks"));
  return {
    level: "info",
    code: "plugin_parts",
    skill: "",
    file,
    message: `Hull serves the skills of the plugin ${name}, but not its ${parts.join(", ")}.`,
    hint: "To serve its commands and agents, write commands = true and agents = true into hull.toml. Write its hooks into the frontmatter of a skill, or as hooks.ts next to SKILL.md.",
  };
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
