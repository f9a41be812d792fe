/** A form as a skill's input: text in a field, and files. */
import { bytesWithin } from "../../bytes.ts";
import { BodyTooLarge, FileRequired, InputRequired, UnsupportedMediaType } from "../../errors/request.ts";
import { dropInput, inputStorage } from "../../run/files.ts";
import { type Body, HELD_BYTES, HeldBodies, openContent } from "../../run/large-body.ts";
import { decodeUtf8 } from "../../run/utf8.ts";
import type { Manifest } from "../../skill/manifest.ts";
import { mediaTypeOf } from "../../skill/media.ts";
import type { RequestContext } from "../context.ts";
import { formParts } from "../form.ts";
import { accepts, mediaType } from "../media-type.ts";
import type { SentInput } from "./stored-input.ts";

const TEXT_FIELDS = ["text", "input", "prompt"];

/**
 * Reads a form as it arrives. Short files stay in memory; longer ones are in R2 until the answer is complete.
 * @param limit bytes of the body
 */
export async function formInput(
  context: RequestContext,
  manifest: Manifest,
  limit: number,
): Promise<SentInput> {
  const { env } = context;
  const stored: string[] = [];
  context.afterwards.push(async () => {
    if (stored.length > 0) await dropInput(context, stored);
  });
  const bodies = new HeldBodies(inputStorage(context, stored));
  const files: { filename: string; mime: string }[] = [];
  let text: Uint8Array | null = null;
  let session: string | undefined;
  for await (const part of formParts(context.request, limit)) {
    const { name, filename, type, body } = part;
    if (filename !== null) {
      files.push({ filename, mime: acceptedType(manifest, filename, type) });
      await bodies.add(body);
    } else if (name === "session_id") session ??= decodeUtf8(await readField(name, body), name);
    else if (TEXT_FIELDS.includes(name)) text ??= await readField(name, body);
  }
  if (manifest.input === "file" && files.length === 0) {
    throw new FileRequired({ hint: "The form holds no file part." });
  }
  if (manifest.input === "text" && text === null && files.length === 0) {
    throw new InputRequired({ hint: `The form holds none of the fields ${TEXT_FIELDS.join(", ")}.` });
  }
  const contents = bodies.contents.map((content) => openContent(env.FILES, content));
  return {
    text,
    files: files.map((file, index) => ({ ...file, body: contents[index] ?? new Uint8Array(0) })),
    ids: [],
    ...(session === undefined ? {} : { session }),
  };
}

/** The media type of a file in the form. @throws UnsupportedMediaType */
function acceptedType({ input, input_mime }: Manifest, filename: string, declared: string | null): string {
  const type = mediaType(declared) || mediaType(mediaTypeOf(filename));
  if (input !== "file" || accepts(input_mime, type)) return type;
  throw new UnsupportedMediaType({ type, accepted: input_mime });
}

async function readField(name: string, body: Body): Promise<Uint8Array> {
  const text = await bytesWithin(body, HELD_BYTES);
  if (text === null) throw new BodyTooLarge({ limit: HELD_BYTES });
  decodeUtf8(text, `The field "${name}"`);
  return text;
}
