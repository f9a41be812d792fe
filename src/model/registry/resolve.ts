/** Decides the provider and model of a call. */
import type { Warning } from "../../engine/messages.ts";
import { ModelNotResolved } from "../../errors/request.ts";
import { nearest } from "../../skill/match.ts";
import type { ModelRegistry } from "./definition.ts";
import { inferProvider, tierOf, wireModel } from "./infer.ts";
import type { Alias } from "./layer.ts";
import { capabilitiesOf } from "./matrix.ts";
import { firstSet, isUsable, type ReadVariable } from "./provider-setup.ts";
import { canonicalProvider } from "./registry.ts";

export interface ModelWish {
  /** `auto`: inferred from the model. */
  provider?: string | undefined;
  /** An id or an alias. */
  model?: string | undefined;
  /** A tier or another alias, for requests that name no model. */
  model_tier?: string | undefined;
}

interface ModelChoice {
  provider: string;
  /** The provider's own name for it. */
  model: string;
  tool_format: "native" | "text";
  /** The reason for this provider, as the end of "It was chosen …". */
  how: string;
  warnings: Warning[];
}

/** Of a provider that a call asks for. A call of a skill takes it from the skill. */
const NAMED = "because the request or its skill asks for it";

/** Tried in this order if a tier's own provider cannot be used. */
const TIER_FALLBACKS = ["local", "ollama", "openrouter", "together", "huggingface", "openai", "anthropic"];

/** A provider found, and the model that came with it. */
interface Found {
  provider: string;
  how: string;
  model?: string;
  alias?: string;
  certain?: boolean;
  warning?: Warning;
}

/**
 * Resolves aliases first, then the provider: the requested one; the alias's; `HULL_LLM_PROVIDER`; `local` if its address
 * is set and a model is known; inferred from the model; that of the tier; inferred from `HULL_LLM_MODEL`; the default
 * one; or, if that cannot be used, Ollama or a local server whose address is set. Whether the key is set is checked only
 * by the call.
 * @throws ModelNotResolved for an undefined provider, tier or alias, and if no model is known
 */
export function resolveModel(selector: ModelWish, registry: ModelRegistry, env: ReadVariable): ModelChoice {
  const named =
    selector.model === undefined || selector.model === "" ? null : expand(selector.model, registry);
  const found = findProvider(selector, named, registry, env);
  const { provider } = found;
  const model = wireModel(named?.id ?? found.model ?? ownModel(provider, registry, env), provider);
  const alias = named?.alias ?? found.alias;
  const warnings = [
    ...(found.warning === undefined ? [] : [found.warning]),
    ...(found.certain === false ? [defaulted(model, provider)] : []),
  ];
  return {
    provider,
    model,
    tool_format: toolFormat(registry, provider, model, alias),
    how: found.how,
    warnings,
  };
}

/** The target of a call that names nothing; `model: null`: it must name a model. */
export function defaultTarget(
  registry: ModelRegistry,
  env: ReadVariable,
): { provider: string; model: string | null } {
  const { provider, model = knownModel(provider, registry, env) } = findProvider({}, null, registry, env);
  return { provider, model: model === undefined ? null : wireModel(model, provider) };
}

/** The tool format of a call that states none. */
export function toolFormat(
  registry: ModelRegistry,
  provider: string,
  model: string,
  alias?: string,
): "native" | "text" {
  const own = alias === undefined ? undefined : registry.aliases.get(alias)?.tool_format;
  if (own !== undefined) return own;
  const featured = registry.providers.get(provider)?.features?.includes("native_tools") === true;
  return featured || capabilitiesOf(registry, provider, model).native_tools ? "native" : "text";
}

/** The target of an id or alias; for a plain id the provider is unknown. */
export function expand(
  model: string,
  { aliases }: ModelRegistry,
): { id: string; alias?: string; provider?: string } {
  const alias = aliases.get(model);
  return alias === undefined ? { id: model } : { id: alias.id, alias: model, provider: alias.provider };
}

/** @throws ModelNotResolved if no provider has this name */
export function knownProvider(name: string, registry: ModelRegistry, option = "provider"): string {
  const provider = canonicalProvider(registry, name);
  if (registry.providers.has(provider)) return provider;
  const names = [...registry.providers.keys()];
  const [near] = nearest(name, names);
  const hint = near === undefined ? `Providers: ${names.join(", ")}.` : `Did you mean ${near}?`;
  throw new ModelNotResolved({ option, reason: `There is no provider "${name}". ${hint}` });
}

function findProvider(
  { provider: asked = "", model_tier = "" }: ModelWish,
  named: ReturnType<typeof expand> | null,
  registry: ModelRegistry,
  env: ReadVariable,
): Found {
  const auto = asked === "auto";
  const tier = named === null && model_tier !== "" ? model_tier : null;
  if (asked !== "" && !auto) {
    const provider = knownProvider(asked, registry);
    return tier === null ? { provider, how: NAMED } : tierModel(tier, provider, registry, env);
  }
  if (named !== null && (auto || named.alias !== undefined)) return ofModel(named, registry);
  const set = firstSet(["HULL_LLM_PROVIDER"], env);
  const model = firstSet(["HULL_LLM_MODEL"], env)?.value;
  if (set !== null && set.value !== "auto") {
    const provider = knownProvider(set.value, registry, set.name);
    const own = model === undefined ? {} : { model: expand(model, registry).id };
    const found = tier === null ? { provider, ...own } : tierModel(tier, provider, registry, env);
    return { ...found, how: `by ${set.name}` };
  }
  if (isUsable("local", registry, env) && (named ?? knownModel("local", registry, env)) !== undefined) {
    return { provider: "local", how: "because LOCAL_LLM_BASE_URL is set" };
  }
  if (named !== null) return ofModel(named, registry);
  if (tier !== null) return tierModel(tier, null, registry, env);
  if (model !== undefined) return fromEnvironment(model, registry);
  return defaultProvider(registry, env);
}

/** The provider of an alias, or the one that the id belongs to. */
function ofModel({ id, alias, provider }: ReturnType<typeof expand>, registry: ModelRegistry): Found {
  if (alias !== undefined && provider !== undefined) {
    return { provider: knownProvider(provider, registry, "model"), how: `by the alias ${alias}` };
  }
  const found = inferProvider(id, registry);
  knownProvider(found.provider, registry);
  return {
    ...found,
    how: found.certain ? fromModel(id, found.provider, registry) : "as the default provider",
  };
}

/** Names the way out for models as LiteLLM names them, `openai/gpt-4o`, because their `/` means OpenRouter. */
function fromModel(id: string, provider: string, registry: ModelRegistry): string {
  const [vendor, model] = id.split("/");
  const how = `from the model ${id}`;
  if (provider !== "openrouter" || model === undefined) return how;
  const own = inferProvider(model, registry);
  return own.certain && own.provider === vendor
    ? `${how}, since its / means OpenRouter: for ${vendor} itself, write ${model}`
    : `${how}, since its / means OpenRouter; an alias in hull.toml can name another provider`;
}

function fromEnvironment(model: string, registry: ModelRegistry): Found {
  const named = expand(model, registry);
  return { ...ofModel(named, registry), model: named.id, how: `by HULL_LLM_MODEL (${model})` };
}

function defaultProvider(registry: ModelRegistry, env: ReadVariable): Found {
  const provider = knownProvider(registry.default_provider, registry);
  if (!isUsable(provider, registry, env)) {
    for (const server of ["ollama", "local"]) {
      if (isUsable(server, registry, env)) return { provider: server, how: "because its address is set" };
    }
  }
  return { provider, how: "as the default provider" };
}

/** The model of a tier: its alias if usable, else a usable substitute with a warning. */
function tierModel(tier: string, asked: string | null, registry: ModelRegistry, env: ReadVariable): Found {
  const name = [tier, `tier/${tier}`].find((candidate) => registry.aliases.has(candidate));
  const alias = name === undefined ? undefined : registry.aliases.get(name);
  if (name === undefined || alias === undefined) {
    const reason = `There is no tier or alias "${tier}". Known: ${[...registry.aliases.keys()].join(", ")}.`;
    throw new ModelNotResolved({ option: "model_tier", reason });
  }
  const own: Found = { provider: alias.provider, model: alias.id, alias: name, how: `by the tier ${tier}` };
  if (asked === null ? isUsable(alias.provider, registry, env) : asked === alias.provider) return own;
  const other = asked === null ? tierFallback(tier, registry, env) : modelOfTier(asked, tier, registry, env);
  if (other === null) return own;
  return { ...other, warning: tierReplaced(tier, alias, other) };
}

/** The substitute for a tier's provider: the model of the environment, else the first usable provider. */
function tierFallback(tier: string, registry: ModelRegistry, env: ReadVariable): Found | null {
  const model = firstSet(["HULL_LLM_MODEL"], env)?.value;
  if (model !== undefined) return fromEnvironment(model, registry);
  for (const name of TIER_FALLBACKS) {
    const found = isUsable(name, registry, env) ? modelOfTier(name, tier, registry, env) : null;
    if (found?.model !== undefined) return { ...found, how: `instead of the provider of the tier ${tier}` };
  }
  return null;
}

/** A provider's listed model of this tier, else its default one. */
function modelOfTier(provider: string, tier: string, registry: ModelRegistry, env: ReadVariable): Found {
  const how = NAMED;
  const listed = [...registry.models.values()].find(
    (entry) => entry.provider === provider && tierOf(registry, entry.id) === tier,
  );
  const model = listed?.id ?? knownModel(provider, registry, env);
  return model === undefined ? { provider, how } : { provider, how, model };
}

/** The provider's model for calls that name none. @throws ModelNotResolved */
function ownModel(provider: string, registry: ModelRegistry, env: ReadVariable): string {
  const model = knownModel(provider, registry, env);
  if (model !== undefined) return model;
  const [variable] = registry.providers.get(provider)?.model_env ?? [];
  const hint = variable === undefined ? "" : `, or set ${variable}`;
  const reason = `The provider ${provider} has no default model. Name one in the option model${hint}.`;
  throw new ModelNotResolved({ option: "model", reason });
}

function knownModel(provider: string, registry: ModelRegistry, env: ReadVariable): string | undefined {
  const { model_env = [], default_model } = registry.providers.get(provider) ?? {};
  const own = firstSet(model_env, env)?.value;
  if (own !== undefined) return own;
  const model = firstSet(["HULL_LLM_MODEL"], env)?.value;
  if (model === undefined) return default_model;
  const { id, provider: owner = inferProvider(id, registry).provider } = expand(model, registry);
  return owner === provider ? id : default_model;
}

const defaulted = (model: string, provider: string): Warning => ({
  code: "provider_not_inferred",
  option: "model",
  message: `Hull does not know the provider of the model ${model}; it calls the default provider ${provider}.`,
});

const tierReplaced = (tier: string, alias: Alias, { provider, model }: Found): Warning => ({
  code: "tier_replaced",
  option: "model_tier",
  message: `The tier ${tier} is ${alias.id} of ${alias.provider}; ${model ?? "the model"} of ${provider} serves instead.`,
});
