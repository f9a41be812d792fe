/** Which of the Worker's variables a skill asks for (serving.md §3.3, §6.2). */
import type { Manifest } from "./manifest.ts";
import { parseTemplate } from "./placeholder.ts";

/** The names of `tool_env`, and of every `${VAR}` of a proxy skill; each once. */
export function variablesOf({ proxy, tool_env }: Manifest): string[] {
  const templates = proxy === undefined ? [] : [proxy.url, ...Object.values(proxy.headers)];
  const pieces = templates.flatMap((template) => parseTemplate(template).pieces);
  const placeholders = pieces.flatMap((piece) => ("variable" in piece ? [piece.variable] : []));
  return [...new Set([...tool_env, ...placeholders])];
}
