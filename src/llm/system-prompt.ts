/** The system prompt of a vendor's client, which may be a list of blocks with marks of the prompt cache. */
import type { ModelRequest, SystemBlock } from "../engine/messages.ts";
import { isObject } from "../skill/json.ts";
import type { Json } from "../skill/manifest.ts";

/** A text of the prompt, with the cache mark of its block. */
export function systemBlock(text: string, block: Json | undefined): SystemBlock {
  const mark = isObject(block) ? block.cache_control : null;
  return isObject(mark) ? { text, cache_control: mark } : { text };
}

/** The prompt as one text, and its blocks if one of them has a mark. @param listed the blocks count without a mark too */
export function systemPrompt(
  given: readonly SystemBlock[],
  listed: boolean,
): Pick<ModelRequest, "system" | "system_blocks"> {
  const blocks = given.filter(({ text }) => text !== "");
  const system = blocks.map(({ text }) => text).join("\n\n");
  const marked = blocks.some(({ cache_control }) => cache_control !== undefined);
  return marked || (listed && blocks.length > 0) ? { system, system_blocks: blocks } : { system };
}
