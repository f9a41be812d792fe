/**
 * The parts of a chat completion that Hull reads. Providers differ in what they leave out or fill with something else,
 * so only the indispensable parts are required.
 */
import * as z from "zod/mini";
import type { Json } from "../skill/manifest.ts";
import { withFallback } from "./with-fallback.ts";

function messageShape() {
  const text = () => withFallback(z.nullish(z.string()), null);
  const part = z.looseObject({ type: z.string(), text: z.optional(z.string()) });
  const called = z.object({ name: text(), arguments: z.optional(z.unknown()) });
  const call = z.looseObject({
    id: text(),
    type: text(),
    function: z.nullish(called),
    /** Kept unchanged and sent back; everything in a JSON document is JSON. */
    extra_content: z.optional(z.custom<Json>()),
  });
  return z.object({
    content: z.nullish(z.union([z.string(), z.array(part)])),
    refusal: text(),
    reasoning: text(),
    reasoning_content: text(),
    reasoning_details: withFallback(z.nullish(z.array(z.custom<Json>())), null),
    tool_calls: z.nullish(z.array(call)),
  });
}
export type WireMessage = z.infer<ReturnType<typeof messageShape>>;
export type WireCall = NonNullable<WireMessage["tool_calls"]>[number];

export const completionShape = z.lazy(() => {
  const text = withFallback(z.nullish(z.string()), null);
  const choice = z.object({ message: messageShape(), finish_reason: text });
  return z.object({
    model: text,
    choices: z.array(choice).check(z.minLength(1)),
    usage: z.optional(z.unknown()),
  });
});
