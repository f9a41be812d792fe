import { expect, test } from "vitest";
import { resolveTarget } from "../../../src/model/providers.ts";
import { keyVariables } from "../../../src/model/registry/layer.ts";
import { shippedModels } from "../../../src/model/registry/registry.ts";
import * as secrets from "../../../src/secrets.ts";
import { SHIPPED } from "../../../src/skill/known-providers.ts";
import { layered } from "./registry/support.ts";

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
    "gpt-6-luna",
    "https://api.openai.com/v1/chat/completions",
    bearer("key-of-OPENAI_API_KEY"),
    "max_completion_tokens",
  ],
  ["xai", "grok-4.6", "https://api.x.ai/v1/chat/completions", bearer("key-of-XAI_API_KEY"), "max_tokens"],
  [
    "google",
    "gemini-3.6-flash",
    "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    bearer("key-of-GOOGLE_API_KEY"),
    "max_tokens",
  ],
  [
    "deepseek",
    "deepseek-v4-flash",
    "https://api.deepseek.com/v1/chat/completions",
    bearer("key-of-DEEPSEEK_API_KEY"),
    "max_tokens",
  ],
  [
    "openrouter",
    "anthropic/claude-haiku-4.5",
    "https://openrouter.ai/api/v1/chat/completions",
    bearer("key-of-OPENROUTER_API_KEY"),
    "max_tokens",
  ],
])("%s as shipped", (provider, model, url, headers, token_field) => {
  const target = resolve(provider, KEYS);
  expect(target).toMatchObject({ provider, model, url, headers, token_field });
  expect(target.headers).toEqual(headers);
});

test("providers without a key: ollama, local, workers-ai, mock", () => {
  for (const provider of ["ollama", "local", "workers-ai", "mock"]) {
    expect(resolve(provider, {}, "m").headers).toEqual({});
  }
  expect(resolve("ollama", {})).toMatchObject({
    model: "llama3.2",
    url: "http://localhost:11434/v1/chat/completions",
  });
  expect(resolve("local", { LOCAL_LLM_MODEL: "qwen" })).toMatchObject({
    model: "qwen",
    url: "http://localhost:8000/v1/chat/completions",
  });
  expect(resolve("workers-ai", {})).toMatchObject({ protocol: "workers-ai", url: null });
  expect(resolve("workers-ai", { WORKERS_AI_BASE_URL: "http://127.0.0.1:1", ...KEYS })).toMatchObject({
    protocol: "openai-chat",
    url: "http://127.0.0.1:1/v1/chat/completions",
    headers: bearer("key-of-WORKERS_AI_API_KEY"),
  });
  expect(resolve("mock", {})).toMatchObject({ protocol: "mock", model: "mock", url: null });
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

test.each<[string, string, object, string]>([
  ["openai", "gpt-4o", {}, "max_completion_tokens"],
  ["openai", "llama", { llm: { providers: { openai: { token_field: "max_tokens" } } } }, "max_tokens"],
  ["openai", "gpt-5-mini", { llm: { providers: { openai: { token_field: "max_tokens" } } } }, "max_tokens"],
  ["openrouter", "openai/gpt-5-mini", {}, "max_completion_tokens"],
  ["openrouter", "meta/llama", {}, "max_tokens"],
  ["mine", "m", { llm: { providers: { mine: { base_url: "https://mine.example/v1" } } } }, "max_tokens"],
  [
    "mine",
    "m",
    {
      llm: {
        providers: { mine: { base_url: "https://mine.example/v1", token_field: "max_completion_tokens" } },
      },
    },
    "max_completion_tokens",
  ],
  ...["ollama", "vllm", "together", "groq", "fireworks", "dashscope", "tgi", "llamacpp", "mlx", "local"].map(
    (provider): [string, string, object, string] => [provider, "m", {}, "max_tokens"],
  ),
])("%s, %s with %j: the limit of tokens is in %s", (provider, model, layer, token_field) => {
  expect(resolveTarget({ provider, model }, env(KEYS), layered(layer))).toMatchObject({ token_field });
});

test("the first key set wins, and blanks around it do not matter", () => {
  expect(resolve("google", { GEMINI_API_KEY: " two\n" }).headers).toEqual(bearer("two"));
  expect(resolve("google", { GEMINI_API_KEY: "two", GOOGLE_API_KEY: "one" }).headers).toEqual(bearer("one"));
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
  // A server that needs a key nevertheless refuses the call without one.
  const key = { url, variable: `${provider.toUpperCase()}_API_KEY` };
  expect(resolve(provider, { ...keys, [variable]: value }, "m")).toMatchObject(key);
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

test("the names that skills may use, and the keys that are withheld, are those of the registry", () => {
  const { providers } = shippedModels;
  expect([...providers.keys()]).toEqual(SHIPPED.names);
  const keys = [...providers].flatMap(([name, definition]) => keyVariables(name, definition));
  expect(keys.toSorted()).toEqual(secrets.PROVIDER_KEY_VARIABLES.toSorted());
  const nameless = SHIPPED.names.filter((name) => {
    const { default_model, model_env } = providers.get(name) ?? {};
    return (default_model ?? model_env) === undefined;
  });
  expect(nameless).toEqual(SHIPPED.model_required);
});

/** The path below a bare origin, for all providers that do not answer at `/v1/chat/completions`. */
const PATHS: Record<string, string> = {
  anthropic: "/v1/messages",
  google: "/v1beta/openai/chat/completions",
  openrouter: "/api/v1/chat/completions",
  groq: "/openai/v1/chat/completions",
  fireworks: "/inference/v1/chat/completions",
  dashscope: "/compatible-mode/v1/chat/completions",
};

test.each(SHIPPED.names.filter((name) => name !== "mock"))("%s at its <PROVIDER>_BASE_URL", (name) => {
  const variable = `${name.toUpperCase().replace("-", "_")}_BASE_URL`;
  const at = (base: string) => resolve(name, { ...KEYS, [variable]: base }, "m");
  expect(at("http://127.0.0.1:9").url).toBe(`http://127.0.0.1:9${PATHS[name] ?? "/v1/chat/completions"}`);
  expect(at("http://127.0.0.1:9/gw/").url).toMatch(/^http:..127.0.0.1:9.gw.(messages|chat.completions)$/);
});

const custom = (fields: object, variables: Record<string, string> = {}, more: object = {}) =>
  resolveTarget(
    { provider: "my-proxy", model: "m", ...more },
    env(variables),
    layered({ llm: { providers: { "my-proxy": fields } } }),
  );

test.each<[fields: object, url: string, protocol: string]>([
  [{ base_url: "https://p.example" }, "https://p.example/v1/chat/completions", "openai-chat"],
  [{ base_url: "https://p.example/" }, "https://p.example/v1/chat/completions", "openai-chat"],
  [{ base_url: "https://p.example/x/" }, "https://p.example/x/chat/completions", "openai-chat"],
  [{ base_url: "https://p.example", chat_endpoint: "/chat" }, "https://p.example/chat", "openai-chat"],
  [
    { base_url: "https://p.example/a", chat_endpoint: "/v1/messages" },
    "https://p.example/a/v1/messages",
    "anthropic",
  ],
  [{ base_url: "https://p.example/v1", api: "anthropic" }, "https://p.example/v1/messages", "anthropic"],
  [{ base_url: "https://p.example", api: "responses" }, "https://p.example/v1/responses", "openai-responses"],
  [
    { base_url: "https://p.example", api: "openai-responses" },
    "https://p.example/v1/responses",
    "openai-responses",
  ],
  [{ base_url: "localhost:11434", api: "ollama" }, "http://localhost:11434/api/chat", "ollama"],
  [{ base_url: "http://localhost:1/v1", api: "ollama" }, "http://localhost:1/api/chat", "ollama"],
  [
    { base_url: "https://p.example", api: "workers-ai" },
    "https://p.example/v1/chat/completions",
    "openai-chat",
  ],
])("a provider defined as %j", (fields, url, protocol) => {
  const target = custom(fields);
  expect(target).toMatchObject({ provider: "my-proxy", url, protocol, completion_url: null });
  expect(Object.keys(target.headers)).toEqual(protocol === "anthropic" ? ["anthropic-version"] : []);
});

test("a configured provider's key, headers and endpoints", () => {
  const base = { base_url: "https://p.example/v1" };
  const secret = { MY_PROXY_API_KEY: "k1", OTHER: "k2" };
  expect(custom(base, secret).headers).toEqual(bearer("k1"));
  expect(custom({ ...base, auth_style: "none" }, secret).headers).toEqual({});
  expect(custom({ ...base, auth_env: ["UNSET", "OTHER"] }, secret)).toMatchObject({
    headers: bearer("k2"),
    variable: "OTHER",
  });
  expect(() => custom({ ...base, auth_env: "UNSET" }, secret)).toThrow(/my-proxy needs UNSET/);
  const own = { ...base, auth_style: "header", auth_header: "X-Token", extra_headers: { "X-Team": "a" } };
  expect(custom(own, secret).headers).toEqual({ "x-token": "k1", "x-team": "a" });
  expect(custom({ ...own, auth_style: "bearer" }, secret).headers["x-token"]).toBe("Bearer k1");
  const versioned = { ...base, api: "anthropic", extra_headers: { "Anthropic-Version": "2099-01-01" } };
  expect(custom(versioned).headers).toEqual({ "anthropic-version": "2099-01-01" });
  expect(custom({ ...base, completion_endpoint: "/completions" })).toMatchObject({
    completion_url: "https://p.example/v1/completions",
  });
  expect(custom(base, {}, { protocol: "openai-responses" })).toMatchObject({
    protocol: "openai-responses",
    url: "https://p.example/v1/responses",
  });
  expect(custom(base, { MY_PROXY_BASE_URL: "http://127.0.0.1:9" }).url).toBe(
    "http://127.0.0.1:9/v1/chat/completions",
  );
  expect(custom({ base_url_env: "PROXY_HOST" }, { PROXY_HOST: "h.example" }).url).toBe(
    "https://h.example/v1/chat/completions",
  );
  expect(() => custom({})).toThrow(/neither a base_url nor MY_PROXY_BASE_URL/);
  expect(() => custom({ base_url: "http://p.example" }, secret)).toThrow(/base_url must begin with https/);
  expect(custom({ ...base, features: ["json_mode"] }).json_mode).toBe(true);
});

test("the shipped ones: capabilities, completion endpoints, Ollama's own protocol", () => {
  expect(resolve("anthropic", KEYS, "claude-opus-4-7").capabilities.max_tools).toBe(10_000);
  expect(resolve("ollama", {})).toMatchObject({ completion_url: "http://localhost:11434/api/generate" });
  expect(resolve("openrouter", KEYS)).toMatchObject({
    completion_url: "https://openrouter.ai/api/v1/completions",
  });
  expect(resolve("openai", KEYS)).toMatchObject({ completion_url: null });
  expect(resolve("gemini", KEYS)).toMatchObject({ provider: "google", model: "gemini-3.6-flash" });
  const native = layered({ llm: { providers: { ollama: { api: "ollama" } } } });
  const at = (variables: Record<string, string>) =>
    resolveTarget({ provider: "ollama", model: null }, env(variables), native).url;
  expect(at({})).toBe("http://localhost:11434/api/chat");
  expect(at({ OLLAMA_HOST: "gpu:1" })).toBe("https://gpu:1/api/chat");
  expect(() => resolve("my-proxy", KEYS, "m")).toThrow(/this deployment does not have it/);
});

test("the proxy of local dev gets every call with its target; a deployment has none", () => {
  const HULL_LLM_PROXY = "http://127.0.0.1:7";
  const local = { ...KEYS, HULL_ENV: "local", HULL_LLM_PROXY, ANTHROPIC_BASE_URL: "https://gw.example" };
  expect(resolve("anthropic", local)).toMatchObject({
    url: "http://127.0.0.1:7/anthropic/messages",
    headers: { "x-api-key": "key-of-ANTHROPIC_API_KEY", "x-hull-upstream": "https://gw.example/v1" },
  });
  expect(resolve("ollama", local)).toMatchObject({
    url: "http://127.0.0.1:7/ollama/chat/completions",
    completion_url: "http://127.0.0.1:7/ollama/api/generate",
    headers: { "x-hull-upstream": "http://localhost:11434/v1" },
  });
  const deployed = resolve("anthropic", { ...KEYS, HULL_LLM_PROXY });
  expect(deployed.url).toBe("https://api.anthropic.com/v1/messages");
  expect(deployed.headers).not.toHaveProperty("x-hull-upstream");
});
