/**
 * Sends blocks of one provider in the shapes of another vendor. A block that has no place there becomes a text that
 * begins with a mark of Hull's. It comes back with the conversation, and is sent to the provider that made it.
 */
import { base64OrNull, toBase64 } from "../bytes.ts";
import type { Block } from "../engine/messages.ts";
import { parsedJson } from "../skill/json-depth.ts";
import { blockShape } from "./blocks.ts";

const MARK = "hull.";

/** The text that carries a block. */
export const encodeBlock = (block: Block): string =>
  MARK + toBase64(new TextEncoder().encode(JSON.stringify(block)));

export const isEncodedBlock = (text: string): boolean => text.startsWith(MARK);

/** The block in a text; `null`: there is none. */
export function decodeBlock(text: string): Block | null {
  if (!isEncodedBlock(text)) return null;
  const bytes = base64OrNull(text.slice(MARK.length));
  if (bytes === null) return null;
  return blockShape.safeParse(parsedJson(new TextDecoder().decode(bytes))).data ?? null;
}
