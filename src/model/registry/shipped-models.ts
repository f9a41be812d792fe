/** Aliases, the models that Hull itself names, and the rules that infer provider and tier from an id. */
import type { InferenceRule, TierRule } from "./definition.ts";
import type { Alias, ModelEntry } from "./layer.ts";

const FRONTIER: Alias = { id: "claude-sonnet-5", provider: "anthropic" };
const MID: Alias = { id: "gpt-6-luna", provider: "openai" };
const SMALL: Alias = { id: "Qwen/Qwen3.5-9B", provider: "openrouter" };

export const SHIPPED_ALIASES: Record<string, Alias> = {
  frontier: FRONTIER,
  "tier/frontier": FRONTIER,
  mid: MID,
  "tier/mid": MID,
  small: SMALL,
  "tier/small": SMALL,
};

/** The candidates of routing. */
export const SHIPPED_MODELS: Record<string, ModelEntry> = {
  "claude-sonnet-5": { provider: "anthropic", context_window: 1_000_000 },
  "claude-haiku-4-5-20251001": { provider: "anthropic", context_window: 200_000 },
  "gpt-6-sol": { provider: "openai", context_window: 1_050_000 },
  "gpt-6-luna": { provider: "openai", context_window: 1_050_000 },
  "anthropic/claude-haiku-4.5": { provider: "openrouter", context_window: 200_000 },
  "Qwen/Qwen3.5-9B": { provider: "openrouter" },
  "grok-4.6": { provider: "xai", context_window: 500_000 },
  "gemini-3.6-flash": { provider: "google", context_window: 1_000_000 },
  "deepseek-v4-flash": { provider: "deepseek", context_window: 1_000_000 },
  "@cf/meta/llama-3.3-70b-instruct-fp8-fast": { provider: "workers-ai" },
  "llama3.2": { provider: "ollama" },
};

/** Prefixes that name a provider but are not part of its model's id; they precede every rule. */
export const PROVIDER_PREFIXES: readonly (readonly [prefix: string, provider: string])[] = [
  ["local:", "ollama"],
  ["ollama:", "ollama"],
  ["huggingface:", "huggingface"],
  ["hf:", "huggingface"],
];

export const SHIPPED_INFERENCE_RULES: readonly InferenceRule[] = [
  { exact: "mock", provider: "mock" },
  { pattern: "@cf/*", provider: "workers-ai" },
  { pattern: "@hf/*", provider: "workers-ai" },
  { slashes: 1, provider: "openrouter" },
  { pattern: "claude-*", provider: "anthropic" },
  { pattern: "gpt-*", provider: "openai" },
  { pattern: "o1*", provider: "openai" },
  { pattern: "o3*", provider: "openai" },
  { pattern: "o4*", provider: "openai" },
  { pattern: "gemini-*", provider: "google" },
  { pattern: "grok-*", provider: "xai" },
  { pattern: "deepseek-chat*", provider: "deepseek" },
  { pattern: "deepseek-reasoner*", provider: "deepseek" },
  { pattern: "deepseek-flash*", provider: "deepseek" },
  { pattern: "deepseek-v4*", provider: "deepseek" },
  { contains: ":", provider: "ollama" },
];

/** A model that no rule covers is `mid`. */
export const SHIPPED_TIER_RULES: readonly TierRule[] = [
  { contains: "9b", tier: "small" },
  { contains: "a3b", tier: "small" },
  { contains: "gemma-4-e2b", tier: "small" },
  { contains: "gemma-4-e4b", tier: "small" },
  { contains: "26b", tier: "mid" },
  { contains: "31b", tier: "frontier" },
  { pattern: "claude-*", tier: "frontier" },
  { exact: "gpt-4o", tier: "frontier" },
  { exact: "gpt-6-sol", tier: "frontier" },
];
