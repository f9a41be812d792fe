/** Merges layers of configuration. */
import { own } from "../../skill/json.ts";
import type { CapabilityTables, InferenceRules, Layer, ModelTables, TierRules } from "./layer.ts";

/**
 * Merges two layers: in maps, the upper entry wins; upper rules come first; fields of the same provider are combined.
 */
export function mergeLayers(lower: Layer, upper: Layer): Layer {
  return {
    llm: mergeModelTables(lower.llm ?? {}, upper.llm ?? {}),
    capabilities: mergeCapabilities(lower.capabilities ?? {}, upper.capabilities ?? {}),
  };
}

function mergeModelTables(lower: ModelTables, upper: ModelTables): ModelTables {
  if (upper.replace_defaults === true) return upper;
  const providers = { ...lower.providers };
  for (const [name, fields] of Object.entries(upper.providers ?? {})) {
    providers[name] = { ...providers[name], ...fields };
  }
  return {
    ...lower,
    ...upper,
    providers,
    aliases: { ...lower.aliases, ...upper.aliases },
    inference_rules: [...inferenceRules(upper), ...inferenceRules(lower)],
    tier_rules: [...tierRules(upper), ...tierRules(lower)],
    // Order matters: of defaults the last one wins, of prices the first.
    model_defaults: { ...without(lower.model_defaults, upper.model_defaults), ...upper.model_defaults },
    models: { ...lower.models, ...upper.models },
    prices: { ...upper.prices, ...without(lower.prices, upper.prices) },
  };
}

/** A layer's rules, and those implied by models listed with a provider. */
export function inferenceRules({ inference_rules = [], models = {} }: ModelTables): InferenceRules {
  const listed = Object.entries(models).flatMap(([exact, { provider }]) =>
    provider === undefined || inference_rules.some((rule) => rule.exact === exact)
      ? []
      : [{ exact, provider }],
  );
  return [...inference_rules, ...listed];
}

/** A layer's rules, and those implied by models listed with a tier. */
export function tierRules({ tier_rules = [], models = {} }: ModelTables): TierRules {
  const listed = Object.entries(models).flatMap(([exact, { tier }]) =>
    tier === undefined || tier_rules.some((rule) => rule.exact === exact) ? [] : [{ exact, tier }],
  );
  return [...tier_rules, ...listed];
}

function mergeCapabilities(lower: CapabilityTables, upper: CapabilityTables): CapabilityTables {
  const provider = { ...lower.provider };
  for (const [name, rules] of Object.entries(upper.provider ?? {})) {
    provider[name] = [...rules, ...(own(provider, name) ?? [])];
  }
  return { provider, provider_family: { ...lower.provider_family, ...upper.provider_family } };
}

function without<T>(map: Record<string, T> = {}, taken: Record<string, T> = {}): Record<string, T> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !Object.hasOwn(taken, key)));
}
