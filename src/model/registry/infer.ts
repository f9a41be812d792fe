/** Infers provider and tier of a model from its id; resolves aliases. */

import { modelMatches } from "../../skill/glob.ts";
import type { ModelMatcher, ModelRegistry } from "./definition.ts";
import type { ModelDefaults, Tier } from "./layer.ts";
import { PROVIDER_PREFIXES } from "./shipped-models.ts";

/**
 * The provider of a model id.
 * @returns `certain: false` if nothing indicates it, and it is the default provider
 */
export function inferProvider(
  model: string,
  registry: ModelRegistry,
): { provider: string; certain: boolean } {
  const { providers, inference_rules, default_provider } = registry;
  const prefix = PROVIDER_PREFIXES.find(([text]) => model.toLowerCase().startsWith(text));
  if (prefix !== undefined && providers.has(prefix[1])) return { provider: prefix[1], certain: true };
  const rule = inference_rules.find((own) => speaksOf(own, model) && providers.has(own.provider));
  return rule === undefined
    ? { provider: default_provider, certain: false }
    : { provider: rule.provider, certain: true };
}

/** The provider's own id: without a prefix that names the provider. */
export function wireModel(model: string, provider: string): string {
  const lower = model.toLowerCase();
  const prefix = PROVIDER_PREFIXES.find(
    ([text, owner]) => lower.startsWith(text) && (owner === provider || text === `${provider}:`),
  );
  return prefix === undefined ? model : model.slice(prefix[0].length);
}

/** The assumed capability of a model; `mid` if nothing indicates it. */
export function tierOf(registry: ModelRegistry, model: string): Tier {
  return registry.tier_rules.find((rule) => speaksOf(rule, model))?.tier ?? "mid";
}

/** The values sent for parameters that a call leaves out: of all matching globs, later ones win. */
export function modelDefaults(registry: ModelRegistry, model: string): ModelDefaults {
  const id = model.toLowerCase();
  const matching = registry.model_defaults.filter(([glob]) => modelMatches(glob, id));
  return Object.assign({}, ...matching.map(([, defaults]) => defaults));
}

/** Whether a rule of inference or tier covers this model. */
function speaksOf({ exact, pattern, contains, slashes }: ModelMatcher, model: string): boolean {
  const id = model.toLowerCase();
  if (exact !== undefined) return id === exact.toLowerCase();
  if (pattern !== undefined) return modelMatches(pattern, id);
  if (contains !== undefined) return id.includes(contains.toLowerCase());
  return slashes !== undefined && id.split("/").length - 1 === slashes;
}
