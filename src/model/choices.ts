/** Which model a call gets, and how Hull reaches it. Both follow from variables and model registry, which never change. */
import { ModelNotResolved } from "../errors/request.ts";
import { RecentMap } from "../recent.ts";
import { type ResolvedTarget, resolveTarget, type TargetSelector } from "./providers.ts";
import type { ModelRegistry } from "./registry/definition.ts";
import { modelDefaults } from "./registry/infer.ts";
import { capabilitiesOf } from "./registry/matrix.ts";
import { type ModelWish, resolveModel } from "./registry/resolve.ts";
import { contextWindow } from "./registry/window.ts";

/** A choice without routing, and how the provider was chosen. */
type KnownChoice = ReturnType<typeof newChoice>;

/** What was found for one model registry. */
export interface KnownModels {
  choices: RecentMap<string, KnownChoice>;
  targets: RecentMap<string, ResolvedTarget>;
}

/** Where an isolate keeps the results. */
interface Place {
  settings: { read: Parameters<typeof resolveTarget>[1] };
  knownModels: WeakMap<ModelRegistry, KnownModels>;
}

/** The most results of each kind, since names of models come from callers. */
const MAX_KNOWN = 1000;
/** The longest name, since isolates, ledgers and lists keep it. */
const MAX_NAME = 512;

/** @throws ModelNotResolved for a name that is too long */
function checkNames(names: { [option: string]: string | null | undefined }): void {
  for (const [option, name] of Object.entries(names)) {
    const length = name?.length ?? 0;
    const reason = `${option} has ${length} characters; a name has at most ${MAX_NAME}.`;
    if (length > MAX_NAME) throw new ModelNotResolved({ option, reason });
  }
}

/**
 * Chooses a model. A choice examines all rules of the model registry, so its result is kept for the same request.
 * @throws ModelNotResolved for a name that is too long, and as `resolveModel`
 */
export function chooseModel(
  place: Place,
  registry: ModelRegistry,
  { provider, model, model_tier }: ModelWish,
): KnownChoice {
  checkNames({ provider, model, model_tier });
  const { choices } = knownOf(place, registry);
  const key = JSON.stringify([provider, model, model_tier]);
  const known = choices.get(key) ?? newChoice(place, registry, { provider, model, model_tier });
  choices.set(key, known);
  return known;
}

/** @throws ModelNotResolved for a name that is too long, ProviderNotConfigured, ProviderMisconfigured */
export function reachTarget(place: Place, registry: ModelRegistry, selector: TargetSelector): ResolvedTarget {
  checkNames({ provider: selector.provider, model: selector.model });
  const { targets } = knownOf(place, registry);
  const key = JSON.stringify([selector.provider, selector.model, selector.protocol]);
  const known = targets.get(key) ?? resolveTarget(selector, place.settings.read, registry);
  targets.set(key, known);
  return known;
}

function newChoice({ settings }: Place, registry: ModelRegistry, wish: ModelWish) {
  const { provider, model, tool_format, how, warnings } = resolveModel(wish, registry, settings.read);
  const choice = {
    target: { provider, model },
    tool_format,
    capabilities: capabilitiesOf(registry, provider, model),
    context_window: contextWindow(registry, model),
    defaults: modelDefaults(registry, model),
    warnings,
  };
  return { choice, how };
}

function knownOf({ knownModels }: Place, registry: ModelRegistry): KnownModels {
  const known = knownModels.get(registry) ?? {
    choices: new RecentMap(MAX_KNOWN),
    targets: new RecentMap(MAX_KNOWN),
  };
  knownModels.set(registry, known);
  return known;
}
