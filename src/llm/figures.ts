/** Sums of the parts of one call. */
import { totalUsage } from "../engine/messages.ts";
import { sumUsd } from "../engine/usd.ts";
import { cacheFigures } from "../model/registry/price.ts";
import type { CallFigures } from "./result.ts";

/** Adds two parts and recomputes the hit ratio. @param a `null`: there is no earlier part */
export function added(a: CallFigures | null, b: CallFigures): CallFigures {
  if (a === null) return b;
  const sum = totalUsage(a, b);
  return {
    ...sum,
    cost_usd: sumUsd(a.cost_usd, b.cost_usd),
    price_known: a.price_known && b.price_known,
    cache_hit_ratio: cacheFigures(sum, null).cache_hit_ratio,
    cache_savings_usd: sumUsd(a.cache_savings_usd, b.cache_savings_usd),
  };
}
