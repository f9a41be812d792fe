/** From a request to a skill's input (serving.md §5.2). */

import {
  FileRequired,
  InputInvalid,
  InputRequired,
  MalformedMultipart,
  UnsupportedMediaType,
} from "../../errors/request.ts";
import { type HullError, toHullError } from "../../errors.ts";
import type { InputFile, RunInput } from "../../run/input.ts";
import { decodeUtf8 } from "../../run/utf8.ts";
import type { Json, Manifest } from "../../skill/manifest.ts";
import { bodyChunks, parseJson, readBody } from "../body.ts";
import { checkInputSchema } from "./input-schema.ts";
import { accepts, isJson, isText, mediaType } from "./media-type.ts";

/** Why a streamed body broke off after the run had begun. */
export interface InputState {
  fault: HullError | null;
}

const NO_INPUT: RunInput = { text: null, files: [] };
const TEXT_FIELDS = ["text", "input", "prompt"];
const TEXT_ACCEPTED = ["text/*", "application/json", "multipart/form-data"];

/**
 * Reads a run's input; that of `input: none` is the caller's to drop. A raw file goes on as a stream; what then ends it is noted in `state`.
 * @param limit bytes of the body
 */
export async function readInput(
  request: Request,
  manifest: Manifest,
  limit: number,
  state: InputState,
): Promise<RunInput> {
  if (manifest.input === "none") return NO_INPUT;
  if (manifest.method === "GET") return queryInput(request, manifest);
  const type = mediaType(request.headers.get("content-type"));
  if (manifest.input_schema !== undefined && !isJson(type)) {
    throw new UnsupportedMediaType({ type, accepted: ["application/json"] });
  }
  if (type === "multipart/form-data") return multipartInput(request, manifest, limit);
  if (manifest.input === "file") return fileInput(request, manifest, limit, type, state);
  if (isJson(type)) return jsonInput(request, manifest, limit);
  if (type !== "" && !isText(type)) throw new UnsupportedMediaType({ type, accepted: TEXT_ACCEPTED });
  const bytes = await readBody(request, limit);
  decodeUtf8(bytes, "The body");
  return { text: bytes, files: [] };
}

function queryInput(request: Request, manifest: Manifest): RunInput {
  if (manifest.input === "file") throw new FileRequired({ hint: "Files cannot be sent with GET." });
  const params = new URL(request.url).searchParams;
  const text = params.get("input") ?? params.get("q") ?? params.get("text");
  return text === null ? NO_INPUT : { text: new TextEncoder().encode(text), files: [] };
}

async function jsonInput(request: Request, manifest: Manifest, limit: number): Promise<RunInput> {
  const value = parseJson(decodeUtf8(await readBody(request, limit), "The body"));
  const input = envelopeInput(value);
  if (manifest.input_schema !== undefined) checkInputSchema(manifest.input_schema, input);
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return { text: new TextEncoder().encode(text), files: [] };
}

/** A string, or the `input` of `{"input": …}`. */
function envelopeInput(value: Json): Json {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new InputInvalid({ reason: 'A JSON body is a string, or an object such as {"input": "…"}.' });
  }
  const unknown = Object.keys(value).find((key) => key !== "input");
  if (unknown !== undefined) {
    const errors = [{ path: unknown, message: "unknown field" }];
    throw new InputInvalid({ reason: `The field "${unknown}" is not known; accepted is "input".`, errors });
  }
  const input = Object.hasOwn(value, "input") ? value.input : null;
  if (input === null || input === undefined) {
    throw new InputRequired({ hint: 'Send {"input": …} with a value.' });
  }
  return input;
}

/** A raw body is the file; it goes on as a stream. */
async function fileInput(
  request: Request,
  manifest: Manifest,
  limit: number,
  type: string,
  state: InputState,
): Promise<RunInput> {
  if (!accepts(manifest.input_mime, type)) {
    if (isJson(type))
      throw new FileRequired({ hint: `Send a file of type ${manifest.input_mime.join(", ")}.` });
    throw new UnsupportedMediaType({ type, accepted: manifest.input_mime });
  }
  const chunks = bodyChunks(request, limit);
  const first = await chunks.next();
  if (first.done) throw new FileRequired({ hint: "The body is empty." });
  const mime = type === "" ? "application/octet-stream" : type;
  return { text: null, files: [{ filename: null, mime, body: streamOf(first.value, chunks, state) }] };
}

function streamOf(
  first: Uint8Array,
  rest: AsyncGenerator<Uint8Array>,
  state: InputState,
): ReadableStream<Uint8Array> {
  let head: Uint8Array | null = first;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (head !== null) {
        controller.enqueue(head);
        head = null;
        return;
      }
      const next = await rest.next().catch((error: unknown) => {
        state.fault = toHullError(error);
        throw error;
      });
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await rest.return(undefined);
    },
  });
}

async function multipartInput(request: Request, manifest: Manifest, limit: number): Promise<RunInput> {
  const form = await parseForm(request, limit);
  const files: InputFile[] = [];
  let text: Uint8Array | null = null;
  for (const [name, value] of form.entries()) {
    if (typeof value === "string") {
      if (TEXT_FIELDS.includes(name)) text ??= new TextEncoder().encode(value);
      continue;
    }
    const mime = mediaType(value.type) || "application/octet-stream";
    if (manifest.input === "file" && !accepts(manifest.input_mime, mime)) {
      throw new UnsupportedMediaType({ type: mime, accepted: manifest.input_mime });
    }
    files.push({ filename: value.name, mime, body: new Uint8Array(await value.arrayBuffer()) });
  }
  if (manifest.input === "file" && files.length === 0) {
    throw new FileRequired({ hint: "The form holds no file part." });
  }
  if (manifest.input === "text" && text === null && files.length === 0) {
    throw new InputRequired({ hint: `The form holds none of the fields ${TEXT_FIELDS.join(", ")}.` });
  }
  return { text, files };
}

async function parseForm(request: Request, limit: number): Promise<FormData> {
  const type = request.headers.get("content-type") ?? "";
  if (!/boundary=/i.test(type)) throw new MalformedMultipart({ reason: "its boundary is not given" });
  const bytes = await readBody(request, limit);
  try {
    return await new Response(bytes, { headers: { "content-type": type } }).formData();
  } catch (error) {
    throw new MalformedMultipart({ reason: error instanceof Error ? error.message : "unreadable" });
  }
}
