/** Finds where a capability policy asks for more than a ceiling allows. Pure. */
import { textsIn } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { capabilitiesBeyond, isWithin, normalised, rankOf } from "../agent/policy.ts";

/**
 * @param own the policy that asks; only what it names is compared
 * @param tools names of the tools declared with it
 * @returns for each excess one sentence without its full stop
 */
export function exceeds(ceiling: JsonObject, own: JsonObject, tools: readonly string[] = []): string[] {
  return [
    ...toolsBeyond(ceiling, own, tools),
    ...levelBeyond(ceiling, own),
    ...foldersBeyond(ceiling, own),
    ...capabilitiesBeyond(ceiling, own).map((operation) => `the capability ${operation} is not allowed`),
    ...depthBeyond(ceiling, own),
  ];
}

function toolsBeyond(ceiling: JsonObject, own: JsonObject, declared: readonly string[]): string[] {
  const allowed = textsIn(ceiling.tools);
  if (allowed === null) return [];
  const beyond = [...new Set([...(textsIn(own.tools) ?? []), ...declared])].filter(
    (name) => !allowed.includes(name),
  );
  return beyond.map((name) => `the tool ${name} is not among ${namesOf(allowed)}`);
}

function levelBeyond({ side_effect_level: most }: JsonObject, { side_effect_level: level }: JsonObject) {
  if (rankOf(most) === -1 || rankOf(level) <= rankOf(most)) return [];
  return [`side_effect_level ${String(level)} is above ${String(most)}`];
}

function foldersBeyond(ceiling: JsonObject, own: JsonObject): string[] {
  const roots = textsIn(ceiling.workspace_roots);
  if (roots === null) return [];
  const beyond = (textsIn(own.workspace_roots) ?? []).filter(
    (folder) => !roots.some((root) => isWithin(normalised(folder), root)),
  );
  return beyond.map((folder) => `the folder ${folder} is outside of ${namesOf(roots)}`);
}

function depthBeyond({ recursion_limit: most }: JsonObject, { recursion_limit: depth }: JsonObject) {
  if (typeof most !== "number" || typeof depth !== "number" || depth <= most) return [];
  return [`recursion_limit ${depth} is above ${most}`];
}

const namesOf = (allowed: readonly string[]): string => allowed.join(", ") || "the allowed ones: none is";
