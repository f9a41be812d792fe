/** Prices and cache figures (agent-runtime.md §15.1, §15.4). */
import { expect, test } from "vitest";
import type { Usage } from "../../../../src/engine/messages.ts";
import { mergeCatalogue, shippedCatalogue } from "../../../../src/model/catalogue/catalogue.ts";
import { layerSchema } from "../../../../src/model/catalogue/layer.ts";
import { cacheFigures, costOf, priceOf } from "../../../../src/model/catalogue/price.ts";

const usage = (input_tokens: number, output_tokens: number, read = 0, write = 0): Usage => ({
  input_tokens,
  output_tokens,
  cache_read_tokens: read,
  cache_write_tokens: write,
});

test.each<[model: string, input: number, output: number]>([
  ["claude-3-5-haiku-20241022", 0.8, 4],
  ["claude-haiku-4-5-20251001", 0.8, 4],
  ["claude-3-5-sonnet-latest", 3, 15],
  ["claude-sonnet-4-20250514", 3, 15],
  ["anthropic/claude-sonnet-4-20250514", 3, 15],
  ["claude-3-opus-20240229", 15, 75],
  ["claude-opus-4-7", 15, 75],
  ["gpt-4o-mini-2024-07-18", 0.15, 0.6],
  ["gpt-4o", 2.5, 10],
  ["openai/GPT-4o", 2.5, 10],
  ["gpt-4-turbo", 10, 30],
  ["o1-mini", 3, 12],
  ["o1", 15, 60],
  ["o1-preview", 15, 60],
  ["openai/o3", 15, 60],
  ["@cf/meta/llama-3.3-70b-instruct-fp8-fast", 0.59, 0.79],
  ["llama-3.1-8b-instant", 0.05, 0.08],
  ["mistral-large-latest", 2, 6],
  ["mistral-small-2409", 0.2, 0.6],
  ["gemini-2.0-flash", 0.1, 0.4],
  ["gemini-2.5-pro", 1.25, 5],
])("%s costs %d and %d", (model, input, output) => {
  expect(priceOf(shippedCatalogue, null, model)).toMatchObject({ in: input, out: output });
});

test.each([
  "grok-3",
  "gpt-4.1",
  "claude-2",
  "gemini-1.5-flash",
  "llama-3.2",
  "deepseek-o1",
  "foo1",
  "mock",
  "",
])("%s has no known price", (model) => expect(priceOf(shippedCatalogue, "xai", model)).toBeNull());

test("configured prices come first, in the order of the file; a provider's come last", () => {
  const catalogue = mergeCatalogue(
    shippedCatalogue,
    layerSchema.parse({
      llm: {
        providers: { xai: { cost_per_1k_in: 0.002, cost_per_1k_out: 0.01 } },
        prices: { "GPT-4o-mini": { in: 9, out: 9, cache_read: 1 }, "gpt-4o": { in: 8, out: 8 } },
      },
    }),
  );
  expect(priceOf(catalogue, "openai", "gpt-4o-mini")).toEqual({ in: 9, out: 9, cache_read: 1 });
  expect(priceOf(catalogue, "openai", "gpt-4o")).toEqual({ in: 8, out: 8 });
  expect(priceOf(catalogue, "xai", "grok-3")).toEqual({ in: 2, out: 10 });
  expect(priceOf(catalogue, "xai", "o1")).toMatchObject({ in: 15, out: 60 });
});

test("costs", () => {
  const cost = (model: string, tokens: Usage) =>
    costOf(tokens, priceOf(shippedCatalogue, null, model) ?? expect.fail(model));
  expect(cost("claude-sonnet-4-20250514", usage(1000, 500))).toBe(0.0105);
  // OpenAI counts what it read from its cache as input, Anthropic beside it.
  expect(cost("gpt-4o", usage(1000, 0, 400))).toBeCloseTo((600 * 2.5 + 400 * 1.25) / 1e6, 12);
  expect(cost("claude-sonnet-4-20250514", usage(100, 0, 900, 200))).toBeCloseTo(
    (100 * 3 + 900 * 0.3 + 200 * 3.75) / 1e6,
    12,
  );
  expect(cost("gpt-4-turbo", usage(1000, 0, 400))).toBeCloseTo(0.01, 12);
});

test.each<[tokens: Usage, ratio: number, savings: number]>([
  [usage(1000, 0, 250, 0), 0.25, (250 * 2.7) / 1e6],
  [usage(100, 0, 900, 0), 0.9, (900 * 2.7) / 1e6],
  [usage(100, 0, 0, 900), 0, (900 * -0.75) / 1e6],
  [usage(0, 10), 0, 0],
])("cache figures of %j", (tokens, ratio, savings) => {
  const figures = cacheFigures(tokens, priceOf(shippedCatalogue, null, "claude-sonnet-4"));
  expect(figures.cache_hit_ratio).toBeCloseTo(ratio, 12);
  expect(figures.cache_savings_usd).toBeCloseTo(savings, 12);
  expect(cacheFigures(tokens, null)).toEqual({
    cache_hit_ratio: figures.cache_hit_ratio,
    cache_savings_usd: 0,
  });
});
