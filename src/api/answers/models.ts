/** What the routes about models answer: shapes, of which the Worker uses only the types. */
import * as z from "zod/mini";
import { about, count, flag, named, object, text, texts } from "../../answer-shape.ts";
import { PROTOCOLS } from "../../model/protocols.ts";

const tier = () => z.enum(["small", "mid", "frontier"]);
const maybeFlag = () => about(z.nullable(flag()), "`null`: not known");
const list = <T extends z.core.$ZodType>(item: T) => z.readonly(z.array(item));

export type ModelInfo = z.infer<typeof modelInfo>;
export const modelInfo = z.object({ provider: text(), model: z.nullable(text()), api_key_set: flag() });
export type ModelTarget = z.infer<typeof modelTarget>;
export const modelTarget = z.object({ id: text(), provider: text(), tier: tier() });
export const inferredProvider = z.pick(modelTarget, { provider: true });
export const modelTier = z.pick(modelTarget, { tier: true });
export const tokensPrice = z.object({ cost_usd: z.number(), price_known: flag() });
export const tenantRules = z.object({ providers: texts(), provider_family: z.record(z.string(), text()) });

const capabilities = {
  native_tools: flag(),
  defer_loading: flag(),
  tool_search: about(
    list(z.enum(["bm25", "regex", "hosted", "client"])),
    "The provider's own tool searches, preferred first.",
  ),
  max_tools: about(z.nullable(count()), "The most tools of one request."),
  prompt_caching: flag(),
  thinking: flag(),
  thinking_modes: z.nullable(list(z.enum(["enabled", "adaptive", "effort"]))),
  vision: maybeFlag(),
  audio: maybeFlag(),
  pdf: maybeFlag(),
  structured_output: z.nullable(z.enum(["native", "tool_use", "format_kw", "json_object"])),
  interleaved_thinking_supported: maybeFlag(),
  anthropic_beta_features: z.nullable(list(text())),
  preserve_thinking: maybeFlag(),
  requires_completion_tokens: maybeFlag(),
  reasoning_effort_supported: maybeFlag(),
  honors_chat_template_kwargs: maybeFlag(),
  server_parser: z.nullable(text()),
  recommended_endpoint: z.nullable(text()),
  text_tool_wire_format_supported: flag(),
};
export type ModelCapabilities = z.infer<typeof modelCapabilities>;
export const modelCapabilities = z.object({ provider: text(), model: text(), ...capabilities });

const rates = {
  in: z.number(),
  out: z.number(),
  cache_read: z.optional(z.number()),
  cache_write: z.optional(z.number()),
};
const modelPrice = z.object({
  ...rates,
  above: z.optional(about(z.object({ tokens: count(), ...rates }), "Of prompts with more tokens.")),
});

export type Model = z.infer<typeof modelShape>;
export const modelShape = named(
  "Model",
  z.object({
    id: text(),
    provider: text(),
    tool_format: z.enum(["native", "text"]),
    tier: tier(),
    capabilities: z.object(capabilities),
    catalog: about(z.nullable(object<object>()), "What configuration lists of it."),
    auth_available: flag(),
    context_window: about(z.nullable(z.int()), "Tokens."),
    price: about(z.nullable(modelPrice), "USD per million tokens; `null`: unknown."),
    retires_at: about(
      z.nullable(z.string().check(z.meta({ format: "date" }))),
      "When the provider shuts it down.",
    ),
  }),
);

export type ModelProvider = z.infer<typeof modelProvider>;
export const modelProvider = named(
  "ModelProvider",
  z.object({
    name: text(),
    protocol: z.enum(PROTOCOLS),
    base_url: z.nullable(text()),
    base_url_env: about(texts(), "Variables that replace the base, the first one set."),
    auth_style: z.enum(["bearer", "header", "none"]),
    auth_env: about(texts(), "Variables that may hold the key."),
    extra_headers: about(texts(), "Names only."),
    chat_endpoint: z.nullable(text()),
    completion_endpoint: z.nullable(text()),
    healthcheck: z.nullable(z.object({ method: z.enum(["GET", "POST"]), path: z.nullable(text()) })),
    features: list(text()),
    fallback: z.nullable(text()),
    default_model: z.nullable(text()),
    rpm: z.nullable(count()),
    cost_per_1k_in: z.nullable(z.number()),
    cost_per_1k_out: z.nullable(z.number()),
    latency_p50_ms: z.nullable(z.number()),
    available: flag(),
  }),
);
