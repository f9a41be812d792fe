/**
 * Replaces `typed/hull.mjs` while the build reads a typed skill. The definitions are unchanged; in addition Hull keeps
 * the stack of the call that made each one, so that findings can point to it.
 */
const stacks = new WeakMap<object, string>();

function located<Definition extends object>(definition: Definition): Definition {
  // Anything but an object is a fault, which the description reports.
  if (typeof definition === "object" && definition !== null) stacks.set(definition, new Error().stack ?? "");
  return definition;
}

export const tool = located;
export const defineSkill = located;

/** The stack at the call of `tool` or `defineSkill` with this object; empty: there was no such call. */
export const stackOf = (definition: object): string => stacks.get(definition) ?? "";
