/** What the tests of the catalogue share. */
import { mergeCatalogue, shippedCatalogue } from "../../../../src/model/catalogue/catalogue.ts";
import type { Catalogue } from "../../../../src/model/catalogue/definition.ts";
import { layerSchema } from "../../../../src/model/catalogue/layer.ts";
import { type ModelWish, resolveModel } from "../../../../src/model/catalogue/resolve.ts";

export type Variables = Record<string, string>;

export const env =
  (variables: Variables) =>
  (name: string): string | undefined =>
    variables[name];

export const LOCAL = { HULL_ENV: "local" };
export const OPENAI = { OPENAI_API_KEY: "key-openai" };
export const ANTHROPIC = { ANTHROPIC_API_KEY: "key-anthropic" };

/** The shipped catalogue with these layers upon it, as a hull.toml would have them. */
export const layered = (...layers: object[]): Catalogue =>
  layers.map((layer) => layerSchema.parse(layer)).reduce(mergeCatalogue, shippedCatalogue);

export const choose = (wish: ModelWish, variables: Variables = {}, catalogue = shippedCatalogue) =>
  resolveModel(wish, catalogue, env({ ...LOCAL, ...variables }));
