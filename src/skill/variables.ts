/** Which of the Worker's variables a skill asks for (serving.md §3.3, §6.2). */

import type { Manifest, ProxySettings } from "./manifest.ts";
import { headerVariables } from "./mcp-servers.ts";
import { parseTemplate } from "./placeholder.ts";

/** The names of `tool_env`, and of every `${VAR}` of proxies and MCP servers; each once. */
export function variablesOf(manifest: Manifest): string[] {
  return [...new Set([...manifest.tool_env, ...sentVariables(manifest)])];
}

/** Those that Hull itself puts into calls of the skill. */
export function sentVariables({ proxy, llm }: Manifest): string[] {
  const servers = llm?.mcp_servers ?? [];
  return [
    ...(proxy === undefined ? [] : proxyVariables(proxy)),
    ...servers.flatMap(({ headers }) => headerVariables(headers)),
  ];
}

function proxyVariables({ url, headers }: ProxySettings): string[] {
  const pieces = [url, ...Object.values(headers)].flatMap((template) => parseTemplate(template).pieces);
  return pieces.flatMap((piece) => ("variable" in piece ? [piece.variable] : []));
}
