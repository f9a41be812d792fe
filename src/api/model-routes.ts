/** The routes with information about models, and their response shapes. */
import type { Json, JsonObject } from "../skill/manifest.ts";
import { answer, COUNT, inPath, MAYBE_TEXT, object, pageOf, query, ref, TEXT } from "./openapi-parts.ts";
import { json, type Operation, type Operations, schema } from "./operation.ts";

const TEXTS: JsonObject = { type: "array", items: TEXT };
const FLAG: JsonObject = { type: "boolean" };
const MAYBE_FLAG: JsonObject = { type: ["boolean", "null"], description: "`null`: not known" };
const MAYBE_NUMBER: JsonObject = { type: ["number", "null"] };
const MAYBE_COUNT: JsonObject = { type: ["integer", "null"], minimum: 0 };
const TIER: JsonObject = { enum: ["small", "mid", "frontier"] };

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
  inferProvider: reads("The provider of a model", object({ provider: TEXT }), {
    parameters: [MODEL],
    faults: [400],
  }),
  tierOfModel: reads("The capability tier of a model", object({ tier: TIER }), {
    parameters: [MODEL],
    faults: [400],
  }),
  pickModel: reads("The model of an alias or tier", schema("ModelTarget"), {
    parameters: [wanted("target", "An alias or a tier.")],
    faults: [400],
  }),
  priceTokens: reads(
    "What tokens of a model cost, in USD",
    object({ cost_usd: { type: "number" }, price_known: FLAG }),
    {
      parameters: [
        MODEL,
        query("provider", "Whose price counts where none is known for the model.", TEXT),
        query("input_tokens", "Of the prompt.", COUNT),
        query("output_tokens", "Of the answer.", COUNT),
        query("cache_read_tokens", "Read from the provider's cache.", COUNT),
        query("cache_write_tokens", "Written to the provider's cache.", COUNT),
      ],
      faults: [400],
    },
  ),
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
      200: answer(
        "They count from now on",
        json(object({ providers: TEXTS, provider_family: { type: "object", additionalProperties: TEXT } })),
      ),
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

const CAPABILITIES: JsonObject = {
  native_tools: FLAG,
  defer_loading: FLAG,
  tool_search: TEXTS,
  max_tools: MAYBE_COUNT,
  prompt_caching: FLAG,
  thinking: FLAG,
  thinking_modes: { type: ["array", "null"], items: { enum: ["enabled", "adaptive", "effort"] } },
  vision: MAYBE_FLAG,
  audio: MAYBE_FLAG,
  pdf: MAYBE_FLAG,
  structured_output: { enum: ["native", "tool_use", "format_kw", "json_object", null] },
  interleaved_thinking_supported: MAYBE_FLAG,
  anthropic_beta_features: { type: ["array", "null"], items: TEXT },
  preserve_thinking: MAYBE_FLAG,
  requires_completion_tokens: MAYBE_FLAG,
  reasoning_effort_supported: MAYBE_FLAG,
  honors_chat_template_kwargs: MAYBE_FLAG,
  server_parser: MAYBE_TEXT,
  recommended_endpoint: MAYBE_TEXT,
  text_tool_wire_format_supported: FLAG,
};

/** All of `components/schemas` that these routes use. */
export function modelSchemas(): JsonObject {
  return {
    ModelInfo: object({ provider: TEXT, model: MAYBE_TEXT, api_key_set: FLAG }),
    ModelAliases: pageOf(TEXT),
    ModelTarget: object({ id: TEXT, provider: TEXT, tier: TIER }),
    Model: object({
      id: TEXT,
      provider: TEXT,
      tool_format: { enum: ["native", "text"] },
      tier: TIER,
      capabilities: object(CAPABILITIES),
      catalog: { type: ["object", "null"], description: "What configuration lists of it." },
      auth_available: FLAG,
      context_window: { type: ["integer", "null"], description: "Tokens." },
      price: {
        type: ["object", "null"],
        description:
          "USD per million tokens: `in`, `out`, `cache_read`, `cache_write`, and `above` for longer prompts. `null`: unknown.",
      },
      retires_at: {
        type: ["string", "null"],
        format: "date",
        description: "When the provider shuts it down.",
      },
    }),
    ModelCapabilities: object({ provider: TEXT, model: TEXT, ...CAPABILITIES }),
    ModelProvider: object({
      name: TEXT,
      protocol: { enum: ["anthropic", "openai-chat", "openai-responses", "ollama", "workers-ai", "mock"] },
      base_url: MAYBE_TEXT,
      base_url_env: { ...TEXTS, description: "Variables that replace the base, the first one set." },
      auth_style: { enum: ["bearer", "header", "none"] },
      auth_env: { ...TEXTS, description: "Variables that may hold the key." },
      extra_headers: { ...TEXTS, description: "Names only." },
      chat_endpoint: MAYBE_TEXT,
      completion_endpoint: MAYBE_TEXT,
      healthcheck: { type: ["object", "null"] },
      features: TEXTS,
      fallback: MAYBE_TEXT,
      default_model: MAYBE_TEXT,
      rpm: MAYBE_COUNT,
      cost_per_1k_in: MAYBE_NUMBER,
      cost_per_1k_out: MAYBE_NUMBER,
      latency_p50_ms: MAYBE_NUMBER,
      available: FLAG,
    }),
    ModelProviders: pageOf(ref("schemas", "ModelProvider")),
    ProviderHealth: object({
      provider: TEXT,
      valid: FLAG,
      message: TEXT,
      metadata: object({ reason: TEXT, status: COUNT, latency_ms: COUNT, variable: TEXT }, [
        "reason",
        "status",
        "latency_ms",
        "variable",
      ]),
    }),
  };
}
