/** The model registry of a deployment, made once per isolate. */
import * as z from "zod/mini";
import type { Bindings, Settings } from "../../env.ts";
import { Internal } from "../../errors.ts";
import type { ModelRegistry } from "./definition.ts";
import { keyVariablesOf, type Layer, modelTables } from "./layer.ts";
import { mergeModelRegistry, shippedModels } from "./registry.ts";

const made = new WeakMap<Settings, ModelRegistry>();
const loading = new WeakMap<Settings, Promise<ModelRegistry>>();

/**
 * What the deployment knows of models: shipped, then `HULL_PROVIDERS_CONFIG`, then skill folders, then hull.toml.
 * `null`: it has a provider file, which `loadModelRegistry` has to read first.
 */
export function modelRegistryOf(settings: Settings): ModelRegistry | null {
  const known = made.get(settings);
  if (known !== undefined || settings.providersConfig !== null) return known ?? null;
  return make(settings, {});
}

/** @throws Internal for a provider file that is missing or cannot be read; the next call tries again */
export async function loadModelRegistry(settings: Settings, env: Bindings): Promise<ModelRegistry> {
  const known = modelRegistryOf(settings) ?? loading.get(settings);
  if (known !== undefined) return known;
  const load = readProviderFile(settings, env).then((tables) => make(settings, { llm: tables }));
  loading.set(settings, load);
  return load.finally(() => loading.delete(settings));
}

function make(settings: Settings, file: Layer): ModelRegistry {
  const merged = mergeModelRegistry(mergeModelRegistry(shippedModels, file), settings.models);
  const chosen = settings.read("HULL_DEFAULT_PROVIDER")?.trim();
  const registry = chosen === undefined ? merged : { ...merged, default_provider: chosen };
  settings.learnKeys(keyVariablesOf(file));
  made.set(settings, registry);
  return registry;
}

async function readProviderFile(
  { providersConfig }: Settings,
  env: Bindings,
): Promise<z.infer<typeof modelTables>> {
  const fail = (reason: string) => new Internal({ cause: `HULL_PROVIDERS_CONFIG: ${reason}` });
  const key = /^kv:(.+)$/.exec(providersConfig ?? "")?.[1];
  const text = key === undefined ? providersConfig : await env.SKILLS.get(key);
  if (text === null) throw fail(`the KV namespace SKILLS has no key ${key}`);
  const { parseToml } = await import("./toml.ts");
  const toml = parseToml(text);
  if (!toml.ok) throw fail(`line ${toml.line}, column ${toml.column}: ${toml.reason}`);
  const parsed = modelTables.safeParse(toml.value);
  if (!parsed.success) throw fail(z.prettifyError(parsed.error));
  return parsed.data;
}
