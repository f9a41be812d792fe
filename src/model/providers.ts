/** Which providers there are and how a call to one is addressed (serving.md §4.1, agent-runtime.md §5.1). */
import { ProviderMisconfigured, ProviderNotConfigured } from "../errors/provider.ts";
import type { ProviderKeyVariable } from "../secrets.ts";
import type { ModelTarget, ProviderName } from "../skill/manifest.ts";
import { readBaseUrl } from "./base-url.ts";
import { ALL_OFF, type Capabilities } from "./capabilities.ts";

/** The wire protocols; `workers-ai` goes through the AI binding, `mock` needs no network. */
export type ProtocolName =
  | "anthropic"
  | "openai-chat"
  | "openai-responses"
  | "ollama"
  | "workers-ai"
  | "mock";

/** What differs between providers of one protocol. */
export interface Dialect {
  token_field: "max_tokens" | "max_completion_tokens";
  /** Takes `response_format: {type: "json_object"}`. */
  json_mode: boolean;
  /** Wants the `reasoning_content` of an assistant turn with tool calls back (DeepSeek's thinking mode). */
  reasoning_echo: boolean;
  /** Parameters of its own in the chat protocol (`chat-traits.ts`); absent: OpenAI's. */
  variant?: "openrouter" | "ollama" | undefined;
}

interface ProviderEntry extends Dialect {
  protocol: ProtocolName;
  /** Variables that may hold the key; the first one set wins. */
  keys: readonly ProviderKeyVariable[];
  /** `false`: calls go without a key where none is set. */
  key_required: boolean;
  auth: "x-api-key" | "bearer";
  /** Sent with every call. */
  headers: { [name: string]: string };
  /** Of `mode: llm`; `null`: it must be named, in the skill or in one of `model_variables`. */
  default_model: string | null;
  model_variables: readonly string[];
  /** Base of the provider itself; `null`: none without configuration. */
  base: string | null;
  /** Variables for the base beside `<PROVIDER>_BASE_URL`, which beats them. */
  base_variables: readonly string[];
  /** What a configured origin without a path gets. */
  path: string;
  /** Appended to the base. */
  endpoint: string;
}

const OPENAI_COMPATIBLE = {
  protocol: "openai-chat",
  key_required: true,
  auth: "bearer",
  headers: {},
  model_variables: [],
  base_variables: [],
  path: "/v1",
  endpoint: "/chat/completions",
  token_field: "max_tokens",
  json_mode: false,
  reasoning_echo: false,
} as const satisfies Partial<ProviderEntry>;

const TABLE: Record<ProviderName, ProviderEntry> = {
  anthropic: {
    ...OPENAI_COMPATIBLE,
    protocol: "anthropic",
    keys: ["ANTHROPIC_API_KEY"],
    auth: "x-api-key",
    headers: { "anthropic-version": "2023-06-01" },
    default_model: "claude-haiku-4-5-20251001",
    base: "https://api.anthropic.com/v1",
    endpoint: "/messages",
  },
  openai: {
    ...OPENAI_COMPATIBLE,
    keys: ["OPENAI_API_KEY"],
    default_model: "gpt-4o-mini",
    base: "https://api.openai.com/v1",
    token_field: "max_completion_tokens",
    json_mode: true,
  },
  xai: {
    ...OPENAI_COMPATIBLE,
    keys: ["XAI_API_KEY"],
    default_model: "grok-3",
    base: "https://api.x.ai/v1",
    json_mode: true,
  },
  google: {
    ...OPENAI_COMPATIBLE,
    keys: ["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    default_model: "gemini-2.0-flash",
    base: "https://generativelanguage.googleapis.com/v1beta/openai",
    path: "/v1beta/openai",
    json_mode: true,
  },
  deepseek: {
    ...OPENAI_COMPATIBLE,
    keys: ["DEEPSEEK_API_KEY"],
    default_model: "deepseek-chat",
    base: "https://api.deepseek.com",
    json_mode: true,
    reasoning_echo: true,
  },
  openrouter: {
    ...OPENAI_COMPATIBLE,
    keys: ["OPENROUTER_API_KEY"],
    default_model: "anthropic/claude-sonnet-4-20250514",
    base: "https://openrouter.ai/api/v1",
    path: "/api/v1",
    json_mode: true,
    variant: "openrouter",
  },
  huggingface: {
    ...OPENAI_COMPATIBLE,
    keys: ["HF_TOKEN", "HUGGINGFACE_API_KEY"],
    default_model: null,
    base: "https://router.huggingface.co/v1",
  },
  ollama: {
    ...OPENAI_COMPATIBLE,
    keys: ["OLLAMA_API_KEY"],
    key_required: false,
    default_model: "llama3.2",
    base: "http://localhost:11434/v1",
    base_variables: ["OLLAMA_HOST"],
    json_mode: true,
    variant: "ollama",
  },
  local: {
    ...OPENAI_COMPATIBLE,
    keys: ["LOCAL_API_KEY"],
    key_required: false,
    default_model: null,
    model_variables: ["LOCAL_LLM_MODEL", "HULL_LLM_MODEL"],
    base: "http://localhost:8000/v1",
    base_variables: ["LOCAL_LLM_BASE_URL"],
  },
  "workers-ai": {
    ...OPENAI_COMPATIBLE,
    protocol: "workers-ai",
    keys: ["WORKERS_AI_API_KEY"],
    default_model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
    base: null,
  },
  mock: {
    ...OPENAI_COMPATIBLE,
    protocol: "mock",
    keys: [],
    key_required: false,
    default_model: "mock",
    base: null,
    json_mode: true,
  },
};

interface Resolved extends Dialect {
  provider: ProviderName;
  model: string;
  capabilities: Capabilities;
  /** Values that must never leave this process but in `headers`: for the redactor. */
  secrets: string[];
}

/** A provider reached over HTTP. */
export interface HttpTarget extends Resolved {
  protocol: "anthropic" | "openai-chat" | "openai-responses" | "ollama";
  url: string;
  /** Authentication and version headers. */
  headers: { [name: string]: string };
  /** The variable whose value authenticates the call, or the one that names the host where there is no key. */
  variable: string;
}

/** A provider inside the Worker: the AI binding, or the mock. */
export interface InternalTarget extends Resolved {
  protocol: "workers-ai" | "mock";
  url: null;
  headers: { [name: string]: string };
}

export type ResolvedTarget = HttpTarget | InternalTarget;

/** Reads a variable or secret of the deployment; `undefined` or blank: not set. */
export type ReadVariable = (name: string) => string | undefined;

/**
 * Everything needed to call a model, except the request (serving.md §4.1). Reads the environment at each call, so that
 * a skill loads and lists without its key.
 * @throws ProviderNotConfigured when the provider's key is not set
 * @throws ProviderMisconfigured when no model is known, or a base URL or key cannot be used
 */
export function resolveTarget(target: ModelTarget, env: ReadVariable): ResolvedTarget {
  const { provider } = target;
  const entry = TABLE[provider];
  const resolved: Resolved = {
    provider,
    model: target.model ?? defaultModel(provider, entry, env),
    token_field: entry.token_field,
    json_mode: entry.json_mode,
    reasoning_echo: entry.reasoning_echo,
    variant: entry.variant,
    capabilities: ALL_OFF,
    secrets: [],
  };
  const override = firstSet([baseVariable(provider), ...entry.base_variables], env);
  if (entry.protocol === "mock" || (entry.base === null && override === null)) {
    const protocol = entry.protocol === "mock" ? "mock" : "workers-ai";
    return { ...resolved, protocol, url: null, headers: {} };
  }
  const key = readKey(provider, entry, env);
  const base =
    override === null
      ? entry.base
      : readBaseUrl(override.value, {
          provider,
          variable: override.name,
          path: entry.path,
          keyed: key !== null,
        });
  return {
    ...resolved,
    protocol: entry.protocol === "anthropic" ? "anthropic" : "openai-chat",
    url: base + entry.endpoint,
    headers: { ...entry.headers, ...(key === null ? {} : authHeader(entry, key.value)) },
    secrets: key === null ? [] : [key.value],
    variable: key?.name ?? override?.name ?? baseVariable(provider),
  };
}

function readKey(provider: ProviderName, entry: ProviderEntry, env: ReadVariable) {
  const key = firstSet(entry.keys, env);
  const [first] = entry.keys;
  if (key === null) {
    if (!entry.key_required || first === undefined) return null;
    throw new ProviderNotConfigured({ provider, variable: first });
  }
  if (!/^[\x21-\x7e]+$/.test(key.value)) {
    const reason = `${key.name} holds blanks or characters that a header cannot carry`;
    throw new ProviderMisconfigured({ provider, variable: key.name, reason });
  }
  return key;
}

function authHeader(entry: ProviderEntry, key: string): { [name: string]: string } {
  return entry.auth === "x-api-key" ? { "x-api-key": key } : { authorization: `Bearer ${key}` };
}

function defaultModel(provider: ProviderName, entry: ProviderEntry, env: ReadVariable): string {
  const model = entry.default_model ?? firstSet(entry.model_variables, env)?.value;
  if (model !== undefined) return model;
  const [variable] = entry.model_variables;
  throw new ProviderMisconfigured({
    provider,
    reason: `it has no default model; name one in the skill${variable === undefined ? "" : ` or set ${variable}`}`,
    ...(variable === undefined ? {} : { variable }),
  });
}

const baseVariable = (provider: ProviderName): string =>
  `${provider.toUpperCase().replaceAll("-", "_")}_BASE_URL`;

function firstSet(names: readonly string[], env: ReadVariable): { name: string; value: string } | null {
  for (const name of names) {
    const value = env(name)?.trim();
    if (value !== undefined && value !== "") return { name, value };
  }
  return null;
}
