/** What a model registry of models holds: shipped definitions and those of all layers, merged. */
import type {
  Alias,
  CapabilityRule,
  ModelDefaults,
  ModelEntry,
  Price,
  ProviderFields,
  Tier,
} from "./layer.ts";

/** What differs between providers of one protocol. */
export interface Dialect {
  token_field: "max_tokens" | "max_completion_tokens";
  /** Takes `response_format: {type: "json_object"}`. */
  json_mode: boolean;
  /** Wants the `reasoning_content` of an assistant turn with tool calls back (DeepSeek's thinking mode). */
  reasoning_echo: boolean;
  /** Parameters of its own in the chat protocol; absent: OpenAI's. */
  variant?: "openrouter" | "ollama" | undefined;
}

/** A provider as configuration can define it, and what only shipped ones have. */
export interface ProviderDefinition extends ProviderFields, Partial<Dialect> {
  /** A key is sent where one is set, and is not missed. */
  key_optional?: true;
  /** `base_url` is where such a server usually runs: nothing says that one does. */
  assumed_base?: true;
  /** Variables that name the model where nothing else does. */
  model_env?: readonly string[];
}

/** Compared with the id in lower case. `slashes`: how many the id holds. */
export interface ModelMatcher {
  exact?: string;
  pattern?: string;
  contains?: string;
  slashes?: number;
}
export type InferenceRule = ModelMatcher & { provider: string };
export type TierRule = ModelMatcher & { tier: Tier };

/** What a model costs. Longer prompts may cost more. */
export interface ModelPrice extends Price {
  /** The prices of a call whose prompt holds more than so many tokens. */
  above?: Price & { tokens: number };
}

/** A price of the configuration: applies to ids that hold the text, in lower case. */
interface PriceRule {
  contains: string;
  price: Price;
}

/** The rules of one side of the capability matrix, by provider, and from which provider one inherits. */
export interface RuleSet {
  rules: ReadonlyMap<string, readonly CapabilityRule[]>;
  family: ReadonlyMap<string, string>;
}

/** Names come from clients: hence maps, which have no inherited entries. */
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
  /** Those of the configuration; the first that matches counts, before what Hull ships. */
  prices: readonly PriceRule[];
  /** Whether a model of unknown price may be called under a limit of cost. */
  unknown_price: "refuse" | "allow";
  capabilities: { user: RuleSet; shipped: RuleSet };
}
