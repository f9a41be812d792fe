/** Environment variables that a skill requests for its processes: `tool_env`, and `x-env` of a tool. */
import { readTexts } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { isReserved } from "./placeholder.ts";
import type { Slot } from "./tree.ts";

/** Why no process of a skill gets a variable of this name; `null`: one may. */
export function variableFault(name: string): string | null {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return "it is not the name of an environment variable";
  return isReserved(name) ? "only Hull sets names that begin with HULL_ or HUSK_" : null;
}

/** The requested names, without provider keys and duplicates. */
export function readToolEnv(findings: Findings, slot: Slot, keyVariables: readonly string[]): string[] {
  const names = new Set<string>();
  const what = "names of environment variables (letters, digits, _)";
  const entries = readTexts(findings, slot, what, variableFault);
  for (const { text, slot: at } of entries ?? []) {
    if (!keyVariables.includes(text)) {
      names.add(text);
      continue;
    }
    findings.warning(
      "provider_key_withheld",
      at,
      `${text} is a model provider's key, which Hull never gives to scripts and tools.`,
      `Remove it from ${slot.path}. A process that needs a provider should call a skill, not hold the key.`,
    );
  }
  return Array.from(names);
}
