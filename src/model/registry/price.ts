/** The cost of a call. Prices are USD per million tokens, amounts are USD. */
import type { Usage } from "../../engine/messages.ts";
import { usdOf } from "../../engine/usd.ts";
import { excludesCachedTokens, nanoUsd, priceAt, promptTokensOf } from "../cost.ts";
import type { ModelPrice, ModelRegistry } from "./definition.ts";
import { shippedModel } from "./shipped-price.ts";

const MILLION = 1_000_000;

/** The model's price: from configuration, else the provider's own, else the shipped one; `null`: unknown. */
export function priceOf(
  { prices, providers }: ModelRegistry,
  provider: string | null,
  model: string,
): ModelPrice | null {
  const id = model.toLowerCase();
  const rule = prices.find(({ contains }) => id.includes(contains));
  if (rule !== undefined) return rule.price;
  const definition = provider === null ? undefined : providers.get(provider);
  const { cost_per_1k_in, cost_per_1k_out } = definition ?? {};
  if (cost_per_1k_in === undefined && cost_per_1k_out === undefined) {
    return shippedModel(provider, model)?.price ?? null;
  }
  return { in: (cost_per_1k_in ?? 0) * 1000, out: (cost_per_1k_out ?? 0) * 1000 };
}

/**
 * Whether a cost limit refuses models of the provider whose price is unknown. Self-hosted servers charge nothing, and
 * the mock provider counts only the price of a vendor's model.
 */
export function refusesUnpriced({ providers, unknown_price }: ModelRegistry, provider: string): boolean {
  const { key_optional, api } = providers.get(provider) ?? {};
  return unknown_price === "refuse" && key_optional !== true && api !== "mock";
}

/**
 * The provider's charge for these tokens. Tokens read from or written to its cache have their own price, or that of
 * other input if unknown.
 * @param by the provider
 */
export function costOf(
  usage: Usage,
  price: ModelPrice,
  by: Parameters<typeof excludesCachedTokens>[0],
): number {
  return usdOf(nanoUsd(usage, price, excludesCachedTokens(by, usage)));
}

/**
 * All tokens of the prompt, the part of them that came from the provider's cache, 0 to 1, and the savings compared with
 * reading everything as other input. The savings are negative if writing cost more than reading saved.
 * @param price `null`: no savings are known
 * @param by the provider
 */
export function cacheFigures(
  usage: Usage,
  price: ModelPrice | null,
  by: Parameters<typeof excludesCachedTokens>[0],
): { prompt_tokens: number; cache_hit_ratio: number; cache_savings_usd: number } {
  const { cache_read_tokens: read, cache_write_tokens: written } = usage;
  const prompt_tokens = promptTokensOf(usage, excludesCachedTokens(by, usage));
  const cache_hit_ratio = prompt_tokens === 0 ? 0 : read / prompt_tokens;
  if (price === null) return { prompt_tokens, cache_hit_ratio, cache_savings_usd: 0 };
  const rates = priceAt(price, prompt_tokens);
  const { cache_read = rates.in, cache_write = rates.in } = rates;
  const saved = read * (rates.in - cache_read) + written * (rates.in - cache_write);
  return { prompt_tokens, cache_hit_ratio, cache_savings_usd: saved / MILLION };
}
