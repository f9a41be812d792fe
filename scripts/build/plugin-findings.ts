/** What Hull does not serve of plugins, or what their skills lack. */
import { join, relative, sep } from "node:path";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { toolPrefix } from "../../src/skill/mcp-servers.ts";
import { statOf } from "./file-system.ts";
import { type ExpectedServer, SERVERS_FILE } from "./plugin-servers.ts";
import type { Plugin } from "./plugins.ts";
import type { RootedDiagnostic } from "./roots.ts";
import type { SkillFolder } from "./skill-folder.ts";

/** Folders and files of a plugin for other clients. */
const PARTS = { commands: "commands", agents: "agents", hooks: "hooks/hooks.json" };

/**
 * For each plugin of these skills: one finding if it has parts that Hull does not serve, one if it expects MCP servers
 * that hull.toml does not have.
 * @param known names of the servers of hull.toml
 * @param commands whether the project serves commands
 */
export function pluginFindings(
  folders: readonly SkillFolder[],
  known: readonly string[],
  commands: boolean,
): RootedDiagnostic[] {
  const has = new Set(known.map(toolPrefix));
  const plugins = new Map<string, { root: string; plugin: Plugin }>();
  for (const { root, plugin } of folders)
    if (plugin !== undefined) plugins.set(plugin.path, { root, plugin });
  return [...plugins.values()].flatMap(({ root, plugin }): RootedDiagnostic[] => {
    const missing = plugin.servers.filter(({ name }) => !has.has(toolPrefix(name)));
    const parts = Object.entries(PARTS).filter(
      ([part, path]) => !(commands && part === "commands") && statOf(join(plugin.path, path)) !== null,
    );
    const at = (path: string): string => relative(root, join(plugin.path, path)).split(sep).join("/");
    return [
      ...parts.slice(0, 1).map(([, first]) =>
        unserved(
          plugin,
          parts.map(([part]) => part),
          at(first),
        ),
      ),
      ...(missing.length === 0 ? [] : [missingOf(plugin, missing, at(SERVERS_FILE))]),
    ].map((diagnostic) => ({ root, diagnostic }));
  });
}

function unserved({ name }: Plugin, parts: readonly string[], file: string): Diagnostic {
  return {
    level: "info",
    code: "plugin_parts",
    skill: "",
    file,
    message: `Hull serves the skills of the plugin ${name}, but not its ${parts.join(", ")}.`,
    hint: "To serve its commands, write commands = true into hull.toml. Of an agent that you want, make a skill: a folder with its text as SKILL.md. Write its hooks into the frontmatter of a skill, or as hooks.ts next to SKILL.md.",
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
