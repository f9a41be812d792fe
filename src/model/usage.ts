/** Token counts under the providers' names. */

import { totalUsage, type Usage } from "../engine/messages.ts";
import { isObject, objectOf } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";

/**
 * The counts of a provider's usage object; 0 for a missing or malformed count. Anthropic lists the compaction of a
 * conversation among the iterations, but leaves it out of the counts.
 */
export function readUsage(usage: unknown): Usage {
  const of = objectOf(usage);
  const { iterations } = of;
  const compactions = Array.isArray(iterations)
    ? iterations.filter(isObject).filter(({ type }) => type === "compaction")
    : [];
  return compactions.map(ownUsage).reduce(totalUsage, ownUsage(of));
}

function ownUsage(of: JsonObject): Usage {
  const prompt = objectOf(of.prompt_tokens_details);
  const input = objectOf(of.input_tokens_details);
  const input_tokens = countIn(of.input_tokens, of.prompt_tokens, of.prompt_eval_count);
  const output_tokens = countIn(of.output_tokens, of.completion_tokens, of.eval_count);
  const cache_read_tokens = countIn(
    of.cache_read_input_tokens,
    prompt.cached_tokens,
    input.cached_tokens,
    of.cache_read_tokens,
    of.cached_tokens,
    of.cached_prompt_tokens,
    of.prompt_cache_hit_tokens,
  );
  const cache_write_tokens = countIn(
    of.cache_creation_input_tokens,
    prompt.cache_write_tokens,
    input.cache_write_tokens,
  );
  const cached = cache_read_tokens + cache_write_tokens;
  return {
    input_tokens,
    output_tokens: output_tokens + uncountedReasoning(of, { input_tokens, output_tokens, cached }),
    cache_read_tokens,
    cache_write_tokens,
  };
}

/**
 * The output that a provider counts only in its total: the reasoning of xAI and Gemini, which they charge as output.
 * @param counted as the provider counts; some servers leave the `cached` tokens out of the input, but not out of the total
 */
function uncountedReasoning(
  { total_tokens }: JsonObject,
  counted: { input_tokens: number; output_tokens: number; cached: number },
): number {
  const { input_tokens, output_tokens, cached } = counted;
  const uncounted = countIn(total_tokens) - input_tokens - output_tokens;
  return input_tokens > 0 && uncounted > 0 && uncounted !== cached ? uncounted : 0;
}

/** The token counts among other figures. */
export function tokenCounts({
  input_tokens,
  output_tokens,
  cache_read_tokens,
  cache_write_tokens,
}: Usage): Usage {
  return { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens };
}

/** Whether a usage has no counts: the provider reported nothing. */
export const isSilent = (usage: Usage): boolean => Object.values(tokenCounts(usage)).every((n) => n === 0);

/** More tokens than any call can have. One larger count would make a budget's and a tenant's sums useless for ever. */
const MOST = 1_000_000_000;

/** The first valid count. */
function countIn(...counts: unknown[]): number {
  for (const count of counts)
    if (typeof count === "number" && count > 0 && count <= MOST) return Math.trunc(count);
  return 0;
}
