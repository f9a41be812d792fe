/** The routes with information about models, and their response shapes. */
import { healthShape } from "../model/health.ts";
import type { JsonObject } from "../skill/manifest.ts";
import {
  inferredProvider,
  modelCapabilities,
  modelInfo,
  modelProvider,
  modelShape,
  modelTarget,
  modelTier,
  tenantRules,
  tokensPrice,
} from "./answers/models.ts";
import { answer, COUNT, pageOf, query, ref, TEXT } from "./openapi-parts.ts";
import { type Operation, type Operations, reads, type Schema, schema } from "./operation.ts";
import { schemaOf, schemasOf } from "./shape-schema.ts";

const wanted = (name: string, description: string): JsonObject => ({
  ...query(name, description, { type: "string", minLength: 1 }),
  required: true,
});
const MODEL = wanted("model", "The id of a model, or an alias.");

const ofModel = (summary: string, shape: Schema, ...parameters: JsonObject[]): Operation =>
  reads("models", summary, shape, { parameters });

export const MODEL_OPERATIONS = {
  getModelInfo: reads("models", "The target of a call that names no model", "ModelInfo", {
    faults: [400],
  }),
  listModels: ofModel(
    "The aliases; with `id` one model",
    { oneOf: [schema("ModelAliases"), schema("Model")] },
    query("id", "The id of a model, or an alias.", TEXT),
  ),
  resolveModel: ofModel("What a model name resolves to", "ModelTarget", MODEL),
  inferProvider: ofModel("The provider of a model", schemaOf(inferredProvider), MODEL),
  tierOfModel: ofModel("The capability tier of a model", schemaOf(modelTier), MODEL),
  pickModel: ofModel("The model of an alias or tier", "ModelTarget", wanted("target", "An alias or a tier.")),
  priceTokens: ofModel(
    "What tokens of a model cost, in USD",
    schemaOf(tokensPrice),
    MODEL,
    query("provider", "Whose price counts where none is known for the model.", TEXT),
    query("input_tokens", "Of the prompt.", COUNT),
    query("output_tokens", "Of the answer.", COUNT),
    query("cache_read_tokens", "Read from the provider's cache.", COUNT),
    query("cache_write_tokens", "Written to the provider's cache.", COUNT),
  ),
  getCapabilities: ofModel(
    "What a model can do",
    "ModelCapabilities",
    wanted("provider", "The name of a provider."),
    query("model", "The id of a model; the provider's default one without it.", TEXT),
  ),
  putCapabilities: reads("models", "Replaces the tenant's own capability rules", schemaOf(tenantRules), {
    outcome: "They count from now on",
    body: {
      required: true,
      description: "TOML: `[[provider.<name>]]` rules and `[provider_family]`.",
      content: { "application/toml": { schema: TEXT }, "text/plain": { schema: TEXT } },
    },
  }),
  deleteCapabilities: {
    tag: "models",
    summary: "Removes the tenant's own capability rules",
    answers: { 204: answer("They are gone", null) },
  },
  listProviders: reads("models", "The providers of this deployment", "ModelProviders"),
  listAvailableProviders: reads(
    "models",
    "Those whose key is set, and those that need none",
    "ModelProviders",
  ),
  getProvider: ofModel("One provider, without secrets", "ModelProvider"),
  checkProvider: reads(
    "models",
    "Asks the provider whether it is available and accepts the key; always 200",
    "ProviderHealth",
    { never: [404] },
  ),
} satisfies Operations;

/** All of `components/schemas` that these routes use. */
export const modelSchemas = (): JsonObject => ({
  ...schemasOf({
    ModelInfo: modelInfo,
    ModelTarget: modelTarget,
    Model: modelShape,
    ModelCapabilities: modelCapabilities,
    ModelProvider: modelProvider,
    ProviderHealth: healthShape(),
  }),
  ModelAliases: pageOf(TEXT),
  ModelProviders: pageOf(ref("schemas", "ModelProvider")),
});
