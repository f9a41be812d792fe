/** The model registry: shipped definitions with layers of configuration on top. */
import { PROVIDER_ALIASES } from "../../skill/known-providers.ts";
import type { ModelRegistry, ProviderDefinition, RuleSet } from "./definition.ts";
import type { CapabilityTables, InferenceRules, Layer, ModelEntry, ModelTables, TierRules } from "./layer.ts";
import { SHIPPED_FAMILIES, SHIPPED_RULES } from "./shipped-capabilities.ts";
import {
  SHIPPED_ALIASES,
  SHIPPED_INFERENCE_RULES,
  SHIPPED_MODELS,
  SHIPPED_TIER_RULES,
} from "./shipped-models.ts";
import { SHIPPED_PROVIDERS } from "./shipped-providers.ts";

const NO_RULES: RuleSet = { rules: new Map(), family: new Map() };

const EMPTY: ModelRegistry = {
  default_provider: "anthropic",
  providers: new Map(),
  aliases: new Map(),
  inference_rules: [],
  tier_rules: [],
  model_defaults: [],
  models: new Map(),
  prices: [],
  unknown_price: "refuse",
  capabilities: {
    user: NO_RULES,
    shipped: {
      rules: new Map(Object.entries(SHIPPED_RULES)),
      family: new Map(Object.entries(SHIPPED_FAMILIES)),
    },
  },
};

/** The registry without any configuration. */
export const shippedModels: ModelRegistry = {
  ...EMPTY,
  providers: new Map(Object.entries(SHIPPED_PROVIDERS)),
  aliases: new Map(Object.entries(SHIPPED_ALIASES)),
  inference_rules: SHIPPED_INFERENCE_RULES,
  tier_rules: SHIPPED_TIER_RULES,
  models: new Map(modelEntries(SHIPPED_MODELS)),
};

/**
 * Adds a layer to a model registry: in maps, the layer's entries win; its rules come first; its fields of a provider are
 * combined with earlier ones. With `replace_defaults`, only the capability rules of the earlier registry remain.
 */
export function mergeModelRegistry(
  base: ModelRegistry,
  { llm = {}, capabilities = {} }: Layer,
): ModelRegistry {
  const below = llm.replace_defaults === true ? { ...EMPTY, capabilities: base.capabilities } : base;
  const providers = new Map(below.providers);
  for (const [name, fields] of Object.entries(llm.providers ?? {})) {
    const { assumed_base, ...known }: ProviderDefinition = providers.get(name) ?? {};
    const assumed = assumed_base === undefined || fields.base_url !== undefined ? {} : { assumed_base };
    providers.set(name, { ...known, ...assumed, ...fields });
  }
  const defaults = Object.entries(llm.model_defaults ?? {});
  const prices = Object.entries(llm.prices ?? {});
  return {
    default_provider: llm.default_provider ?? below.default_provider,
    providers,
    aliases: new Map([...below.aliases, ...Object.entries(llm.aliases ?? {})]),
    inference_rules: [...inferenceRules(llm), ...below.inference_rules],
    tier_rules: [...tierRules(llm), ...below.tier_rules],
    model_defaults: [
      ...below.model_defaults.filter(([glob]) => !defaults.some(([own]) => own === glob)),
      ...defaults,
    ],
    models: new Map([...below.models, ...modelEntries(llm.models ?? {})]),
    prices: [...prices.map(([part, price]) => ({ contains: part.toLowerCase(), price })), ...below.prices],
    unknown_price: llm.unknown_price ?? below.unknown_price,
    capabilities: {
      user: mergeRules(below.capabilities.user, capabilities),
      shipped: below.capabilities.shipped,
    },
  };
}

/** A layer's rules, and those implied by models listed with a provider. */
function inferenceRules({ inference_rules = [], models = {} }: ModelTables): InferenceRules {
  const listed = Object.entries(models).flatMap(([exact, { provider }]) =>
    provider === undefined || inference_rules.some((rule) => rule.exact === exact)
      ? []
      : [{ exact, provider }],
  );
  return [...inference_rules, ...listed];
}

/** A layer's rules, and those implied by models listed with a tier. */
function tierRules({ tier_rules = [], models = {} }: ModelTables): TierRules {
  const listed = Object.entries(models).flatMap(([exact, { tier }]) =>
    tier === undefined || tier_rules.some((rule) => rule.exact === exact) ? [] : [{ exact, tier }],
  );
  return [...tier_rules, ...listed];
}

/** The name under which a provider is defined. */
export function canonicalProvider({ providers }: ModelRegistry, name: string): string {
  return providers.has(name) ? name : (PROVIDER_ALIASES.get(name) ?? name);
}

function mergeRules(below: RuleSet, { provider = {}, provider_family = {} }: CapabilityTables): RuleSet {
  const rules = new Map(below.rules);
  for (const [name, own] of Object.entries(provider)) rules.set(name, [...own, ...(rules.get(name) ?? [])]);
  return { rules, family: new Map([...below.family, ...Object.entries(provider_family)]) };
}

function modelEntries(models: Record<string, ModelEntry>): [string, ModelEntry & { id: string }][] {
  return Object.entries(models).map(([id, entry]) => [id.toLowerCase(), { ...entry, id }]);
}
