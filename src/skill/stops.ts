/** Which findings prevent Hull from serving a skill. */
import type { Diagnostic } from "./manifest.ts";
import { TOOLS_FILE } from "./tools-json/read.ts";

/**
 * Errors do, except those of its tools.json and of the handlers named there: Hull leaves the faulty part out and serves
 * the rest of the skill.
 */
export function stopsSkill({ level, code, file }: Diagnostic): boolean {
  const ofTools = file === TOOLS_FILE || file.endsWith(`/${TOOLS_FILE}`) || code.startsWith("handler_");
  return level === "error" && !(ofTools && !code.startsWith("link_"));
}
