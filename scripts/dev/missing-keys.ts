/** Finds the llm skills that cannot call their model because no key is set, and the variables that skills do not get. */
import type { ModelRegistry } from "../../src/model/registry/definition.ts";
import { keyVariables } from "../../src/model/registry/layer.ts";
import { isAvailable } from "../../src/model/registry/provider-setup.ts";
import { variablesOf } from "../../src/skill/variables.ts";
import type { BuiltSkill } from "../build/skill.ts";

/** A variable that would make the skills' model available. */
export interface MissingKey extends UnsetVariable {
  /** The variable is set to an empty value. */
  empty: boolean;
}

/** The skills whose model and fallbacks are all unavailable, by the variable that their first provider reads. */
export function missingKeys(
  skills: readonly BuiltSkill[],
  registry: ModelRegistry,
  variables: ReadonlyMap<string, string>,
): MissingKey[] {
  const lacking = skills.flatMap(({ card: { slug }, manifest: { llm } }) => {
    if (llm === undefined) return [];
    const { target, fallback } = llm;
    const providers = [target, ...fallback].map(({ provider }) => provider);
    if (providers.some((name) => isAvailable(name, registry, (key) => variables.get(key)))) return [];
    const [variable] = keyVariables(target.provider, registry.providers.get(target.provider) ?? {});
    return variable === undefined ? [] : [{ variable, slug }];
  });
  return byVariable(lacking).map((missing) => ({
    ...missing,
    empty: variables.get(missing.variable)?.trim() === "",
  }));
}

function byVariable(list: readonly { variable: string; slug: string }[]): UnsetVariable[] {
  const groups = Map.groupBy(list, ({ variable }) => variable);
  return Array.from(groups, ([variable, group]) => ({ variable, slugs: group.map(({ slug }) => slug) }));
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
  return byVariable(
    skills.flatMap((skill) =>
      [...variablesOf(skill)]
        .filter((variable) => !variables.has(variable))
        .map((variable) => ({ variable, slug: skill.card.slug })),
    ),
  );
}

/** A line for users. @param shown names of the skills */
export const unsetVariableLine = ({ variable, slugs }: UnsetVariable, shown: string): string =>
  `${shown} ${slugs.length === 1 ? "asks" : "ask"} for ${variable}, which is not set.`;
