/** Which provider and model a call goes to. */
import { describe, expect, test } from "vitest";
import { resolveTarget } from "../../../../src/model/providers.ts";
import { inferProvider, tierOf, wireModel } from "../../../../src/model/registry/infer.ts";
import { isAvailable, isUsable } from "../../../../src/model/registry/provider-setup.ts";
import { shippedModels } from "../../../../src/model/registry/registry.ts";
import type { ModelWish } from "../../../../src/model/registry/resolve.ts";
import { ANTHROPIC, choose, env, LOCAL, layered, OPENAI, type Variables } from "./support.ts";

test.each([
  ["mock", "mock", "mock"],
  ["local:qwen3", "ollama", "qwen3"],
  ["ollama:gpt-oss", "ollama", "gpt-oss"],
  ["hf:org/model", "huggingface", "org/model"],
  ["huggingface:a/b/c", "huggingface", "a/b/c"],
  ["@cf/meta/llama-4", "workers-ai", "@cf/meta/llama-4"],
  ["@hf/x", "workers-ai", "@hf/x"],
  ["qwen/qwen3-coder", "openrouter", "qwen/qwen3-coder"],
  ["qwen/qwen3:free", "openrouter", "qwen/qwen3:free"],
  ["claude-opus-4-7", "anthropic", "claude-opus-4-7"],
  ["gpt-4o", "openai", "gpt-4o"],
  ["GPT-4o", "openai", "GPT-4o"],
  ["o1", "openai", "o1"],
  ["o3-mini", "openai", "o3-mini"],
  ["o4-mini", "openai", "o4-mini"],
  ["gemini-2.5-pro", "google", "gemini-2.5-pro"],
  ["grok-3", "xai", "grok-3"],
  ["deepseek-chat", "deepseek", "deepseek-chat"],
  ["deepseek-reasoner", "deepseek", "deepseek-reasoner"],
  ["llama3.2:latest", "ollama", "llama3.2:latest"],
])("%s is inferred to be %s's", (model, provider, sent) => {
  expect(inferProvider(model, shippedModels)).toEqual({ provider, certain: true });
  expect(choose({ model, provider: "auto" })).toMatchObject({ provider, model: sent, warnings: [] });
});

test("a model that no rule matches goes to the default provider, with one warning", () => {
  for (const model of ["my-model", "a/b/c", "constructor"]) {
    const { provider, warnings } = choose({ model });
    expect([model, provider, warnings.map(({ code }) => code)]).toEqual([
      model,
      "anthropic",
      ["provider_not_inferred"],
    ]);
  }
  const registry = layered({ llm: { default_provider: "mock" } });
  expect(choose({ model: "my-model" }, {}, registry).provider).toBe("mock");
});

test("a prefix is removed only from an id that is sent to its provider", () => {
  expect(wireModel("local:m", "local")).toBe("m");
  expect(wireModel("ollama:m", "openrouter")).toBe("ollama:m");
  expect(choose({ provider: "openai", model: "hf:m" }).model).toBe("hf:m");
});

test.each([
  ["Qwen3.5-9B", "small"],
  ["qwen3-30b-a3b", "small"],
  ["gemma-4-e2b", "small"],
  ["gemma-4-e4b-it", "small"],
  ["gemma-4-26b", "mid"],
  ["gemma-4-31b-it", "frontier"],
  ["claude-haiku-4-5", "frontier"],
  ["gpt-4o", "frontier"],
  ["gpt-4o-mini", "mid"],
  ["deepseek-v3", "mid"],
])("%s is %s", (model, tier) => expect(tierOf(shippedModels, model)).toBe(tier));

describe("resolution, in order", () => {
  const everything = {
    ...OPENAI,
    ...ANTHROPIC,
    HULL_LLM_PROVIDER: "groq",
    LOCAL_LLM_BASE_URL: "http://localhost:1",
    LOCAL_LLM_MODEL: "lm",
    HULL_LLM_MODEL: "gemini-2.0-flash",
    OLLAMA_HOST: "localhost:2",
  };
  const { HULL_LLM_PROVIDER: _, ...noProvider } = everything;
  const { LOCAL_LLM_BASE_URL: __, LOCAL_LLM_MODEL: ___, ...noLocal } = noProvider;
  const { HULL_LLM_MODEL: ____, ...noModel } = noLocal;

  test.each<[string, ModelWish, Variables, { provider: string; model: string }]>([
    ["the option", { provider: "openai" }, everything, { provider: "openai", model: "gpt-6-luna" }],
    ["another name", { provider: "gemini" }, everything, { provider: "google", model: "gemini-2.0-flash" }],
    [
      "option and alias",
      { provider: "mock", model: "mid" },
      everything,
      { provider: "mock", model: "gpt-6-luna" },
    ],
    ["alias", { model: "frontier" }, everything, { provider: "anthropic", model: "claude-sonnet-5" }],
    ["auto", { provider: "auto", model: "gpt-4o" }, everything, { provider: "openai", model: "gpt-4o" }],
    ["environment", { model: "gpt-4o" }, everything, { provider: "groq", model: "gpt-4o" }],
    ["environment, both", {}, everything, { provider: "groq", model: "gemini-2.0-flash" }],
    ["local, model named", { model: "gpt-4o" }, noProvider, { provider: "local", model: "gpt-4o" }],
    ["local, model set", {}, noProvider, { provider: "local", model: "lm" }],
    ["inferred", { model: "grok-3" }, noLocal, { provider: "xai", model: "grok-3" }],
    ["tier", { model_tier: "mid" }, noLocal, { provider: "openai", model: "gpt-6-luna" }],
    [
      "tier together with a model",
      { model: "o1", model_tier: "mid" },
      noLocal,
      { provider: "openai", model: "o1" },
    ],
    ["environment's model", {}, noLocal, { provider: "google", model: "gemini-2.0-flash" }],
    ["default", {}, noModel, { provider: "anthropic", model: "claude-haiku-4-5-20251001" }],
    ["ollama is reachable", {}, { OLLAMA_HOST: "localhost:2" }, { provider: "ollama", model: "llama3.2" }],
    ["nothing is configured", {}, {}, { provider: "anthropic", model: "claude-haiku-4-5-20251001" }],
    [
      "blank options",
      { provider: "", model: "", model_tier: "" },
      {},
      { provider: "anthropic", model: "claude-haiku-4-5-20251001" },
    ],
    ["only a key", { model: "gpt-4o" }, OPENAI, { provider: "openai", model: "gpt-4o" }],
    [
      "own model of the environment",
      { provider: "openai" },
      { HULL_LLM_MODEL: "o1" },
      { provider: "openai", model: "o1" },
    ],
  ])("%s", (_name, wish, variables, expected) => {
    const { provider, model, warnings } = choose(wish, variables);
    expect({ provider, model }).toEqual(expected);
    expect(warnings).toEqual([]);
  });

  test("LOCAL_LLM_BASE_URL without a model asks for one", () => {
    const address = { LOCAL_LLM_BASE_URL: "http://localhost:1" };
    expect(() => choose({ provider: "local" }, address)).toThrow(/LOCAL_LLM_MODEL/);
    expect(() => choose({}, address)).toThrow(/LOCAL_LLM_MODEL/);
    expect(choose({ provider: "local" }, { ...address, LOCAL_LLM_MODEL: "lm" }).model).toBe("lm");
  });

  test("a provider without a default model, and names that nothing defines, are the caller's fault", () => {
    const refused = (option: string, words: RegExp) =>
      expect.objectContaining({
        code: "model_not_resolved",
        message: expect.stringMatching(words),
        data: expect.objectContaining({ status: 400, members: expect.objectContaining({ option }) }),
      });
    for (const provider of [
      "huggingface",
      "together",
      "groq",
      "fireworks",
      "dashscope",
      "vllm",
      "tgi",
      "llamacpp",
      "mlx",
    ]) {
      expect(() => choose({ provider })).toThrow(refused("model", /no default model/));
    }
    expect(() => choose({ provider: "antropic" })).toThrow(refused("provider", /Did you mean anthropic/));
    expect(() => choose({ provider: "constructor" })).toThrow(refused("provider", /no provider/));
    expect(() => choose({ model_tier: "huge" })).toThrow(refused("model_tier", /no tier or alias "huge"/));
    expect(() => choose({}, { HULL_LLM_PROVIDER: "zzz" })).toThrow(
      refused("HULL_LLM_PROVIDER", /no provider/),
    );
  });

  test("the missing key is named together with the choice of its provider", () => {
    const choice = choose({ model: "grok-3" });
    expect(() => resolveTarget(choice, env({}))).toThrow(
      /xai needs XAI_API_KEY.*chosen from the model grok-3\./,
    );
    expect(() => resolveTarget(choose({}), env({}))).toThrow(
      /ANTHROPIC_API_KEY.*chosen as the default provider\./,
    );
    for (const [model, remedy] of [
      ["openai/gpt-4o-mini", /OPENROUTER_API_KEY.*for openai itself, write gpt-4o-mini\./],
      ["bedrock/claude-3", /OPENROUTER_API_KEY.*; an alias in hull\.toml can name another provider\./],
    ] as const)
      expect(() => resolveTarget(choose({ model }), env({}))).toThrow(remedy);
  });
});

describe("tiers", () => {
  test("without a usable provider are served by the first usable one, with a warning", () => {
    expect(choose({ model_tier: "small" }, OPENAI)).toMatchObject({
      provider: "openai",
      model: "gpt-6-luna",
      warnings: [{ code: "tier_replaced", option: "model_tier" }],
    });
    expect(choose({ model_tier: "frontier" }, { OPENROUTER_API_KEY: "k" })).toMatchObject({
      provider: "openrouter",
      model: "anthropic/claude-haiku-4.5",
    });
    const local = { LOCAL_LLM_BASE_URL: "http://localhost:1", LOCAL_LLM_MODEL: "lm", ...OPENAI };
    expect(choose({ model_tier: "small" }, local)).toMatchObject({ provider: "local", model: "lm" });
    const chosen = { HULL_LLM_MODEL: "gemini-2.0-flash" };
    expect(choose({ model_tier: "small" }, chosen)).toMatchObject({ provider: "google", warnings: [{}] });
    expect(choose({ model_tier: "small" })).toMatchObject({ provider: "openrouter", warnings: [] });
  });

  test("at a requested provider mean its own model of the tier", () => {
    expect(choose({ provider: "openai", model_tier: "mid" })).toMatchObject({
      model: "gpt-6-luna",
      warnings: [],
    });
    expect(choose({ provider: "openai", model_tier: "frontier" })).toMatchObject({
      model: "gpt-6-sol",
      warnings: [{}],
    });
    expect(choose({ provider: "anthropic", model_tier: "small" })).toMatchObject({
      provider: "anthropic",
      model: "claude-haiku-4-5-20251001",
    });
    expect(choose({ model_tier: "tier/small" }, { OPENROUTER_API_KEY: "k" }).model).toBe("Qwen/Qwen3.5-9B");
  });
});

test("the tool format is the alias's, else what provider or model can", () => {
  const registry = layered({
    llm: {
      aliases: { plain: { id: "gpt-4o", provider: "openai", tool_format: "text" } },
      providers: { able: { base_url: "https://a.example", features: ["native_tools"] } },
    },
  });
  const format = (wish: ModelWish) => choose(wish, {}, registry).tool_format;
  expect(format({ model: "plain" })).toBe("text");
  expect(format({ model: "gpt-4o" })).toBe("native");
  expect(format({ provider: "able", model: "m" })).toBe("native");
  expect(format({ provider: "vllm", model: "m" })).toBe("text");
});

test("available and usable", () => {
  const registry = layered({
    llm: { providers: { own: { base_url: "http://localhost:1" }, ollama: { base_url: "http://gpu" } } },
  });
  const found = (variables: Variables, from = shippedModels) =>
    ["anthropic", "ollama", "local", "workers-ai", "mock", "own"].map((name) => [
      name,
      isAvailable(name, from, env(variables)),
      isUsable(name, from, env(variables)),
    ]);
  expect(found(LOCAL)).toEqual([
    ["anthropic", false, false],
    ["ollama", true, false],
    ["local", true, false],
    ["workers-ai", true, false],
    ["mock", true, true],
    ["own", false, false],
  ]);
  expect(found({ ...ANTHROPIC, LOCAL_LLM_BASE_URL: "localhost:1" }, registry)).toEqual([
    ["anthropic", true, true],
    ["ollama", true, true],
    ["local", true, true],
    ["workers-ai", true, true],
    ["mock", true, true],
    ["own", true, true],
  ]);
});
