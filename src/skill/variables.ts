/** Which of the Worker's variables a skill asks for (serving.md §3.3, §6.2). */

import type { Manifest } from "./manifest.ts";
import { templateVariables } from "./placeholder.ts";

/** The names of `tool_env`, and of every `${VAR}` of proxies and MCP servers; each once. */
export function variablesOf(manifest: Manifest): string[] {
  return [...new Set([...manifest.tool_env, ...sentVariables(manifest)])];
}

/** Those that Hull itself puts into calls of the skill. */
export function sentVariables({ proxy, llm }: Manifest): string[] {
  const servers = llm?.mcp_servers ?? [];
  return [
    ...(proxy === undefined ? [] : templateVariables([proxy.url, ...Object.values(proxy.headers)])),
    ...servers.flatMap(({ headers }) => templateVariables(Object.values(headers))),
  ];
}
