/** The Worker's variables that a skill requests. */

import type { Manifest, SkillTool } from "./manifest.ts";
import { serverTemplates } from "./mcp-servers.ts";
import { templateVariables } from "./placeholder.ts";

/**
 * The names of `tool_env`, of each tool's `x-env`, and of every `${VAR}` of proxies and MCP servers, without
 * duplicates.
 */
export function variablesOf(skill: {
  manifest: Manifest;
  tools: readonly Pick<SkillTool, "env">[];
}): string[] {
  const { manifest, tools } = skill;
  return [...new Set([...manifest.tool_env, ...sentVariables(manifest), ...tools.flatMap(({ env }) => env)])];
}

/** The variables that Hull itself puts into calls of the skill, and into the environment of its MCP servers. */
export function sentVariables({ proxy, llm }: Manifest): string[] {
  const servers = llm?.mcp_servers ?? [];
  return [
    ...(proxy === undefined ? [] : templateVariables([proxy.url, ...Object.values(proxy.headers)])),
    ...servers.flatMap((server) => templateVariables(serverTemplates(server))),
  ];
}
