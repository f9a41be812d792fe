/** Files of a workspace or a skill as a model sees them. */
import { toBase64, unmarkedUtf8 } from "../bytes.ts";
import { feedbackMessage } from "../engine/agent/texts.ts";
import type { Part } from "../engine/messages.ts";
import { isTextType } from "../skill/media.ts";

/** An isolate serves several runs, so programs must read larger texts. */
export const MAX_TEXT_BYTES = 8 * 1024 * 1024;
/** The size that providers accept and that fits into a record of the session. */
export const MAX_IMAGE_BYTES = 1024 * 1024;
/** Images that models take. */
export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** The text of a file; `null`: the bytes are not text, whatever the name says. */
export function fileText(bytes: Uint8Array, type: string): string | null {
  if (bytes.subarray(0, 8192).includes(0)) return null;
  return unmarkedUtf8(bytes) ?? (isTextType(type) ? new TextDecoder().decode(bytes) : null);
}

/** An image, or a document, after a line that names it. @param kind of the feedback @param what e.g. `The image a.png:` */
export function mediaParts(kind: string, what: string, media_type: string, bytes: Uint8Array): Part[] {
  const media = { media_type, data: toBase64(bytes) };
  const image = IMAGE_TYPES.includes(media_type);
  return [
    { type: "text", text: feedbackMessage(kind, what) },
    image ? { type: "image", ...media } : { type: "document", ...media },
  ];
}
