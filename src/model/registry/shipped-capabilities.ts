/** The capability matrix that Hull ships, in match order. Similar rows differ little, so they share parts. */
import type { CapabilityRule } from "./layer.ts";

type Fields = Omit<CapabilityRule, "model_match">;

const NATIVE: Fields = { native_tools: true, structured_output: "native" };
const SEEING: Fields = { ...NATIVE, vision: true };
const BLIND: Fields = { ...NATIVE, vision: false };
const ENABLED: Fields = { thinking_modes: ["enabled"] };
const PRESERVE: Fields = { preserve_thinking: true };
/** OpenAI's reasoning models. */
const REASONING: Fields = { requires_completion_tokens: true, reasoning_effort_supported: true };
/** Servers like vLLM, with models that reason. */
const TEMPLATE: Fields = { ...NATIVE, ...ENABLED, honors_chat_template_kwargs: true };

const CLAUDE: Fields = {
  native_tools: true,
  prompt_caching: true,
  vision: true,
  structured_output: "tool_use",
};
/** Claude models that accept thousands of deferred tools. */
const VAULT: Fields = { ...CLAUDE, defer_loading: true, tool_search: ["bm25", "regex"], max_tools: 10_000 };
const INTERLEAVED: Fields = { interleaved_thinking_supported: true };
const ADAPTIVE: Fields = { thinking_modes: ["adaptive"] };

const rule = (model_match: string, ...parts: Fields[]): CapabilityRule =>
  Object.assign({ model_match }, ...parts);
const from = (version_min: [number, number]): Fields => ({ version_min });
const prefixed = (prefix: string, rules: readonly CapabilityRule[]): CapabilityRule[] =>
  rules.map((own) => ({ ...own, model_match: prefix + own.model_match }));

const CLAUDE_4: CapabilityRule[] = [
  rule("claude-haiku-*", from([4, 7]), VAULT, ADAPTIVE),
  rule("claude-opus-*", from([4, 7]), VAULT, ADAPTIVE, INTERLEAVED),
  rule("claude-sonnet-*", from([4, 7]), VAULT, ADAPTIVE),
  rule("claude-haiku-*", from([4, 5]), VAULT, ENABLED),
  rule("claude-opus-*", from([4, 6]), VAULT, ENABLED, INTERLEAVED),
  rule("claude-opus-*", from([4, 0]), VAULT, ENABLED),
  rule("claude-sonnet-*", from([4, 0]), VAULT, ENABLED),
];

const O_SERIES: Fields = { ...NATIVE, ...REASONING, thinking_modes: ["effort"] };
const OPENAI: CapabilityRule[] = [
  rule("gpt-4o*", SEEING, { audio: true }),
  rule("gpt-4.1*", SEEING),
  rule("gpt-*", from([5, 4]), SEEING, REASONING, { defer_loading: true, tool_search: ["hosted", "client"] }),
  rule("gpt-5*", SEEING, REASONING),
  rule("gpt-*", NATIVE),
  rule("o1*", O_SERIES),
  rule("o3*", O_SERIES),
  rule("o4*", O_SERIES, { vision: true }),
];

const TOOLS: Fields = { native_tools: true };
const OLLAMA_VISION: Fields = { native_tools: false, vision: true };
const OLLAMA_QWEN: Fields = {
  ...TOOLS,
  ...ENABLED,
  structured_output: "format_kw",
  recommended_endpoint: "/api/generate-raw",
  text_tool_wire_format_supported: false,
};
const LOCAL_QWEN = [rule("*qwen3.6*", TEMPLATE, PRESERVE), rule("*qwen3*", TEMPLATE)];
const ROUTED: Fields = { thinking_modes: ["enabled", "effort"] };
const CACHED: Fields = { prompt_caching: true };
const HUB = [
  rule("qwen/qwen3.6*", TEMPLATE, PRESERVE),
  rule("qwen/*", TEMPLATE),
  rule("deepseek-ai/deepseek-v3*", TEMPLATE, CACHED),
];

export const SHIPPED_RULES: Record<string, CapabilityRule[]> = {
  anthropic: [...CLAUDE_4, ...prefixed("anthropic/", CLAUDE_4), rule("claude-*", CLAUDE, ENABLED)],
  openai: [...OPENAI, ...prefixed("openai/", OPENAI)],
  xai: [
    rule("grok-3-mini*", BLIND, { thinking_modes: ["effort"] }),
    rule("grok-3*", BLIND),
    rule("grok-*", NATIVE),
  ],
  google: [rule("gemini-2.5*", SEEING, { thinking_modes: ["effort"] }), rule("gemini-*", SEEING)],
  deepseek: [
    rule("deepseek-reasoner*", BLIND, ENABLED, { structured_output: "json_object" }),
    rule("deepseek-*", BLIND, { structured_output: "json_object" }),
  ],
  "workers-ai": [
    rule("@cf/meta/llama-3.3-70b*", TOOLS),
    rule("@cf/meta/llama-4-scout*", TOOLS),
    rule("@cf/mistralai/mistral-small-3.1*", TOOLS),
    rule("@cf/qwen/qwen3-*", TOOLS),
    rule("@cf/openai/gpt-oss-*", TOOLS),
    rule("@hf/nousresearch/hermes-2-pro*", TOOLS),
  ],
  ollama: [
    rule("llava*", OLLAMA_VISION),
    rule("bakllava*", OLLAMA_VISION),
    rule("llama3.2-vision*", OLLAMA_VISION),
    rule("gemma3*", OLLAMA_VISION),
    rule("qwen3.6*", OLLAMA_QWEN, PRESERVE),
    rule("qwen3*", OLLAMA_QWEN),
  ],
  local: LOCAL_QWEN,
  llamacpp: LOCAL_QWEN,
  mlx: LOCAL_QWEN.map((own) => ({ ...own, vision: true })),
  fireworks: [
    rule("*qwen3.6*", TEMPLATE, PRESERVE),
    rule("*qwen3p6*", TEMPLATE, PRESERVE),
    rule("*qwen*", TEMPLATE),
  ],
  dashscope: [rule("qwen3.6*", TEMPLATE, PRESERVE), rule("qwen*", TEMPLATE)],
  openrouter: [
    rule("anthropic/claude-*", TOOLS, CACHED, ROUTED, { vision: true }),
    rule("qwen/qwen3.6*", NATIVE, ROUTED, PRESERVE),
    rule("qwen/*", NATIVE, ROUTED),
    rule("deepseek/deepseek-v3*", NATIVE, CACHED, ROUTED),
    rule("google/gemini-2.5*", SEEING, CACHED, ROUTED),
    rule("google/gemma-4*", NATIVE),
  ],
  huggingface: HUB,
  together: [...HUB, rule("moonshotai/*", NATIVE)],
};

/** The provider from which another one inherits if none of its own rules matches. */
export const SHIPPED_FAMILIES: Record<string, string> = Object.fromEntries(
  [
    "openrouter",
    "together",
    "groq",
    "deepseek",
    "fireworks",
    "huggingface",
    "local",
    "dashscope",
    "llamacpp",
    "mlx",
    "xai",
    "google",
    "workers-ai",
  ].map((name) => [name, "openai"]),
);
