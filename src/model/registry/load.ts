/** The model registry of a deployment, read once. */
import * as z from "zod/mini";
import { askedAgain } from "../../asked-again.ts";
import type { Bindings, Settings } from "../../env.ts";
import { SettingUnreadable } from "../../errors/request.ts";
import type { HullError } from "../../errors.ts";
import type { ModelRegistry } from "./definition.ts";
import { keyVariablesOf, type Layer, modelTables } from "./layer.ts";
import { mergeModelRegistry, shippedModels } from "./registry.ts";

/** The error for a setting whose text is missing in KV, or wrong. @param reason for the log */
export const unreadable = (variable: string, reason: string): HullError =>
  new SettingUnreadable({
    variable,
    fault: "cannot be read; the log says why",
    cause: `cannot be read: ${reason}`,
  });

/**
 * The text of a setting: its value, or with `kv:<key>` what the KV namespace SKILLS has under this key.
 * @throws SettingUnreadable for a missing key
 */
export async function settingText({ SKILLS }: Bindings, variable: string, value: string): Promise<string> {
  const key = /^kv:(.+)$/.exec(value)?.[1];
  const text = key === undefined ? value : await askedAgain(() => SKILLS.get(key));
  if (text === null) throw unreadable(variable, `the KV namespace SKILLS has no key ${key}`);
  return text;
}

/** The deployment's knowledge of models: shipped, then `HULL_PROVIDERS_CONFIG`, then skill folders, then hull.toml. */
export class DeploymentModels {
  readonly #env: Bindings;
  readonly #settings: Settings;
  #registry: ModelRegistry | null = null;

  constructor(env: Bindings, settings: Settings) {
    this.#env = env;
    this.#settings = settings;
  }

  /** @throws SettingUnreadable for a missing or unreadable provider file; the next call tries again */
  async registry(): Promise<ModelRegistry> {
    this.#registry ??= this.#made(await this.#providerFile());
    return this.#registry;
  }

  #made(file: Layer): ModelRegistry {
    const settings = this.#settings;
    const merged = [file, ...settings.models].reduce(mergeModelRegistry, shippedModels);
    const chosen = settings.read("HULL_DEFAULT_PROVIDER")?.trim();
    settings.learnKeys(keyVariablesOf(file));
    return chosen === undefined ? merged : { ...merged, default_provider: chosen };
  }

  async #providerFile(): Promise<Layer> {
    const { providersConfig } = this.#settings;
    if (providersConfig === null) return {};
    const variable = "HULL_PROVIDERS_CONFIG";
    const text = await settingText(this.#env, variable, providersConfig);
    const { parseToml } = await import("./toml.ts");
    const toml = parseToml(text);
    if (!toml.ok) throw unreadable(variable, `line ${toml.line}, column ${toml.column}: ${toml.reason}`);
    const parsed = modelTables.safeParse(toml.value);
    if (!parsed.success) throw unreadable(variable, z.prettifyError(parsed.error));
    return { llm: parsed.data };
  }
}
