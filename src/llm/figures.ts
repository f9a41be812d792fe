/** Sums of the parts of one call. */
import { cacheFigures } from "../model/registry/price.ts";
import type { CallFigures } from "./result.ts";

/** Adds two parts and recomputes the hit ratio. @param a `null`: there is no earlier part */
export function added(a: CallFigures | null, b: CallFigures): CallFigures {
  if (a === null) return b;
  const sum = {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_read_tokens: a.cache_read_tokens + b.cache_read_tokens,
    cache_write_tokens: a.cache_write_tokens + b.cache_write_tokens,
  };
  return {
    ...sum,
    cost_usd: a.cost_usd + b.cost_usd,
    price_known: a.price_known && b.price_known,
    cache_hit_ratio: cacheFigures(sum, null).cache_hit_ratio,
    cache_savings_usd: a.cache_savings_usd + b.cache_savings_usd,
  };
}
