/** Contents of messages as OpenAI's APIs have them, where chat completions and responses are the same. */
import type { Media, Part } from "../../engine/messages.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { wrong } from "../wrong.ts";

/** Reads the parts that only one of the APIs knows; `null`: it knows no such part either. */
export type OwnPart = (part: JsonObject, path: string) => Part | null;

/** The texts of a content that holds nothing else, joined by a blank line. @throws InvalidRequest */
export function textOf(content: Json | undefined, path: string, own: OwnPart): string {
  return partsOf(content, path, own)
    .map((part) => {
      if (part.type === "text") return part.text;
      throw wrong(path, "only text is expected here");
    })
    .join("\n\n");
}

/** The parts of a content, which may be a text. @throws InvalidRequest */
export function partsOf(content: Json | undefined, path: string, own: OwnPart): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw wrong(path, "a text or a list of parts is expected");
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
      const audio = isObject(part.input_audio) ? part.input_audio : {};
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

/** @param detail as it was given; what is not known is left out */
export function imagePart(url: string, detail: Json | undefined, path: string): Part {
  const known = (["auto", "low", "high"] as const).find((level) => level === detail);
  const fine = known === undefined ? {} : { detail: known };
  return { type: "image", ...fine, ...mediaOf(url, path) };
}

/** A file's content, a data URL or Base64 alone, which is a PDF file's. */
export function filePart(data: string, filename: Json | undefined, path: string): Part {
  const media = DATA_URL.test(data) ? mediaOf(data, path) : { media_type: "application/pdf", data };
  return { type: "document", ...namedFile(filename), ...media };
}

/** A document's name, where there is one. */
export const namedFile = (filename: Json | undefined): { filename?: string } =>
  typeof filename === "string" ? { filename } : {};

const DATA_URL = /^data:([^;,]+);base64,/;

function mediaOf(url: string, path: string): Media {
  const inline = DATA_URL.exec(url);
  if (inline !== null) return { media_type: inline[1] ?? "", data: url.slice(inline[0].length) };
  if (/^https?:\/\//i.test(url)) return { url };
  throw wrong(path, "the URL is an http, https or data URL");
}

/** @throws InvalidRequest where it is no text */
export function textMember(of: JsonObject, name: string, path: string): string {
  const value = of[name];
  if (typeof value === "string") return value;
  throw wrong(`${path}.${name}`, "a text is required");
}
