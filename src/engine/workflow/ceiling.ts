/** Finds where a capability policy asks for more than a ceiling allows. Pure. */
import { objectOf, textsIn } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { isWithin, normalised, rankOf } from "../agent/policy.ts";

/**
 * @param own the policy that asks; only what it names is compared
 * @param tools names of the tools declared with it
 * @returns for each excess one sentence without its full stop
 */
export function exceeds(ceiling: JsonObject, own: JsonObject, tools: readonly string[] = []): string[] {
  const excess: string[] = [];
  const allowed = textsIn(ceiling.tools);
  if (allowed !== null) {
    for (const name of new Set([...(textsIn(own.tools) ?? []), ...tools]))
      if (!allowed.includes(name))
        excess.push(`the tool ${name} is not among ${allowed.join(", ") || "the allowed ones: none is"}`);
  }
  const limit = rankOf(ceiling.side_effect_level);
  if (limit !== -1 && rankOf(own.side_effect_level) > limit)
    excess.push(
      `side_effect_level ${String(own.side_effect_level)} is above ${String(ceiling.side_effect_level)}`,
    );
  const roots = textsIn(ceiling.workspace_roots);
  if (roots !== null) {
    for (const root of textsIn(own.workspace_roots) ?? [])
      if (!roots.some((outer) => isWithin(normalised(root), outer)))
        excess.push(`the folder ${root} is outside of ${roots.join(", ") || "the allowed ones: none is"}`);
  }
  if (ceiling.capabilities !== undefined && ceiling.capabilities !== null) {
    const capabilities = objectOf(ceiling.capabilities);
    for (const [name, operations] of Object.entries(objectOf(own.capabilities))) {
      const within = textsIn(capabilities[name]) ?? [];
      for (const operation of textsIn(operations) ?? [])
        if (!within.includes(operation)) excess.push(`the capability ${name}.${operation} is not allowed`);
    }
  }
  const { recursion_limit: depth } = ceiling;
  if (typeof depth === "number" && typeof own.recursion_limit === "number" && own.recursion_limit > depth)
    excess.push(`recursion_limit ${own.recursion_limit} is above ${depth}`);
  return excess;
}
