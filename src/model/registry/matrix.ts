/** The abilities of a model, by the rules of the capability matrix. */

import { memoNamed } from "../../memo.ts";
import { modelMatches } from "../../skill/glob.ts";
import { ALL_OFF, type Capabilities, NO_TOOLS, type ThinkingMode } from "../capabilities.ts";
import { isAtLeast, modelVersion } from "../model-version.ts";
import type { ModelRegistry, RuleSet } from "./definition.ts";
import type { CapabilityRule } from "./layer.ts";

/** The mock plays any model that is requested. */
const MOCK_CHAIN = ["mock", "anthropic", "openai"];

/**
 * The first matching rule counts: a provider's user rules, its shipped rules, then those of its family. Rules are not
 * merged, but fields after `thinking` that a user rule leaves out come from the shipped rule that it hides.
 */
export const capabilitiesOf = memoNamed(
  ({ capabilities: { user, shipped } }: ModelRegistry, provider, model): Capabilities => {
    const id = model.toLowerCase();
    for (const name of chain(provider, user, shipped)) {
      const own = find(user, name, id);
      if (own !== undefined) return fromRule(own, hiddenRule(provider, name, id, user, shipped));
      const rule = find(shipped, name, id);
      if (rule !== undefined) return fromRule(rule, undefined);
    }
    return ALL_OFF;
  },
);

/** The provider, its family, that one's family, and so on, without duplicates. */
function chain(provider: string, user: RuleSet, shipped: RuleSet): string[] {
  if (provider === "mock") return MOCK_CHAIN;
  const visited: string[] = [];
  let next: string | undefined = provider;
  while (next !== undefined && !visited.includes(next)) {
    visited.push(next);
    next = user.family.get(next) ?? shipped.family.get(next);
  }
  return visited;
}

/** The shipped rule that would count without user rules: from the place of the user rule on. */
function hiddenRule(
  provider: string,
  at: string,
  id: string,
  user: RuleSet,
  shipped: RuleSet,
): CapabilityRule | undefined {
  const names = chain(provider, user, shipped);
  for (const name of names.slice(names.indexOf(at))) {
    const rule = find(shipped, name, id);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

function find(side: RuleSet, provider: string, id: string): CapabilityRule | undefined {
  return side.rules
    .get(provider)
    ?.find((rule) => modelMatches(rule.model_match, id) && versionFits(rule, id));
}

function versionFits({ version_min }: CapabilityRule, id: string): boolean {
  if (version_min === undefined) return true;
  const version = modelVersion(id);
  return version !== null && isAtLeast(version, version_min);
}

function fromRule(rule: CapabilityRule, hidden: CapabilityRule | undefined): Capabilities {
  const { model_match: _, version_min: __, ...stated } = { ...hidden, ...NO_TOOLS, ...rule };
  const thinking_modes = modesOf(rule, hidden);
  return { ...ALL_OFF, ...stated, thinking: thinking_modes.length > 0, thinking_modes, matched: true };
}

/** Modes imply thinking. Thinking without modes gets those of the hidden rule, else `enabled`. */
function modesOf(rule: CapabilityRule, hidden: CapabilityRule | undefined): readonly ThinkingMode[] {
  if (rule.thinking_modes !== undefined && rule.thinking_modes.length > 0) return rule.thinking_modes;
  if (rule.thinking !== true) return [];
  const inherited = rule.thinking_modes === undefined ? hidden?.thinking_modes : undefined;
  return inherited !== undefined && inherited.length > 0 ? inherited : ["enabled"];
}
