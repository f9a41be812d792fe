/** Reads message contents, which are nearly the same in chat completions and responses. */
import type { Media, Part } from "../../engine/messages.ts";
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { textMember, wrong } from "../members.ts";
import { inlineMedia } from "../messages.ts";

/** Reads a part type that only one of the two APIs has; `null`: the API does not have it. */
export type OwnPart = (part: JsonObject, path: string) => Part | null;

/** All texts of a content, joined by a blank line. @throws InvalidRequest for a part that is not text */
export const textOf = (content: Json | undefined, path: string, own: OwnPart): string =>
  textsOf(content, path, own).join("\n\n");

/** The text of each part. @throws InvalidRequest for a part that is not text */
export function textsOf(content: Json | undefined, path: string, own: OwnPart): string[] {
  return partsOf(content, path, own).map((part) => {
    if (part.type === "text") return part.text;
    throw wrong(path, "only text is expected here");
  });
}

/** The parts of a content, which is a text or a list. @throws InvalidRequest */
export function partsOf(content: Json | undefined, path: string, own: OwnPart): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw wrong(path, "a string or a list of parts is expected");
  return content.map((part, n) => partOf(part, `${path}.${n}`, own));
}

function partOf(part: Json, path: string, own: OwnPart): Part {
  if (!isObject(part)) throw wrong(path, "a part is an object with a type");
  switch (part.type) {
    case "text":
      return { type: "text", text: textMember(part, "text", path) };
    case "refusal":
      return { type: "text", text: textMember(part, "refusal", path) };
    case "input_audio": {
      const audio = objectOf(part.input_audio);
      const data = textMember(audio, "data", `${path}.input_audio`);
      return { type: "audio", media_type: audio.format === "wav" ? "audio/wav" : "audio/mpeg", data };
    }
    default: {
      const found = own(part, path);
      if (found !== null) return found;
      throw wrong(path, `a part of type ${JSON.stringify(part.type ?? null)} cannot be carried`);
    }
  }
}

/** @param detail an unknown value is ignored */
export function imagePart(url: string, detail: Json | undefined, path: string): Part {
  const known = (["auto", "low", "high"] as const).find((level) => level === detail);
  const fine = known === undefined ? {} : { detail: known };
  return { type: "image", ...fine, ...mediaOf(url, path) };
}

/** @param data a data URL, or the Base64 of a PDF file */
export function filePart(data: string, filename: Json | undefined): Part {
  const media = inlineMedia(data) ?? { media_type: "application/pdf", data };
  return { type: "document", ...namedFile(filename), ...media };
}

/** The member `filename`, if there is a name. */
export const namedFile = (filename: Json | undefined): { filename?: string } =>
  typeof filename === "string" ? { filename } : {};

function mediaOf(url: string, path: string): Media {
  const inline = inlineMedia(url);
  if (inline !== null) return inline;
  if (/^https?:\/\//i.test(url)) return { url };
  throw wrong(path, "the URL is an http, https or data URL");
}
