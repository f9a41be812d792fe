/**
 * What Hull reads of a chat completion and of the chunks of a streamed one. Providers differ in what they leave out or
 * fill with something else, so that only what an answer cannot do without is insisted on.
 */
import * as z from "zod/mini";
import type { Json } from "../skill/manifest.ts";

const text = () => z.catch(z.nullish(z.string()), null);
const count = () => z.catch(z.nullish(z.number()), null);

/** Text in the places where providers put it, in a message as in a delta. */
function texts() {
  const part = z.looseObject({ type: z.string(), text: z.optional(z.string()) });
  const other = text();
  return {
    content: z.nullish(z.union([z.string(), z.array(part)])),
    refusal: other,
    reasoning: other,
    reasoning_content: other,
  };
}

const calledFunction = () => z.object({ name: text(), arguments: z.optional(z.unknown()) });
/** Kept as it came and sent back; whatever stands in a JSON document is JSON. */
const extraContent = () => z.optional(z.custom<Json>());

/** Token counts under the names that providers use (agent-runtime.md §3.6; DeepSeek: `prompt_cache_hit_tokens`). */
function usageShape() {
  const tokens = count();
  const details = z.catch(z.nullish(z.object({ cached_tokens: tokens, cache_write_tokens: tokens })), null);
  return z.object({
    prompt_tokens: tokens,
    completion_tokens: tokens,
    prompt_tokens_details: details,
    input_tokens_details: details,
    cache_read_tokens: tokens,
    cached_prompt_tokens: tokens,
    prompt_cache_hit_tokens: tokens,
  });
}
export type WireUsage = z.infer<ReturnType<typeof usageShape>>;

function messageShape() {
  const call = z.object({ id: text(), function: calledFunction(), extra_content: extraContent() });
  return z.object({ ...texts(), tool_calls: z.nullish(z.array(call)) });
}
export type WireMessage = z.infer<ReturnType<typeof messageShape>>;

export const completionShape = z.lazy(() =>
  z.object({
    model: text(),
    choices: z.array(z.object({ message: messageShape(), finish_reason: text() })).check(z.minLength(1)),
    usage: z.nullish(usageShape()),
  }),
);

function deltaCall() {
  return z.object({
    index: count(),
    id: text(),
    function: z.nullish(calledFunction()),
    extra_content: extraContent(),
  });
}
export type DeltaCall = z.infer<ReturnType<typeof deltaCall>>;

export const chunkShape = z.lazy(() => {
  const delta = z.object({ ...texts(), tool_calls: z.nullish(z.array(deltaCall())) });
  const choice = z.object({
    index: z.nullish(z.number()),
    delta: z.nullish(delta),
    finish_reason: text(),
  });
  return z.object({
    model: text(),
    choices: z.nullish(z.array(choice)),
    usage: z.nullish(z.record(z.string(), z.unknown())),
  });
});
