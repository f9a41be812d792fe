/** The cost of a model call in integer nano-USD: sums of them are exact, up to nine million USD. */
import type { Usage } from "../engine/messages.ts";
import type { ResolvedTarget } from "./providers.ts";
import type { ModelPrice } from "./registry/definition.ts";
import type { Price } from "./registry/layer.ts";

/** The price of a model; `null`: unknown. */
export type PriceOf = (provider: string, model: string) => ModelPrice | null;

/** The protocol that the provider speaks; absent: unknown. */
interface Spoken {
  protocol?: ResolvedTarget["protocol"] | undefined;
}

/** One USD per million tokens is this many nano-USD per token. */
const NANO_PER_TOKEN = 1000;

/**
 * Whether a usage counts cached tokens separately from `input_tokens`, as Anthropic does, or within it. A mock of any
 * provider shows it by its counts.
 */
export function excludesCachedTokens({ protocol }: Spoken, usage: Usage): boolean {
  const { input_tokens, cache_read_tokens, cache_write_tokens } = usage;
  return protocol === "anthropic" || cache_read_tokens + cache_write_tokens > input_tokens;
}

/** All tokens of the prompt, including cached ones. */
export function promptTokensOf(
  { input_tokens, cache_read_tokens, cache_write_tokens }: Usage,
  excludesCached: boolean,
): number {
  return excludesCached ? input_tokens + cache_read_tokens + cache_write_tokens : input_tokens;
}

/** The prices of a call with this many tokens in its prompt. */
export function priceAt({ above, ...price }: ModelPrice, promptTokens: number): Price {
  return above !== undefined && promptTokens > above.tokens ? above : price;
}

/** @param excludesCached whether `input_tokens` excludes cached tokens */
export function nanoUsd(usage: Usage, modelPrice: ModelPrice, excludesCached: boolean): number {
  const price = priceAt(modelPrice, promptTokensOf(usage, excludesCached));
  const { input_tokens, output_tokens, cache_read_tokens: read, cache_write_tokens: write } = usage;
  const plain = excludesCached ? input_tokens : Math.max(0, input_tokens - read - write);
  return Math.round(
    NANO_PER_TOKEN *
      (plain * price.in +
        read * (price.cache_read ?? price.in) +
        write * (price.cache_write ?? price.in) +
        output_tokens * price.out),
  );
}
