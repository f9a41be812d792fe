/** Configuration upon the shipped definitions. */
import { describe, expect, test } from "vitest";
import { resolveTarget } from "../../../../src/model/providers.ts";
import { modelDefaults, tierOf } from "../../../../src/model/registry/infer.ts";
import { type Layer, layerSchema } from "../../../../src/model/registry/layer.ts";
import { choose, env, layered } from "./support.ts";

describe("layers", () => {
  const proxy = { base_url: "https://llm.example.com/v1", auth_env: "MY_PROXY_API_KEY" };
  const root: Layer = layerSchema.parse({
    llm: {
      providers: { my_proxy: proxy, openai: { rpm: 50 } },
      aliases: {
        "my-fast": { id: "vendor/fast", provider: "my_proxy" },
        mid: { id: "fast", provider: "my_proxy" },
      },
      inference_rules: [{ exact: "gpt-4o", provider: "my_proxy" }],
      models: { "acme-1": { provider: "my_proxy", tier: "small" } },
      model_defaults: { "gpt-*": { temperature: 0 }, "*": { top_p: 0.5 } },
    },
  });
  const variables = { MY_PROXY_API_KEY: "key-of-proxy" };

  test("define providers, and aliases that lead to them", () => {
    const registry = layered(root);
    const choice = choose({ model: "my-fast" }, variables, registry);
    expect(choice).toMatchObject({ provider: "my_proxy", model: "vendor/fast" });
    expect(resolveTarget(choice, env(variables), registry)).toMatchObject({
      url: "https://llm.example.com/v1/chat/completions",
      headers: { authorization: "Bearer key-of-proxy" },
      variable: "MY_PROXY_API_KEY",
    });
    expect(() => resolveTarget(choice, env({}), registry)).toThrow(/MY_PROXY_API_KEY/);
    expect(choose({ model: "gpt-4o" }, {}, registry).provider).toBe("my_proxy");
    expect(choose({ model: "acme-1" }, {}, registry).provider).toBe("my_proxy");
    expect(tierOf(registry, "ACME-1")).toBe("small");
  });

  test("merge a provider's fields with the lower layer's, and replace entries of other maps", () => {
    const registry = layered(root);
    expect(registry.providers.get("openai")).toMatchObject({
      rpm: 50,
      base_url: "https://api.openai.com/v1",
    });
    expect(registry.aliases.get("mid")).toEqual({ id: "fast", provider: "my_proxy" });
    expect(registry.aliases.get("small")?.provider).toBe("openrouter");
    expect(modelDefaults(registry, "GPT-4o")).toEqual({ temperature: 0, top_p: 0.5 });
    expect(
      modelDefaults(layered(root, { llm: { model_defaults: { "gpt-*": { top_p: 1 } } } }), "gpt-4o"),
    ).toEqual({ top_p: 1 });
  });

  test("may name a provider as a member that every object inherits", () => {
    const rules = [{ model_match: "*", vision: true }];
    const layer = layerSchema.parse({ capabilities: { provider: { constructor: rules } } });
    expect(layered({ capabilities: {} }, layer).capabilities.user.rules.get("constructor")).toEqual(rules);
  });

  test("of packages lie below that of the project, and that of a tenant above", () => {
    const package_ = layerSchema.parse({
      llm: {
        providers: { my_proxy: { base_url: "https://package.example", latency_p50_ms: 9 } },
        aliases: {
          "my-fast": { id: "p", provider: "my_proxy" },
          "from-package": { id: "q", provider: "my_proxy" },
        },
        inference_rules: [
          { pattern: "gpt-4o", provider: "groq" },
          { contains: "acme", provider: "groq" },
        ],
        model_defaults: { "*": { top_p: 0.1 }, "gpt-4*": { top_p: 0.2 } },
        prices: { "gpt-4o": { in: 1, out: 1 } },
      },
      capabilities: { provider: { openai: [{ model_match: "*", max_tools: 1 }] } },
    });
    const rules = layerSchema.parse({
      capabilities: { provider: { openai: [{ model_match: "gpt-*", max_tools: 2 }] } },
    });
    const joined = layered(package_, root, rules);
    expect(joined.capabilities.user.rules.get("openai")).toMatchObject([{ max_tools: 2 }, { max_tools: 1 }]);
    expect(modelDefaults(joined, "gpt-4o")).toEqual({ temperature: 0, top_p: 0.5 });
    expect(choose({ model: "my-fast" }, {}, joined).model).toBe("vendor/fast");
    expect(choose({ model: "from-package" }, {}, joined).model).toBe("q");
    expect(choose({ model: "gpt-4o" }, {}, joined).provider).toBe("my_proxy");
    expect(choose({ model: "acme/x" }, {}, joined).provider).toBe("groq");
    expect(joined.providers.get("my_proxy")).toMatchObject({
      ...proxy,
      auth_env: ["MY_PROXY_API_KEY"],
      latency_p50_ms: 9,
    });
  });

  test("with replace_defaults leave nothing below but the capability rules", () => {
    const registry = layered(root, {
      llm: { replace_defaults: true, providers: { only: { base_url: "https://o.example" } } },
    });
    expect([...registry.providers.keys()]).toEqual(["only"]);
    expect([registry.aliases.size, registry.prices.length, registry.inference_rules.length]).toEqual([
      0, 0, 0,
    ]);
    expect(registry.capabilities.shipped.rules.size).toBeGreaterThan(5);
    expect(() => choose({ model: "gpt-4o" }, {}, registry)).toThrow(/no provider "anthropic"/);
    expect(choose({ provider: "only", model: "gpt-4o" }, {}, registry).provider).toBe("only");
  });
});
