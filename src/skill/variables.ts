/** Which of the Worker's variables a skill asks for (serving.md §3.3, §6.2). */
import type { Manifest, ProxySettings } from "./manifest.ts";
import { parseTemplate } from "./placeholder.ts";

/** The names of `tool_env`, and of every `${VAR}` of a proxy skill; each once. */
export function variablesOf({ proxy, tool_env }: Manifest): string[] {
  return [...new Set([...tool_env, ...(proxy === undefined ? [] : proxyVariables(proxy))])];
}

/** Those that a proxy skill puts into its calls. */
export function proxyVariables({ url, headers }: ProxySettings): string[] {
  const pieces = [url, ...Object.values(headers)].flatMap((template) => parseTemplate(template).pieces);
  return pieces.flatMap((piece) => ("variable" in piece ? [piece.variable] : []));
}
