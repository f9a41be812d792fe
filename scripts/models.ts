/** The models that a project defines in addition to the shipped ones: for the build, and for the Worker. */

import type { ModelRegistry } from "../src/model/registry/definition.ts";
import { knownProviders } from "../src/model/registry/known.ts";
import { keyVariablesOf, type Layer, modelTables } from "../src/model/registry/layer.ts";
import { mergeModelRegistry, shippedModels } from "../src/model/registry/registry.ts";
import { type KnownProviders, SHIPPED } from "../src/skill/known-providers.ts";
import type { HullConfig } from "./config.ts";
import { loadEnvironment } from "./dotenv.ts";
import { readToml, tomlError } from "./toml-file.ts";
import { checkMocks } from "./worker-variables.ts";

/** The layers below and above those of skill folders. */
export interface ProjectModels {
  /**
   * The provider file of `HULL_PROVIDERS_CONFIG`; empty if the variable only names a key in KV, which the Worker reads
   * itself.
   */
  file: Layer;
  /** Its text. Absent: there is none here. */
  text?: string;
  /** The provider file is in KV. Absent: `file` is all of it. */
  in_kv?: true;
  /** hull.toml. */
  root: Layer;
}

/** @throws CommandError (exit 2) for an unreadable provider file, or unreadable mocks of the environment */
export async function projectModels(dir: string, { llm, capabilities }: HullConfig): Promise<ProjectModels> {
  const root: Layer = {
    ...(llm === undefined ? {} : { llm }),
    ...(capabilities === undefined ? {} : { capabilities }),
  };
  const variables = await loadEnvironment(dir);
  checkMocks(variables.get("HULL_LLM_MOCKS") ?? "");
  const text = variables.get("HULL_PROVIDERS_CONFIG") || variables.get("HARN_PROVIDERS_CONFIG") || "";
  if (text.startsWith("kv:")) return { file: {}, in_kv: true, root };
  if (text === "") return { file: {}, root };
  const file = readToml(text, modelTables);
  if (file.ok) return { file: { llm: file.data }, text, root };
  throw tomlError("HULL_PROVIDERS_CONFIG", file);
}

/** The model registry of a deployment of this project, as far as the build can know it. */
export function projectModelRegistry(
  { file, root }: ProjectModels,
  packages: readonly Layer[],
): ModelRegistry {
  return [file, ...packages, root].reduce(mergeModelRegistry, shippedModels);
}

/** The providers that a skill of this project may name. */
export function projectProviders(models: ProjectModels, packages: readonly Layer[]): KnownProviders {
  const layers = [models.file, ...packages, models.root];
  const keys = [...SHIPPED.key_variables, ...layers.flatMap(keyVariablesOf)];
  return knownProviders(projectModelRegistry(models, packages), keys);
}

/** A variable of a Worker holds at most 5 KB. */
const MAX_VARIABLE = 4000;

/**
 * The variables that carry the models of hull.toml, and of skill folders, to the Worker: those of `inVariables` for
 * `HULL_LLM`. They are always set, so that no older value stays.
 */
export function modelVariables(packages: readonly Layer[], { root }: ProjectModels): Map<string, string> {
  const layers = [...packages, root].filter((layer) => Object.keys(layer).length > 0);
  return inVariables("HULL_LLM", layers);
}

/** The variables that carry a value: `<name>`, and if that is long `<name>_1` … `<name>_<n>` with their number in `<name>`. */
export function inVariables(name: string, value: unknown): Map<string, string> {
  const text = plainJson(value);
  if (text.length <= MAX_VARIABLE) return new Map([[name, text]]);
  const pieces = text.match(new RegExp(`.{1,${MAX_VARIABLE}}`, "g")) ?? [];
  return new Map([
    [name, `parts:${pieces.length}`],
    ...pieces.map((piece, i): [string, string] => [`${name}_${i + 1}`, piece]),
  ]);
}

/**
 * JSON in ASCII, so that a piece has as many bytes as characters, and no character with a special meaning in an env
 * file.
 */
export function plainJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]|['`$]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
