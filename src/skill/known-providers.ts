/** Which model providers a skill may name; `src/model/model registry` says how each is reached. */
import { PROVIDER_KEY_VARIABLES } from "../secrets.ts";

export interface KnownProviders {
  names: readonly string[];
  /** Those without a default model: a skill has to name one. */
  model_required: readonly string[];
  /** Variables that hold their keys: withheld from every process. */
  key_variables: readonly string[];
}

/** What Hull knows without any configuration. */
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

/** Other names that providers go by. */
export const PROVIDER_ALIASES: ReadonlyMap<string, string> = new Map([["gemini", "google"]]);
