/** What a call costs (agent-runtime.md §15.1, §15.4). Prices are USD per million tokens, amounts are USD. */
import type { Usage } from "../../engine/messages.ts";
import { nanoUsd, promptTokensOf, usdOf } from "../cost.ts";
import type { Catalogue, PriceRule } from "./definition.ts";
import type { Price } from "./layer.ts";

const MILLION = 1_000_000;

/** The model's price; the provider's where no rule speaks of the model; `null`: not known. */
export function priceOf(
  { prices, providers }: Catalogue,
  provider: string | null,
  model: string,
): Price | null {
  const id = model.toLowerCase();
  const rule = prices.find((candidate) => applies(candidate, id));
  if (rule !== undefined) return rule.price;
  const definition = provider === null ? undefined : providers.get(provider);
  const { cost_per_1k_in, cost_per_1k_out } = definition ?? {};
  if (cost_per_1k_in === undefined && cost_per_1k_out === undefined) return null;
  return { in: (cost_per_1k_in ?? 0) * 1000, out: (cost_per_1k_out ?? 0) * 1000 };
}

function applies({ contains, start }: PriceRule, id: string): boolean {
  return contains.every((part) =>
    start === true ? id.startsWith(part) || id.includes(`/${part}`) : id.includes(part),
  );
}

/**
 * What a provider charges for these tokens. Tokens read from or written to its cache cost their own price, that of other
 * input where none is known.
 */
export function costOf(usage: Usage, price: Price): number {
  return usdOf(nanoUsd(usage, price, countsBeside(usage)));
}

/**
 * How much of the prompt came from the provider's cache, 0 to 1, and what that saved compared with reading it all as
 * other input; negative where writing cost more than reading saved.
 * @param price `null`: nothing is known to be saved
 */
export function cacheFigures(
  usage: Usage,
  price: Price | null,
): { cache_hit_ratio: number; cache_savings_usd: number } {
  const { cache_read_tokens: read, cache_write_tokens: written } = usage;
  const total = promptTokensOf(usage, countsBeside(usage));
  const cache_hit_ratio = total === 0 ? 0 : read / total;
  if (price === null) return { cache_hit_ratio, cache_savings_usd: 0 };
  const { cache_read = price.in, cache_write = price.in } = price;
  const saved = read * (price.in - cache_read) + written * (price.in - cache_write);
  return { cache_hit_ratio, cache_savings_usd: saved / MILLION };
}

/** Some providers count cached tokens in `input_tokens` (OpenAI), others beside them (Anthropic). */
const countsBeside = ({ input_tokens, cache_read_tokens, cache_write_tokens }: Usage): boolean =>
  cache_read_tokens + cache_write_tokens > input_tokens;
