/** What a call costs. Prices are USD per million tokens, amounts are USD. */
import type { Usage } from "../../engine/messages.ts";
import { nanoUsd, priceAt, promptTokensOf, usdOf } from "../cost.ts";
import type { ModelPrice, ModelRegistry } from "./definition.ts";
import { shippedModel } from "./shipped-price.ts";

const MILLION = 1_000_000;

/**
 * The model's price: that of the configuration, the provider's own, then that which Hull ships; `null`: not known.
 */
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
 * Whether a limit of cost refuses models of the provider whose price is unknown. Servers of one's own and the mock provider
 * charge nothing.
 */
export function refusesUnpriced({ providers, unknown_price }: ModelRegistry, provider: string): boolean {
  const { key_optional, api } = providers.get(provider) ?? {};
  return unknown_price === "refuse" && key_optional !== true && api !== "mock";
}

/**
 * What a provider charges for these tokens. Tokens read from or written to its cache cost their own price, that of other
 * input where none is known.
 */
export function costOf(usage: Usage, price: ModelPrice): number {
  return usdOf(nanoUsd(usage, price, countsBeside(usage)));
}

/**
 * How much of the prompt came from the provider's cache, 0 to 1, and what that saved compared with reading it all as
 * other input; negative where writing cost more than reading saved.
 * @param price `null`: nothing is known to be saved
 */
export function cacheFigures(
  usage: Usage,
  price: ModelPrice | null,
): { cache_hit_ratio: number; cache_savings_usd: number } {
  const { cache_read_tokens: read, cache_write_tokens: written } = usage;
  const total = promptTokensOf(usage, countsBeside(usage));
  const cache_hit_ratio = total === 0 ? 0 : read / total;
  if (price === null) return { cache_hit_ratio, cache_savings_usd: 0 };
  const rates = priceAt(price, total);
  const { cache_read = rates.in, cache_write = rates.in } = rates;
  const saved = read * (rates.in - cache_read) + written * (rates.in - cache_write);
  return { cache_hit_ratio, cache_savings_usd: saved / MILLION };
}

/** Some providers count cached tokens in `input_tokens` (OpenAI), others beside them (Anthropic). */
const countsBeside = ({ input_tokens, cache_read_tokens, cache_write_tokens }: Usage): boolean =>
  cache_read_tokens + cache_write_tokens > input_tokens;
