/** The routes with information about models, and their response shapes. */
import { healthShape } from "../model/health.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
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
import { answer, COUNT, inPath, pageOf, query, ref, TEXT } from "./openapi-parts.ts";
import { json, type Operation, type Operations, schema } from "./operation.ts";
import { schemaOf, schemasOf } from "./shape-schema.ts";

const wanted = (name: string, description: string): JsonObject => ({
  ...query(name, description, { type: "string", minLength: 1 }),
  required: true,
});
const MODEL = wanted("model", "The id of a model, or an alias.");
const NAME = inPath("name");

const reads = (summary: string, shape: Json, more: Partial<Operation> = {}): Operation => ({
  tag: "models",
  summary,
  answers: { 200: answer("The answer", json(shape)) },
  ...more,
});

export const MODEL_OPERATIONS = {
  getModelInfo: reads("The target of a call that names no model", schema("ModelInfo"), {
    faults: [400],
  }),
  listModels: reads(
    "The aliases; with `id` one model",
    { oneOf: [schema("ModelAliases"), schema("Model")] },
    { parameters: [query("id", "The id of a model, or an alias.", TEXT)], faults: [400] },
  ),
  resolveModel: reads("What a model name resolves to", schema("ModelTarget"), {
    parameters: [MODEL],
    faults: [400],
  }),
  inferProvider: reads("The provider of a model", schemaOf(inferredProvider), {
    parameters: [MODEL],
    faults: [400],
  }),
  tierOfModel: reads("The capability tier of a model", schemaOf(modelTier), {
    parameters: [MODEL],
    faults: [400],
  }),
  pickModel: reads("The model of an alias or tier", schema("ModelTarget"), {
    parameters: [wanted("target", "An alias or a tier.")],
    faults: [400],
  }),
  priceTokens: reads("What tokens of a model cost, in USD", schemaOf(tokensPrice), {
    parameters: [
      MODEL,
      query("provider", "Whose price counts where none is known for the model.", TEXT),
      query("input_tokens", "Of the prompt.", COUNT),
      query("output_tokens", "Of the answer.", COUNT),
      query("cache_read_tokens", "Read from the provider's cache.", COUNT),
      query("cache_write_tokens", "Written to the provider's cache.", COUNT),
    ],
    faults: [400],
  }),
  getCapabilities: reads("What a model can do", schema("ModelCapabilities"), {
    parameters: [
      wanted("provider", "The name of a provider."),
      query("model", "The id of a model; the provider's default one without it.", TEXT),
    ],
    faults: [400],
  }),
  putCapabilities: {
    tag: "models",
    summary: "Replaces the tenant's own capability rules",
    body: {
      required: true,
      description: "TOML: `[[provider.<name>]]` rules and `[provider_family]`.",
      content: { "application/toml": { schema: TEXT }, "text/plain": { schema: TEXT } },
    },
    answers: {
      200: answer("They count from now on", json(schemaOf(tenantRules))),
    },
    faults: [400, 408, 413, 422],
  },
  deleteCapabilities: {
    tag: "models",
    summary: "Removes the tenant's own capability rules",
    answers: { 204: answer("They are gone", null) },
  },
  listProviders: reads("The providers of this deployment", schema("ModelProviders")),
  listAvailableProviders: reads("Those whose key is set, and those that need none", schema("ModelProviders")),
  getProvider: reads("One provider, without secrets", schema("ModelProvider"), {
    parameters: [NAME],
    faults: [404],
  }),
  checkProvider: reads(
    "Asks the provider whether it is available and accepts the key; always 200",
    schema("ProviderHealth"),
    { parameters: [NAME] },
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
