/** Which findings prevent Hull from serving a skill. */
import type { Diagnostic } from "./manifest.ts";
import { TOOLS_FILE } from "./tools-json/read.ts";

/**
 * Errors do, but for those of its tools.json, of handlers that it names and of its workflows: what is wrong there is left out,
 * and the rest of the skill is served.
 */
export function blocksServing({ level, code, file }: Diagnostic): boolean {
  const ofTools = file === TOOLS_FILE || file.endsWith(`/${TOOLS_FILE}`) || code.startsWith("handler_");
  if (code.startsWith("workflow_")) return false;
  return level === "error" && !(ofTools && !code.startsWith("link_"));
}
