/** The public form of a turn's blocks: with a visibility, and readable back without loss. */

import * as z from "zod/mini";
import { firstWords } from "../cut.ts";
import type { Block } from "../engine/messages.ts";
import { jsonObject } from "../skill/json-shape.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

/** Who may see a block: everybody, only the model, or a reader who wants to know how an answer came about. */
export const VISIBILITIES = ["public", "private", "internal"] as const;
export type Visibility = (typeof VISIBILITIES)[number];

export const VISIBILITY: Record<Block["type"], Visibility> = {
  output_text: "public",
  reasoning: "private",
  reasoning_summary: "private",
  tool_call: "internal",
  tool_search_query: "internal",
  tool_search_result: "internal",
  opaque: "internal",
};

/** The most characters to show of unreadable arguments. */
const MAX_RAW = 200;

/** Replaces the arguments of a call that are not a JSON object. */
export function parseErrorArguments(raw: string): JsonObject {
  return { __parse_error: `The arguments are not a JSON object: ${firstWords(raw, MAX_RAW)}` };
}

/** The public form of a block, with everything that another call needs of it. */
export function publicBlock<B extends Block>(block: B): B & { visibility: Visibility } {
  return { ...block, visibility: VISIBILITY[block.type] };
}

/** The block in a result; `null` for a provider's own block, which has no canonical form. */
export function resultBlock(block: Block) {
  switch (block.type) {
    case "opaque":
      return null;
    case "output_text":
      return publicBlock(block);
    case "tool_call": {
      const { raw, ...call } = publicBlock(block);
      return { ...call, arguments: block.arguments ?? parseErrorArguments(raw) };
    }
    default: {
      const { native: _, ...shown } = publicBlock(block);
      return shown;
    }
  }
}

const maybe = z.exactOptional;
const json = () => z.custom<Json>();

export const toolCallShape = () => {
  const text = z.string();
  const type = z.literal("tool_call");
  return z.object({ type, id: text, name: text, arguments: z.nullable(jsonObject()), raw: text });
};

/** A block in the form of `publicBlock`; its type determines its visibility. */
export const blockShape: z.ZodMiniType<Block> = z.lazy(() => {
  const native = maybe(z.strictObject({ provider: z.string(), value: json() }));
  const text = z.string();
  return z.discriminatedUnion("type", [
    z.object({ type: z.literal("output_text"), text }),
    z.object({ type: z.literal("reasoning"), text, signature: maybe(text), native }),
    z.object({ type: z.literal("reasoning_summary"), text, native }),
    toolCallShape(),
    z.object({ type: z.literal("tool_search_query"), id: text, name: text, query: json(), native }),
    z.object({
      type: z.literal("tool_search_result"),
      tool_use_id: text,
      tool_references: z.array(z.strictObject({ tool_name: text })),
      native,
    }),
    z.object({ type: z.literal("opaque"), provider: text, value: json() }),
  ]);
});
