import { expect, test } from "vitest";
import { resolveTarget } from "../../../src/model/providers.ts";
import * as secrets from "../../../src/secrets.ts";
import { SHIPPED } from "../../../src/skill/known-providers.ts";

const env =
  (variables: Record<string, string>) =>
  (name: string): string | undefined =>
    variables[name];

/** A key in every variable that may hold one. */
const KEYS = Object.fromEntries(secrets.PROVIDER_KEY_VARIABLES.map((name) => [name, `key-of-${name}`]));

const resolve = (provider: string, variables: Record<string, string>, model: string | null = null) =>
  resolveTarget({ provider, model }, env(variables));

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test.each<[string, string, string, object, string]>([
  [
    "anthropic",
    "claude-haiku-4-5-20251001",
    "https://api.anthropic.com/v1/messages",
    { "x-api-key": "key-of-ANTHROPIC_API_KEY", "anthropic-version": "2023-06-01" },
    "max_tokens",
  ],
  [
    "openai",
    "gpt-4o-mini",
    "https://api.openai.com/v1/chat/completions",
    bearer("key-of-OPENAI_API_KEY"),
    "max_completion_tokens",
  ],
  ["xai", "grok-3", "https://api.x.ai/v1/chat/completions", bearer("key-of-XAI_API_KEY"), "max_tokens"],
  [
    "google",
    "gemini-2.0-flash",
    "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    bearer("key-of-GOOGLE_API_KEY"),
    "max_tokens",
  ],
  [
    "deepseek",
    "deepseek-chat",
    "https://api.deepseek.com/v1/chat/completions",
    bearer("key-of-DEEPSEEK_API_KEY"),
    "max_tokens",
  ],
  [
    "openrouter",
    "anthropic/claude-sonnet-4-20250514",
    "https://openrouter.ai/api/v1/chat/completions",
    bearer("key-of-OPENROUTER_API_KEY"),
    "max_tokens",
  ],
])("%s as shipped", (provider, model, url, headers, token_field) => {
  const target = resolve(provider, KEYS);
  expect(target).toMatchObject({ provider, model, url, headers, token_field });
  expect(target.headers).toEqual(headers);
  expect(target.secrets).toHaveLength(1);
  expect(JSON.stringify(headers)).toContain(target.secrets[0]);
});

test("providers without a key: ollama, local, workers-ai, mock", () => {
  const none = { headers: {}, secrets: [] };
  expect(resolve("ollama", {})).toMatchObject({
    ...none,
    model: "llama3.2",
    url: "http://localhost:11434/v1/chat/completions",
  });
  expect(resolve("local", { LOCAL_LLM_MODEL: "qwen" })).toMatchObject({
    ...none,
    model: "qwen",
    url: "http://localhost:8000/v1/chat/completions",
  });
  expect(resolve("workers-ai", {})).toMatchObject({ ...none, protocol: "workers-ai", url: null });
  expect(resolve("workers-ai", { WORKERS_AI_BASE_URL: "http://127.0.0.1:1", ...KEYS })).toMatchObject({
    protocol: "openai-chat",
    url: "http://127.0.0.1:1/v1/chat/completions",
    headers: bearer("key-of-WORKERS_AI_API_KEY"),
  });
  expect(resolve("mock", {})).toMatchObject({ ...none, protocol: "mock", model: "mock", url: null });
});

test.each<[string, string]>([
  ["anthropic", "ANTHROPIC_API_KEY"],
  ["openai", "OPENAI_API_KEY"],
  ["xai", "XAI_API_KEY"],
  ["google", "GOOGLE_API_KEY"],
  ["deepseek", "DEEPSEEK_API_KEY"],
  ["huggingface", "HF_TOKEN"],
])("%s without its key names %s", (provider, variable) => {
  const blank = { [variable]: "  " };
  expect(() => resolve(provider, blank, "m")).toThrow(
    expect.objectContaining({
      code: "provider_not_configured",
      data: expect.objectContaining({ status: 503, members: { provider, variable } }),
    }),
  );
});

test("the first key set wins, and blanks around it do not matter", () => {
  expect(resolve("google", { GEMINI_API_KEY: " two\n" }).secrets).toEqual(["two"]);
  expect(resolve("google", { GEMINI_API_KEY: "two", GOOGLE_API_KEY: "one" }).secrets).toEqual(["one"]);
  expect(() => resolve("openai", { OPENAI_API_KEY: "sk ö" })).toThrow(/OPENAI_API_KEY holds/);
});

test("a provider without a default model asks for one", () => {
  expect(() => resolve("huggingface", KEYS)).toThrow(/name one in the skill/);
  expect(() => resolve("local", {})).toThrow(/LOCAL_LLM_MODEL/);
  expect(resolve("local", { HULL_LLM_MODEL: "b" }).model).toBe("b");
  expect(resolve("huggingface", KEYS, "org/m").model).toBe("org/m");
});

test.each<[string, string, string, string]>([
  ["anthropic", "ANTHROPIC_BASE_URL", "http://127.0.0.1:9", "http://127.0.0.1:9/v1/messages"],
  ["anthropic", "ANTHROPIC_BASE_URL", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/messages"],
  ["anthropic", "ANTHROPIC_BASE_URL", "https://gw.example/a/b/", "https://gw.example/a/b/messages"],
  ["openai", "OPENAI_BASE_URL", "http://localhost:9/", "http://localhost:9/v1/chat/completions"],
  ["google", "GOOGLE_BASE_URL", "http://[::1]:9", "http://[::1]:9/v1beta/openai/chat/completions"],
  ["deepseek", "DEEPSEEK_BASE_URL", "http://localhost:9", "http://localhost:9/v1/chat/completions"],
  ["openrouter", "OPENROUTER_BASE_URL", "https://or.example", "https://or.example/api/v1/chat/completions"],
  ["openai", "OPENAI_BASE_URL", "gw.example:8443/x", "https://gw.example:8443/x/chat/completions"],
  ["xai", "XAI_BASE_URL", "localhost:9", "http://localhost:9/v1/chat/completions"],
  ["ollama", "OLLAMA_HOST", "0.0.0.0:11434", "http://0.0.0.0:11434/v1/chat/completions"],
  ["ollama", "OLLAMA_HOST", "192.168.1.7:11434", "http://192.168.1.7:11434/v1/chat/completions"],
  ["local", "LOCAL_LLM_BASE_URL", "https://vllm.example/v1", "https://vllm.example/v1/chat/completions"],
])("%s with %s=%s", (provider, variable, value, url) => {
  const { OLLAMA_API_KEY: _, LOCAL_API_KEY: __, ...keys } = KEYS;
  expect(resolve(provider, { ...keys, [variable]: value }, "m").url).toBe(url);
});

test("<PROVIDER>_BASE_URL beats the provider's other variables", () => {
  const both = { OLLAMA_HOST: "localhost:1", OLLAMA_BASE_URL: "localhost:2" };
  expect(resolve("ollama", both).url).toBe("http://localhost:2/v1/chat/completions");
});

test.each([
  ["http://gw.example/v1", /must begin with https/],
  ["http://localhost.evil.example", /must begin with https/],
  ["ftp://gw.example", /not an http or https URL/],
  ["https://", /not an http or https URL/],
  ["https://user:pw@gw.example", /host, a port and a path only/],
  ["https://gw.example/v1?key=1", /host, a port and a path only/],
])("OPENAI_BASE_URL=%s is refused", (value, message) => {
  expect(() => resolve("openai", { ...KEYS, OPENAI_BASE_URL: value })).toThrow(
    expect.objectContaining({ code: "provider_misconfigured", message: expect.stringMatching(message) }),
  );
});

test("plain http over the network is allowed only while no key goes with it", () => {
  const host = { OLLAMA_HOST: "http://gpu-box:11434" };
  expect(resolve("ollama", host).url).toBe("http://gpu-box:11434/v1/chat/completions");
  expect(() => resolve("ollama", { ...host, OLLAMA_API_KEY: "k" })).toThrow(/must begin with https/);
});

test("every provider resolves", () => {
  for (const provider of SHIPPED.names)
    expect(resolve(provider, KEYS, "m")).toMatchObject({ provider, model: "m" });
});
