/** What the tests of the model registry share. */

import type { ModelRegistry } from "../../../../src/model/registry/definition.ts";
import { layerSchema } from "../../../../src/model/registry/layer.ts";
import { mergeModelRegistry, shippedModels } from "../../../../src/model/registry/registry.ts";
import { type ModelWish, resolveModel } from "../../../../src/model/registry/resolve.ts";

export type Variables = Record<string, string>;

export const env =
  (variables: Variables) =>
  (name: string): string | undefined =>
    variables[name];

export const LOCAL = { HULL_ENV: "local" };
export const OPENAI = { OPENAI_API_KEY: "key-openai" };
export const ANTHROPIC = { ANTHROPIC_API_KEY: "key-anthropic" };

/** The shipped model registry with these layers upon it, as a hull.toml would have them. */
export const layered = (...layers: object[]): ModelRegistry =>
  layers.map((layer) => layerSchema.parse(layer)).reduce(mergeModelRegistry, shippedModels);

export const choose = (wish: ModelWish, variables: Variables = {}, registry = shippedModels) =>
  resolveModel(wish, registry, env({ ...LOCAL, ...variables }));
