/** Prices, retirements and cache figures. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { Usage } from "../../../../src/engine/messages.ts";
import { layerSchema } from "../../../../src/model/registry/layer.ts";
import MODEL_DATA from "../../../../src/model/registry/model-data.txt?raw";
import { cacheFigures, costOf, priceOf, refusesUnpriced } from "../../../../src/model/registry/price.ts";
import { mergeModelRegistry, shippedModels } from "../../../../src/model/registry/registry.ts";
import { lastRetirement, retirementOf } from "../../../../src/model/registry/retirements.ts";

const usage = (input_tokens: number, output_tokens: number, read = 0, write = 0): Usage => ({
  input_tokens,
  output_tokens,
  cache_read_tokens: read,
  cache_write_tokens: write,
});

/** As the vendors' price lists of the data's day have them, in USD per million tokens. */
test.each<[provider: string | null, model: string, input: number, output: number]>([
  ["anthropic", "claude-haiku-4-5-20251001", 1, 5],
  ["anthropic", "claude-opus-4-5", 5, 25],
  ["anthropic", "claude-opus-4-7", 5, 25],
  [null, "anthropic/claude-sonnet-4-20250514", 3, 15],
  ["openai", "gpt-4o-mini-2024-07-18", 0.15, 0.6],
  [null, "openai/GPT-4o", 2.5, 10],
  ["openai", "gpt-4.1", 2, 8],
  ["openai", "gpt-5", 1.25, 10],
  ["openai", "o4-mini", 1.1, 4.4],
  ["openai", "gpt-6-luna", 0.1, 0.5],
  ["xai", "grok-4", 3, 15],
  ["google", "gemini-2.5-pro", 1.25, 10],
  ["openrouter", "anthropic/claude-haiku-4.5", 1, 5],
  ["my_proxy", "claude-haiku-4-5", 1, 5],
  ["mock", "claude-haiku-4-5", 1, 5],
])("at %s %s costs %d and %d", (provider, model, input, output) => {
  expect(priceOf(shippedModels, provider, model)).toMatchObject({ in: input, out: output });
});

test.each([
  ["mock", "mock"],
  ["ollama", "gpt-oss-20b"],
  ["openai", "foo1"],
  [null, ""],
])("%s has no known price of %s", (provider, model) =>
  expect(priceOf(shippedModels, provider, model)).toBeNull(),
);

test("a prompt beyond the model's tier costs what such prompts cost, all of it", () => {
  const price = priceOf(shippedModels, "anthropic", "claude-sonnet-4-5") ?? expect.fail("no price");
  expect(costOf(usage(200_000, 1000), price, {})).toBeCloseTo((200_000 * 3 + 1000 * 15) / 1e6, 12);
  expect(costOf(usage(200_001, 1000), price, {})).toBeCloseTo((200_001 * 6 + 1000 * 22.5) / 1e6, 12);
});

test("every provider's default model, every alias and every model of routing is known, and none is retired", () => {
  const [day = ""] = /\d{4}-\d\d-\d\d/.exec(MODEL_DATA) ?? [];
  const { providers, aliases, models } = shippedModels;
  const named = [
    ...Array.from(providers, ([provider, { default_model }]) => [provider, default_model] as const),
    ...Array.from(aliases.values(), ({ provider, id }) => [provider, id] as const),
    ...Array.from(models.values(), ({ provider = "", id }) => [provider, id] as const),
  ];
  for (const [provider, model] of named) {
    if (model === undefined || provider === "ollama" || provider === "mock") continue;
    expect([provider, model, priceOf(shippedModels, provider, model)]).toEqual([
      provider,
      model,
      expect.objectContaining({ in: expect.any(Number) }),
    ]);
    const retired = retirementOf(provider, model);
    expect([model, retired === null || retired > day]).toEqual([model, true]);
  }
});

test("retirements include those that the vendor's own client warns of", async () => {
  const table = await readFile("node_modules/@anthropic-ai/sdk/internal/data/deprecated-models.js", "utf8");
  const rows = Array.from(table.matchAll(/'([^']+)': '(\w+) (\d+)\w*, (\d+)'/g));
  expect(rows.length).toBeGreaterThan(0);
  for (const [, model = "", month, day, year] of rows) {
    const date = new Date(`${month} ${day}, ${year} UTC`).toISOString().slice(0, 10);
    expect([model, retirementOf("anthropic", model)]).toEqual([model, date]);
  }
});

test.each([
  ["2024-11-05", ""],
  ["2026-11-29", "2026-10-23"],
  ["2026-11-30", "2026-11-30"],
  ["2099-01-01", "2027-04-01"],
])("the last retirement by %s was on %o", (today, last) => {
  expect(lastRetirement(today)).toBe(last);
});

test("limits of cost refuse models of unknown price where a provider charges for them", () => {
  const allowing = mergeModelRegistry(shippedModels, layerSchema.parse({ llm: { unknown_price: "allow" } }));
  expect(
    ["openai", "my_proxy", "ollama", "mock"].map((name) => refusesUnpriced(shippedModels, name)),
  ).toEqual([true, true, false, false]);
  expect(refusesUnpriced(allowing, "openai")).toBe(false);
});

test("configured prices come first, in the order of the file; a provider's own before what Hull ships", () => {
  const registry = mergeModelRegistry(
    shippedModels,
    layerSchema.parse({
      llm: {
        providers: { xai: { cost_per_1k_in: 0.002, cost_per_1k_out: 0.01 } },
        prices: { "GPT-4o-mini": { in: 9, out: 9, cache_read: 1 }, "gpt-4o": { in: 8, out: 8 } },
      },
    }),
  );
  expect(priceOf(registry, "openai", "gpt-4o-mini")).toEqual({ in: 9, out: 9, cache_read: 1 });
  expect(priceOf(registry, "openai", "gpt-4o")).toEqual({ in: 8, out: 8 });
  expect(priceOf(registry, "xai", "grok-3")).toEqual({ in: 2, out: 10 });
});

test("the cost of a call", () => {
  const cost = (model: string, tokens: Usage, by: Parameters<typeof costOf>[2] = {}) =>
    costOf(tokens, priceOf(shippedModels, null, model) ?? expect.fail(model), by);
  expect(cost("claude-sonnet-4-20250514", usage(1000, 500))).toBe(0.0105);
  // OpenAI counts what it read from its cache as input, Anthropic separately.
  expect(cost("gpt-4o", usage(1000, 0, 400))).toBeCloseTo((600 * 2.5 + 400 * 1.25) / 1e6, 12);
  expect(cost("claude-sonnet-4-20250514", usage(100, 0, 900, 200))).toBeCloseTo(
    (100 * 3 + 900 * 0.3 + 200 * 3.75) / 1e6,
    12,
  );
  expect(cost("claude-sonnet-4-20250514", usage(1000, 0, 300), { protocol: "anthropic" })).toBeCloseTo(
    (1000 * 3 + 300 * 0.3) / 1e6,
    12,
  );
  expect(cost("gpt-4-turbo", usage(1000, 0, 400))).toBeCloseTo(0.01, 12);
});

test.each<[tokens: Usage, ratio: number, savings: number, by?: "anthropic"]>([
  [usage(1000, 0, 250, 0), 0.25, (250 * 2.7) / 1e6],
  [usage(1000, 0, 250, 0), 0.2, (250 * 2.7) / 1e6, "anthropic"],
  [usage(100, 0, 900, 0), 0.9, (900 * 2.7) / 1e6],
  [usage(100, 0, 0, 900), 0, (900 * -0.75) / 1e6],
  [usage(0, 10), 0, 0],
])("cache figures of %j", (tokens, ratio, savings, protocol) => {
  const figures = cacheFigures(tokens, priceOf(shippedModels, null, "claude-sonnet-4-0"), { protocol });
  expect(figures.cache_hit_ratio).toBeCloseTo(ratio, 12);
  expect(figures.cache_savings_usd).toBeCloseTo(savings, 12);
  expect(cacheFigures(tokens, null, { protocol })).toEqual({ ...figures, cache_savings_usd: 0 });
});
