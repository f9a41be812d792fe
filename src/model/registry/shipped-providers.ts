/** The providers that Hull knows. A base without a path in a variable gets that of `base_url`. */
import type { ProviderDefinition } from "./definition.ts";

/** A server on the developer's own machine. */
const LOCAL = { key_optional: true, assumed_base: true } as const;
const COMPLETION = "/completions";

export const SHIPPED_PROVIDERS: Record<string, ProviderDefinition> = {
  anthropic: {
    api: "anthropic",
    auth_env: ["ANTHROPIC_API_KEY"],
    auth_style: "header",
    auth_header: "x-api-key",
    base_url: "https://api.anthropic.com/v1",
    default_model: "claude-haiku-4-5-20251001",
  },
  openai: {
    auth_env: ["OPENAI_API_KEY"],
    base_url: "https://api.openai.com/v1",
    default_model: "gpt-6-luna",
    token_field: "max_completion_tokens",
    json_mode: true,
  },
  xai: {
    auth_env: ["XAI_API_KEY"],
    base_url: "https://api.x.ai/v1",
    default_model: "grok-4.6",
    json_mode: true,
  },
  google: {
    auth_env: ["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
    default_model: "gemini-3.6-flash",
    json_mode: true,
  },
  deepseek: {
    auth_env: ["DEEPSEEK_API_KEY"],
    base_url: "https://api.deepseek.com/v1",
    default_model: "deepseek-v4-flash",
    json_mode: true,
    reasoning_echo: true,
  },
  openrouter: {
    auth_env: ["OPENROUTER_API_KEY"],
    base_url: "https://openrouter.ai/api/v1",
    completion_endpoint: COMPLETION,
    default_model: "anthropic/claude-haiku-4.5",
    // The list of models is public, so it proves nothing; this endpoint needs the key.
    healthcheck: { path: "/key" },
    json_mode: true,
    variant: "openrouter",
  },
  huggingface: {
    auth_env: ["HF_TOKEN", "HUGGINGFACE_API_KEY"],
    base_url: "https://router.huggingface.co/v1",
    healthcheck: { url: "https://huggingface.co/api/whoami-v2" },
  },
  ollama: {
    ...LOCAL,
    auth_env: ["OLLAMA_API_KEY"],
    base_url: "http://localhost:11434/v1",
    base_url_env: ["OLLAMA_HOST"],
    completion_endpoint: "/api/generate",
    default_model: "llama3.2",
    json_mode: true,
    variant: "ollama",
  },
  local: {
    ...LOCAL,
    auth_env: ["LOCAL_API_KEY"],
    base_url: "http://localhost:8000/v1",
    base_url_env: ["LOCAL_LLM_BASE_URL"],
    completion_endpoint: COMPLETION,
    model_env: ["LOCAL_LLM_MODEL", "HULL_LLM_MODEL"],
  },
  "workers-ai": {
    api: "workers-ai",
    auth_env: ["WORKERS_AI_API_KEY"],
    default_model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
  },
  together: {
    auth_env: ["TOGETHER_AI_API_KEY"],
    base_url: "https://api.together.xyz/v1",
    completion_endpoint: COMPLETION,
    json_mode: true,
  },
  groq: { auth_env: ["GROQ_API_KEY"], base_url: "https://api.groq.com/openai/v1", json_mode: true },
  fireworks: {
    auth_env: ["FIREWORKS_API_KEY"],
    base_url: "https://api.fireworks.ai/inference/v1",
    completion_endpoint: COMPLETION,
    json_mode: true,
  },
  dashscope: {
    auth_env: ["DASHSCOPE_API_KEY"],
    base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    json_mode: true,
  },
  vllm: {
    ...LOCAL,
    auth_env: ["VLLM_API_KEY"],
    base_url: "http://localhost:8000/v1",
    completion_endpoint: COMPLETION,
    json_mode: true,
  },
  tgi: {
    ...LOCAL,
    auth_env: ["TGI_API_KEY"],
    base_url: "http://localhost:8080/v1",
    completion_endpoint: COMPLETION,
  },
  llamacpp: {
    ...LOCAL,
    auth_env: ["LLAMACPP_API_KEY"],
    base_url: "http://localhost:8080/v1",
    completion_endpoint: COMPLETION,
    json_mode: true,
  },
  mlx: {
    ...LOCAL,
    auth_env: ["MLX_API_KEY"],
    base_url: "http://localhost:8002/v1",
    completion_endpoint: COMPLETION,
  },
  mock: { api: "mock", auth_style: "none", default_model: "mock", json_mode: true },
};
