/**
 * Stands for `typed/hull.mjs` while the build reads a typed skill. The definitions are as they are; in addition Hull keeps the
 * stack of the call that made each one, so that findings lead to it.
 */
const stacks = new WeakMap<object, string>();

function located<Definition extends object>(definition: Definition): Definition {
  // What is no object is a fault, which the description reports.
  if (typeof definition === "object" && definition !== null) stacks.set(definition, new Error().stack ?? "");
  return definition;
}

export const tool = located;
export const defineSkill = located;

/** The stack at the call of `tool` or `defineSkill` that was given this object; empty: no such call was. */
export const stackOf = (definition: object): string => stacks.get(definition) ?? "";
