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
    const rules = chain(provider, user, shipped).map((name) => ({
      own: find(user, name, id),
      usual: find(shipped, name, id),
    }));
    const first = rules.findIndex(({ own, usual }) => (own ?? usual) !== undefined);
    if (first === -1) return ALL_OFF;
    // The shipped rule that would count without user rules.
    const usual = rules.slice(first).flatMap((place) => place.usual ?? [])[0];
    const rule = rules[first]?.own ?? usual;
    return rule === undefined ? ALL_OFF : fromRule(rule, usual);
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

function find(side: RuleSet, provider: string, id: string): CapabilityRule | undefined {
  return side.rules
    .get(provider)
    ?.find(
      ({ model_match, version_min }) =>
        modelMatches(model_match, id) &&
        (version_min === undefined || isAtLeast(modelVersion(id), version_min)),
    );
}

/** @param hidden the shipped rule that this one hides, or this one */
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
