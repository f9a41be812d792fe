/** Finds the llm skills that cannot call their model because no key is set, and the variables that skills do not get. */
import type { ModelRegistry } from "../../src/model/registry/definition.ts";
import { keyVariables } from "../../src/model/registry/layer.ts";
import { isAvailable } from "../../src/model/registry/provider-setup.ts";
import { variablesOf } from "../../src/skill/variables.ts";
import type { BuiltSkill } from "../build/skill.ts";

/** A variable that would make the skills' model available. */
export interface MissingKey {
  variable: string;
  slugs: string[];
  /** The variable is set to an empty value. */
  empty: boolean;
}

/** The skills whose model and fallbacks are all unavailable, by the variable that their first provider reads. */
export function missingKeys(
  skills: readonly BuiltSkill[],
  registry: ModelRegistry,
  variables: ReadonlyMap<string, string>,
): MissingKey[] {
  const slugs = new Map<string, string[]>();
  for (const { card, manifest } of skills) {
    if (manifest.llm === undefined) continue;
    const { target, fallback } = manifest.llm;
    const providers = [target, ...fallback].map(({ provider }) => provider);
    if (providers.some((name) => isAvailable(name, registry, (key) => variables.get(key)))) continue;
    const [variable] = keyVariables(target.provider, registry.providers.get(target.provider) ?? {});
    if (variable !== undefined) slugs.set(variable, [...(slugs.get(variable) ?? []), card.slug]);
  }
  return Array.from(slugs, ([variable, list]) => {
    return { variable, slugs: list, empty: variables.get(variable)?.trim() === "" };
  });
}

/** A line for users: which skills cannot call their model, and the remedy. @param shown names of the skills */
export function missingKeyLine({ variable, slugs, empty }: MissingKey, shown: string): string {
  const remedy = empty
    ? `${variable} is set, but empty. Hull takes the first of the environment, .dev.vars and .env that sets it.`
    : `set ${variable}, for example in .env.`;
  return `${shown} ${slugs.length === 1 ? "lacks its" : "lack their"} model: ${remedy}`;
}

/** A variable that skills ask for and nothing sets: their processes and requests go without it. */
export interface UnsetVariable {
  variable: string;
  slugs: string[];
}

export function unsetVariables(
  skills: readonly BuiltSkill[],
  variables: ReadonlyMap<string, string>,
): UnsetVariable[] {
  const slugs = new Map<string, string[]>();
  for (const skill of skills)
    for (const variable of variablesOf(skill))
      if (!variables.has(variable)) slugs.set(variable, [...(slugs.get(variable) ?? []), skill.card.slug]);
  return Array.from(slugs, ([variable, list]) => ({ variable, slugs: list }));
}

/** A line for users. @param shown names of the skills */
export const unsetVariableLine = ({ variable, slugs }: UnsetVariable, shown: string): string =>
  `${shown} ${slugs.length === 1 ? "asks" : "ask"} for ${variable}, which is not set.`;
