/** Which findings prevent Hull from serving a skill. */
import type { Diagnostic } from "./manifest.ts";
import { TOOLS_FILE } from "./tools-json/read.ts";

/**
 * All errors do, except those in its tools.json, in handlers that it names and in its workflows: the faulty parts are
 * left out, and the rest of the skill is served.
 */
export function blocksServing({ level, code, file }: Diagnostic): boolean {
  const ofTools = file === TOOLS_FILE || file.endsWith(`/${TOOLS_FILE}`) || code.startsWith("handler_");
  if (code.startsWith("workflow_")) return false;
  return level === "error" && !(ofTools && !code.startsWith("link_"));
}
