/**
 * What Hull reads of a chat completion and of the chunks of a streamed one. Providers differ in what they leave out or
 * fill with something else, so that only what an answer cannot do without is insisted on.
 */
import * as z from "zod/mini";
import type { Json } from "../skill/manifest.ts";

const optionalText = z.catch(z.nullish(z.string()), null);
const optionalCount = z.catch(z.nullish(z.number()), null);

const content = z.nullish(
  z.union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.optional(z.string()) }))]),
);
const calledFunction = z.object({ name: optionalText, arguments: z.optional(z.unknown()) });
/** Kept as it came and sent back; whatever stands in a JSON document is JSON. */
const extraContent = z.optional(z.custom<Json>());

/** Text in the places where providers put it, in a message as in a delta. */
const texts = { content, refusal: optionalText, reasoning: optionalText, reasoning_content: optionalText };

const details = z.catch(
  z.nullish(z.object({ cached_tokens: optionalCount, cache_write_tokens: optionalCount })),
  null,
);

/** Token counts under the names that providers use (agent-runtime.md §3.6; DeepSeek: `prompt_cache_hit_tokens`). */
const usageShape = z.object({
  prompt_tokens: optionalCount,
  completion_tokens: optionalCount,
  prompt_tokens_details: details,
  input_tokens_details: details,
  cache_read_tokens: optionalCount,
  cached_prompt_tokens: optionalCount,
  prompt_cache_hit_tokens: optionalCount,
});
export type WireUsage = z.infer<typeof usageShape>;

const messageShape = z.object({
  ...texts,
  tool_calls: z.nullish(
    z.array(z.object({ id: optionalText, function: calledFunction, extra_content: extraContent })),
  ),
});
export type WireMessage = z.infer<typeof messageShape>;

export const completionShape = z.object({
  model: optionalText,
  choices: z
    .array(z.object({ message: messageShape, finish_reason: optionalText }))
    .check(z.minLength(1)),
  usage: z.nullish(usageShape),
});

const deltaCall = z.object({
  index: optionalCount,
  id: optionalText,
  function: z.nullish(calledFunction),
  extra_content: extraContent,
});
export type DeltaCall = z.infer<typeof deltaCall>;

export const chunkShape = z.object({
  model: optionalText,
  choices: z.nullish(
    z.array(
      z.object({
        index: z.nullish(z.number()),
        delta: z.nullish(z.object({ ...texts, tool_calls: z.nullish(z.array(deltaCall)) })),
        finish_reason: optionalText,
      }),
    ),
  ),
  usage: z.nullish(z.record(z.string(), z.unknown())),
});
