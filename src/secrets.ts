/**
 * The variables that hold provider keys. Their values stay in the Worker: a tool can never opt them in
 * (seed "Tool scripts run with …"), and the redactor removes them everywhere.
 */
const NAMES = [
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
] as const;

/** A provider's key variable; the provider table can name no other. */
export type ProviderKeyVariable = (typeof NAMES)[number];
export const PROVIDER_KEY_VARIABLES: readonly string[] = NAMES;
/** Every variable whose value the redactor removes from what leaves the Worker or is logged. */
export const SECRET_VARIABLES: readonly string[] = [
  ...NAMES,
  "HULL_ADMIN_KEY",
  "HULL_RUNNER_SECRET",
  "HULL_SECRET_KEY",
];
