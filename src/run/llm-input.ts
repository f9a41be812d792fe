/** A run's input as the user message of an llm skill. */

import { bytesWithin, toBase64 } from "../bytes.ts";
import type { Part } from "../engine/messages.ts";
import { BodyTooLarge, InputRequired, UnsupportedMediaType } from "../errors/request.ts";
import type { Manifest } from "../skill/manifest.ts";
import { isTextType } from "../skill/media.ts";
import type { InputFile, RunInput } from "./handle.ts";
import { HELD_BYTES } from "./large-body.ts";
import { IMAGE_TYPES } from "./shown-file.ts";
import { decodeUtf8 } from "./utf8.ts";

const ACCEPTED = ["text/*", "application/json", ...IMAGE_TYPES];
/** The prompt of a skill that takes no input. */
const NEUTRAL_LINE = "Begin.";

/** A file in memory, since both the model and the tools get it. */
export interface HeldFile {
  filename: string;
  mime: string;
  body: Uint8Array;
}

/** The files of a request, completely read. Refuses a file type that no model accepts. */
export async function holdFiles(files: readonly InputFile[]): Promise<HeldFile[]> {
  for (const { mime } of files) {
    if (!isTextType(mime) && !IMAGE_TYPES.includes(mime)) {
      throw new UnsupportedMediaType({ type: mime, accepted: ACCEPTED });
    }
  }
  const held: HeldFile[] = [];
  let room = HELD_BYTES;
  for (const { filename, mime, body } of files) {
    const bytes = await bytesWithin(body instanceof Uint8Array ? [body] : body, room);
    if (bytes === null) throw new BodyTooLarge({ limit: HELD_BYTES });
    room -= bytes.length;
    held.push({ filename: filename ?? "", mime, body: bytes });
  }
  return held;
}

/** The caller's own text, without the description of the files that Hull adds for the model. */
export const callerText = ({ text }: RunInput): string =>
  text === null ? "" : decodeUtf8(text, "The input");

/** The user message: text first, then each file as text or image. */
export function userParts(manifest: Manifest, input: RunInput, files: readonly HeldFile[]): Part[] {
  if (manifest.input === "none") return [{ type: "text", text: NEUTRAL_LINE }];
  const text = callerText(input);
  const parts: Part[] = text.trim() === "" ? [] : [{ type: "text", text }];
  for (const file of files) {
    if (IMAGE_TYPES.includes(file.mime)) {
      parts.push({ type: "image", media_type: file.mime, data: toBase64(file.body) });
    } else {
      const name = file.filename === "" ? "" : ` name=${JSON.stringify(file.filename)}`;
      const content = decodeUtf8(file.body, "The file");
      parts.push({ type: "text", text: `<file${name} type="${file.mime}">\n${content}\n</file>` });
    }
  }
  if (parts.length === 0) throw new InputRequired({ hint: "Send the text as the request body." });
  return parts;
}
