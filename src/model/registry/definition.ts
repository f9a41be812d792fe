/** The content of a model registry: shipped definitions and those of all layers, merged. */
import type {
  Alias,
  CapabilityRule,
  ModelDefaults,
  ModelEntry,
  Price,
  ProviderFields,
  Tier,
} from "./layer.ts";

/** The differences between providers of one protocol. */
export interface Dialect {
  token_field: "max_tokens" | "max_completion_tokens";
  /** Takes `response_format: {type: "json_object"}`. */
  json_mode: boolean;
  /**
   * Requires the `reasoning_content` of an assistant turn with tool calls to be sent back (DeepSeek's thinking mode).
   */
  reasoning_echo: boolean;
  /** Its own parameters in the chat protocol; absent: OpenAI's. */
  variant?: "openrouter" | "ollama" | undefined;
}

/** A provider in a form that configuration can define, and members that only shipped ones have. */
export interface ProviderDefinition extends ProviderFields, Partial<Dialect> {
  /** A key is sent if set, but not required. */
  key_optional?: true;
  /** `base_url` is the usual address of such a server: nothing says that one is running. */
  assumed_base?: true;
  /** Variables that name the model if nothing else does. */
  model_env?: readonly string[];
}

/** Compared with the id in lower case. `slashes`: the number of slashes in the id. */
export interface ModelMatcher {
  exact?: string;
  pattern?: string;
  contains?: string;
  slashes?: number;
}
export type InferenceRule = ModelMatcher & { provider: string };
export type TierRule = ModelMatcher & { tier: Tier };

/** The price of a model. Longer prompts may cost more. */
export interface ModelPrice extends Price {
  /** The prices of a call whose prompt has more than this many tokens. */
  above?: Price & { tokens: number };
}

/** A price from configuration: applies to ids that contain the text, in lower case. */
interface PriceRule {
  contains: string;
  price: Price;
}

/** The rules of one side of the capability matrix, by provider, and the provider from which each inherits. */
export interface RuleSet {
  rules: ReadonlyMap<string, readonly CapabilityRule[]>;
  family: ReadonlyMap<string, string>;
}

/** Maps, since names come from clients and maps have no inherited entries. */
export interface ModelRegistry {
  default_provider: string;
  providers: ReadonlyMap<string, ProviderDefinition>;
  aliases: ReadonlyMap<string, Alias>;
  inference_rules: readonly InferenceRule[];
  tier_rules: readonly TierRule[];
  /** By glob; all that match apply in this order. */
  model_defaults: readonly (readonly [glob: string, defaults: ModelDefaults])[];
  /** By id in lower case. */
  models: ReadonlyMap<string, ModelEntry & { id: string }>;
  /** Prices from configuration; the first match wins, before shipped ones. */
  prices: readonly PriceRule[];
  /** Whether a model of unknown price may be called under a cost limit. */
  unknown_price: "refuse" | "allow";
  capabilities: { user: RuleSet; shipped: RuleSet };
}
