/** Variables that a skill documents but does not get. Pure. */
import type { Diagnostic, Manifest, SkillTool } from "./manifest.ts";
import { variablesOf } from "./variables.ts";

/** Names in backticks at the start of list items below a heading "Configuration", without duplicates. */
function documentedVariables(body: string): string[] {
  const [, below = ""] = body.split(/^#{1,6}[ \t]+configuration[ \t]*$/im);
  const [section = ""] = below.split(/^#{1,6}[ \t]/m);
  const items = section.matchAll(/^[ \t]*(?:[-*+]|\d+[.)])[ \t]+`([A-Z][A-Z0-9_]*)`/gm);
  return [...new Set(Array.from(items, ([, name = ""]) => name))];
}

/**
 * A hint for each variable that no tool and no process requests: an operator would set it, but nothing would receive it.
 */
export function undeclaredVariables(
  { manifest, body, tools }: { manifest: Manifest; body: string; tools: readonly SkillTool[] },
  { folder, file }: { folder: string; file: string },
): Diagnostic[] {
  if (!tools.some(({ script }) => script !== undefined)) return [];
  const asked = new Set(variablesOf({ manifest, tools }));
  return documentedVariables(body)
    .filter((name) => !asked.has(name))
    .map((name) => ({
      level: "warning",
      code: "variable_not_declared",
      skill: folder,
      file,
      field: "x-env",
      value: JSON.stringify(name),
      message: `SKILL.md documents the variable ${name}, but no tool asks for it, so no tool gets it.`,
      hint: `Add "x-env": ["${name}"] to the tools that need it in tools.json.`,
    }));
}
