/**
 * The variables with the keys of the shipped providers; configuration adds more. Their values stay in the Worker: a
 * tool can never request them, and the redactor removes them everywhere.
 */
export const PROVIDER_KEY_VARIABLES: readonly string[] = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "XAI_API_KEY",
  "GOOGLE_API_KEY",
  "GEMINI_API_KEY",
  "DEEPSEEK_API_KEY",
  "OPENROUTER_API_KEY",
  "HF_TOKEN",
  "HUGGINGFACE_API_KEY",
  "WORKERS_AI_API_KEY",
  "OLLAMA_API_KEY",
  "LOCAL_API_KEY",
  "TOGETHER_AI_API_KEY",
  "GROQ_API_KEY",
  "FIREWORKS_API_KEY",
  "DASHSCOPE_API_KEY",
  "VLLM_API_KEY",
  "TGI_API_KEY",
  "LLAMACPP_API_KEY",
  "MLX_API_KEY",
];
/** Every variable whose value the redactor removes from the log and from everything that leaves the Worker. */
export const SECRET_VARIABLES: readonly string[] = [
  ...PROVIDER_KEY_VARIABLES,
  "HULL_ADMIN_KEY",
  "HULL_DEV_KEY",
  "HULL_HOST_SECRET",
  "HULL_RUNNER_SECRET",
  "HULL_SECRET_KEY",
];
/** The variables that may verify signed events if hull.toml lists none; `*` matches any characters. */
export const WEBHOOK_SECRETS: readonly string[] = ["WEBHOOK_*", "*_WEBHOOK_SECRET"];
