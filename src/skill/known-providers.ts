/** The model providers that a skill may name; `src/model/registry` says how to reach each. */
import { PROVIDER_KEY_VARIABLES } from "../secrets.ts";

export interface KnownProviders {
  names: readonly string[];
  /** Providers without a default model: a skill must name one. */
  model_required: readonly string[];
  /** Variables that hold their keys; no process gets them. */
  key_variables: readonly string[];
}

/** The providers that Hull knows without configuration. */
export const SHIPPED: KnownProviders = {
  names: [
    "anthropic",
    "openai",
    "xai",
    "google",
    "deepseek",
    "openrouter",
    "huggingface",
    "ollama",
    "local",
    "workers-ai",
    "together",
    "groq",
    "fireworks",
    "dashscope",
    "vllm",
    "tgi",
    "llamacpp",
    "mlx",
    "mock",
  ],
  model_required: [
    "huggingface",
    "together",
    "groq",
    "fireworks",
    "dashscope",
    "vllm",
    "tgi",
    "llamacpp",
    "mlx",
  ],
  key_variables: PROVIDER_KEY_VARIABLES,
};

/** Other names of providers. */
export const PROVIDER_ALIASES: ReadonlyMap<string, string> = new Map([["gemini", "google"]]);
