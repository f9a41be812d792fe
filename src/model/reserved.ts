/**
 * The members that a caller must not add to a request, because Hull sets, accounts or limits them. With one of them, a
 * call could cost more than was reserved for it, or reach another model than the chosen one. Pure.
 */
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

/** Why a member is refused, and what to do instead. */
const REASONS = {
  model: "choose the model and its provider with model, provider and fallback_chain",
  conversation: "Hull counts the conversation; use system, prompt or messages",
  limit: "Hull counts token limits; use max_tokens, or thinking for a budget of thinking",
  count: "Hull counts one answer for each call",
  stream: "Hull decides how the answer arrives; use stream",
  tools: "declare tools with tools and tool_choice; Hull cannot count those that a provider runs itself",
  price: "it changes the price, which Hull counts",
  name: "no provider has such a parameter",
} as const;
type Reason = keyof typeof REASONS;

/**
 * Names by protocol, in any spelling. All apply to every provider: one server accepts the names of several protocols,
 * and before a call Hull does not know where it ends.
 */
const NAMES: Record<string, readonly (readonly [Reason, names: string])[]> = {
  chat: [
    [
      "model",
      "model models engine deployment draft_model fallbacks route preset plugins base_url api_base api_key",
    ],
    ["conversation", "messages prediction documents chat_template echo prompt suffix"],
    [
      "count",
      "n best_of use_beam_search num_beams beam_width num_return_sequences num_generations num_completions",
    ],
    [
      "tools",
      "functions function_call search_parameters search_options search_settings enable_search forced_search",
    ],
    ["price", "service_tier priority modalities audio"],
  ],
  responses: [
    [
      "conversation",
      "input instructions conversation previous_response_id background store context_management",
    ],
    ["price", "background_options"],
  ],
  anthropic: [
    ["conversation", "system container thread compaction"],
    ["tools", "mcp_servers"],
    ["price", "speed inference_geo billing_policy fallback_credit_token"],
  ],
  ollama: [["conversation", "images raw template context"]],
  gemini: [
    ["conversation", "contents content system_instruction system_instructions cached_content"],
    ["count", "candidate_count"],
    ["price", "response_modalities speech_config"],
  ],
  workers_ai: [
    ["conversation", "inputs requests queue_request history chat_history preamble"],
    ["model", "headers extra_headers extra_query custom_llm_provider model_id model_name deployment_id"],
  ],
  /** Members of OpenRouter's `provider`, which choose among sellers with different prices. */
  openrouter_routing: [["price", "order only ignore sort max_price"]],
  javascript: [["name", "__proto__ constructor prototype"]],
};

/** Kinds of names that servers keep inventing. */
const KINDS: readonly (readonly [RegExp, Reason])[] = [
  [/^(?:max|min|num|n|new|limit|total)\w*(?:token|len|predict|generat)/, "limit"],
  [/budget|^(?:thinking|reasoning|output|completion)\w*tokens?$/, "limit"],
  [/^stream/, "stream"],
  [/^tool|tools?$|^websearch/, "tools"],
];

/**
 * Members that contain parameters again, in any spelling. Other members with content, e.g. `metadata` or a schema, are
 * left alone.
 */
const HOLDERS = new Set(
  [
    "options generation_config parameters extra_body config inference_config sampling_params provider provider_options",
    "reasoning thinking thinking_config reasoning_config chat_template_kwargs google openai anthropic vertex gemini",
    "additional_model_request_fields",
  ]
    .join(" ")
    .split(" ")
    .map(plain),
);

const REFUSED: ReadonlyMap<string, Reason> = new Map(
  Object.values(NAMES)
    .flat()
    .flatMap(([reason, names]) => names.split(" ").map((name) => [plain(name), reason] as const)),
);

/** The tiers that a request without `service_tier` gets, too: what it costs stays as Hull counts it. */
const SAME_PRICE: ReadonlySet<Json> = new Set(["auto", "default"]);

/** Servers read names in any letter case, and some fold letters that only look like ASCII. */
function plain(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
}

interface Refused {
  /** Relative to the provider's part, e.g. `options.num_predict`. */
  path: string;
  reason: string;
}

/** The refused members of a provider's own part. */
export const reservedMembers = (part: JsonObject): Refused[] => reservedAmong(Object.entries(part));

/** The refused ones of these members. */
export function reservedAmong(members: readonly (readonly [name: string, value: Json])[]): Refused[] {
  return members.flatMap(([name, value]) => {
    if (name === "service_tier" && SAME_PRICE.has(value)) return [];
    const kind = plain(name);
    const reason = REFUSED.get(kind) ?? KINDS.find(([pattern]) => pattern.test(kind))?.[1];
    if (reason !== undefined) return [{ path: name, reason: REASONS[reason] }];
    if (!HOLDERS.has(kind)) return [];
    return partsOf(value)
      .flatMap(reservedMembers)
      .map((found) => ({ ...found, path: `${name}.${found.path}` }));
  });
}

/** The objects in a value; of a list, those of its items. */
function partsOf(value: Json): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(partsOf);
  return isObject(value) ? [value] : [];
}
