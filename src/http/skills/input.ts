/** Reads a skill's input from a request. */
import { Gathered, streamFrom } from "../../bytes.ts";
import {
  BodyTooLarge,
  FileRequired,
  InputInvalid,
  InputRequired,
  InputSchemaMismatch,
  UnsupportedMediaType,
} from "../../errors/request.ts";
import { type HullError, toHullError } from "../../errors.ts";
import { validate } from "../../llm/validate.ts";
import { parseWithOffset } from "../../run/json.ts";
import { decodeUtf8 } from "../../run/utf8.ts";
import { compactPart } from "../../skill/exact-json.ts";
import { isObject } from "../../skill/json.ts";
import { parsedFile } from "../../skill/json-depth.ts";
import type { Json, JsonObject, Manifest } from "../../skill/manifest.ts";
import {
  bodyChunks,
  checkCoding,
  discardBody,
  parseJson,
  readBody,
  tooManyValues,
  withFirst,
} from "../body.ts";
import type { RequestContext } from "../context.ts";
import { accepts, isJson, isText, typeOf } from "../media-type.ts";
import { formInput } from "./form-input.ts";
import { areFileIds, type SentInput, sentFileIds } from "./stored-input.ts";

/** Why a streamed body broke off after the run had begun. */
export interface InputState {
  fault: HullError | null;
}

/** Waits for work that reads the input. If the input broke off, the work fails for that reason. */
export async function whileInput<T>({ work, state }: { work: Promise<T>; state: InputState }): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw state.fault ?? error;
  }
}

const NO_INPUT: SentInput = { text: null, files: [], ids: [] };
const TEXT_ACCEPTED = ["text/*", "application/json", "multipart/form-data"];
/** A JSON body up to this many bytes may name the files of a file skill; a longer one is itself a file. */
const NAMING_BYTES = 64 * 1024;

/**
 * Reads a run's input. A raw file is passed on as a stream; `state` records what ends it early.
 * @param limit bytes of the body
 * @param anyFile a body is a file, whatever its type, if it is not text or if the query has the text
 */
export async function readInput(
  context: RequestContext,
  manifest: Manifest,
  limit: number,
  state: InputState,
  anyFile = false,
): Promise<SentInput> {
  const { request } = context;
  if (manifest.input === "none") {
    await discardBody(context);
    return NO_INPUT;
  }
  if (manifest.method === "GET") return queryInput(request, manifest);
  const type = typeOf(request);
  if (manifest.input_schema !== undefined && !isJson(type)) {
    throw new UnsupportedMediaType({ type, accepted: ["application/json"] });
  }
  // Bytes of a file stay as they are; everything else is read.
  if (type === "multipart/form-data" || manifest.input !== "file") checkCoding(request);
  if (type === "multipart/form-data") return formInput(context, manifest, limit);
  if (manifest.input === "file") return fileInput(request, manifest, limit, type, state);
  const asked = anyFile && manifest.input_schema === undefined ? queryText(request) : null;
  if (asked !== null) return rawFile(request, asked, limit, type, state);
  if (isJson(type)) return jsonInput(request, manifest, limit);
  if (type !== "" && !isText(type) && !isNamed(manifest, type)) {
    if (anyFile) return rawFile(request, null, limit, type, state);
    throw new UnsupportedMediaType({ type, accepted: [...TEXT_ACCEPTED, ...manifest.input_mime] });
  }
  const bytes = await readBody(request, limit);
  decodeUtf8(bytes, "The body");
  return { text: bytes, files: [], ids: [] };
}

/** Whether a text skill itself names this type, e.g. `application/toml`. */
const isNamed = ({ input_mime }: Manifest, type: string): boolean =>
  input_mime.length > 0 && accepts(input_mime, type);

function queryInput(request: Request, manifest: Manifest): SentInput {
  if (manifest.input === "file") throw new FileRequired({ hint: "Files cannot be sent with GET." });
  const text = queryText(request);
  const schema = manifest.input_schema;
  if (schema !== undefined) {
    if (text === null) throw new InputRequired({ hint: "Add ?input= with text or JSON." });
    checkInputSchema(schema, queryValue(schema, text));
  }
  return text === null ? NO_INPUT : { ...NO_INPUT, text: new TextEncoder().encode(text) };
}

function queryText(request: Request): string | null {
  const params = new URL(request.url).searchParams;
  return params.get("input") ?? params.get("q") ?? params.get("text") ?? params.get("prompt");
}

/** The value of a text in the query: the text itself if the schema accepts it or it is not JSON, else the JSON value. */
function queryValue(schema: JsonObject, text: string): Json {
  const verdict = validate(schema, text);
  if ("refused" in verdict || verdict.findings.length === 0) return text;
  const parsed = parseWithOffset(text);
  return parsed.ok ? parsed.value : text;
}

async function jsonInput(request: Request, manifest: Manifest, limit: number): Promise<SentInput> {
  const body = decodeUtf8(await readBody(request, limit), "The body");
  const excess = tooManyValues(body);
  if (excess !== null) throw new InputInvalid({ reason: `The body ${excess}` });
  const { input, ids } = envelope(parseJson(body));
  if (manifest.input_schema !== undefined) checkInputSchema(manifest.input_schema, input);
  const text = typeof input === "string" ? input : compactPart(body, input, (value) => envelope(value).input);
  return { text: new TextEncoder().encode(text), files: [], ids };
}

/** A string, or the members of `{"input": …, "files"?: [ids]}`. */
function envelope(value: Json): { input: Json; ids: string[] } {
  if (typeof value === "string") return { input: value, ids: [] };
  if (!isObject(value)) {
    throw new InputInvalid({ reason: 'A JSON body is a string, or an object such as {"input": "…"}.' });
  }
  checkMembers(value, ["input", "files"], "field");
  const ids = sentFileIds(value);
  const input = Object.hasOwn(value, "input") ? value.input : null;
  if (input === null || input === undefined) {
    throw new InputRequired({ hint: 'Send {"input": …} with a value.' });
  }
  return { input, ids };
}

/** @throws InputInvalid for a member that is not known */
export function checkMembers(value: JsonObject, known: readonly string[], what: "field" | "argument"): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const errors = [{ path: unknown, message: `unknown ${what}` }];
  const accepted = known.map((name) => `"${name}"`).join(" and ");
  throw new InputInvalid({
    reason: `The ${what} "${unknown}" is not known; accepted is ${accepted}.`,
    errors,
  });
}

/** A raw body is the file, and is passed on as a stream; a short JSON body may name stored files instead. */
async function fileInput(
  request: Request,
  manifest: Manifest,
  limit: number,
  type: string,
  state: InputState,
): Promise<SentInput> {
  const accepted = accepts(manifest.input_mime, type);
  if (!accepted && !isJson(type)) throw new UnsupportedMediaType({ type, accepted: manifest.input_mime });
  const mime = type === "" ? "application/octet-stream" : type;
  const asFile = (body: Uint8Array | ReadableStream<Uint8Array>): SentInput => {
    return { text: null, files: [{ filename: null, mime, body }], ids: [] };
  };
  if (isJson(type)) {
    const { head, rest } = await readHead(request, limit);
    const ids = rest === null ? namedFiles(head, accepted) : null;
    if (ids !== null) return { ...NO_INPUT, ids };
    if (!accepted) throw needsFile(manifest);
    if (head.length > limit) throw new BodyTooLarge({ limit });
    return asFile(rest === null ? head : streamFrom(watched(withFirst(head, rest), state)));
  }
  const body = await streamedBody(request, limit, state);
  if (body === null) throw emptyBody();
  return asFile(body);
}

/** A body of any type as the file. @param asked the text; with one, the body may be empty */
async function rawFile(
  request: Request,
  asked: string | null,
  limit: number,
  type: string,
  state: InputState,
): Promise<SentInput> {
  const text = asked === null ? null : new TextEncoder().encode(asked);
  const body = await streamedBody(request, limit, state);
  if (body !== null) {
    return { text, files: [{ filename: null, mime: type || "application/octet-stream", body }], ids: [] };
  }
  if (text === null) throw emptyBody();
  return { text, files: [], ids: [] };
}

/** The body as a stream; `null`: it is empty. */
async function streamedBody(
  request: Request,
  limit: number,
  state: InputState,
): Promise<ReadableStream<Uint8Array> | null> {
  const chunks = bodyChunks(request, limit);
  const first = await chunks.next();
  return first.done ? null : streamFrom(watched(withFirst(first.value, chunks), state));
}

const emptyBody = (): HullError => new FileRequired({ hint: "The body is empty." });

function needsFile({ input_mime }: Manifest): HullError {
  const types = input_mime.length === 0 ? "any type" : input_mime.join(", ");
  return new FileRequired({ hint: `Send one of type ${types}, or {"files": ["file_…"]}.` });
}

/**
 * The ids in `{"files": [ids]}`; `null` if the body is itself a file. If the skill accepts JSON as a file, a body names
 * files only if it can mean nothing else.
 */
function namedFiles(body: Uint8Array, accepted: boolean): string[] | null {
  if (accepted) {
    const value = parsedFile(body);
    const naming = isObject(value) && Object.keys(value).join() === "files";
    return naming && areFileIds(value.files) ? sentFileIds(value) : null;
  }
  const value = parseJson(decodeUtf8(body, "The body"));
  if (!isObject(value) || !Object.hasOwn(value, "files")) return null;
  checkMembers(value, ["files"], "field");
  const ids = sentFileIds(value);
  return ids.length === 0 ? null : ids;
}

/**
 * The beginning of a body that may name files, and the rest if there is more. @throws FileRequired for an empty body
 */
async function readHead(
  request: Request,
  limit: number,
): Promise<{ head: Uint8Array; rest: AsyncGenerator<Uint8Array> | null }> {
  // The list of files may be longer than the limit for the files themselves.
  const chunks = bodyChunks(request, Math.max(limit, NAMING_BYTES));
  const gathered = new Gathered();
  try {
    while (gathered.bytes <= NAMING_BYTES) {
      const next = await chunks.next();
      if (next.done) {
        if (gathered.bytes === 0) throw emptyBody();
        return { head: gathered.take(), rest: null };
      }
      gathered.push(next.value);
    }
  } catch (error) {
    throw error instanceof BodyTooLarge ? new BodyTooLarge({ limit }) : error;
  }
  return { head: gathered.take(), rest: chunks };
}

/** The chunks unchanged; `state` learns what ends them early. */
async function* watched(
  chunks: AsyncGenerator<Uint8Array, void>,
  state: InputState,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } catch (error) {
    state.fault = toHullError(error);
    throw error;
  }
}

/** The most findings to report for one input. */
const MAX_ERRORS = 20;

/**
 * Checks `input_schema` of a manifest: JSON Schema 2020-12. @throws InputSchemaMismatch with a JSON pointer per
 * finding, or if the input cannot be checked
 */
function checkInputSchema(schema: JsonObject, value: Json): void {
  const verdict = validate(schema, value);
  if ("refused" in verdict) {
    const message = `The input cannot be checked: ${verdict.refused}.`;
    throw new InputSchemaMismatch({ errors: [{ pointer: "", message }] });
  }
  const errors = verdict.findings.slice(0, MAX_ERRORS).map(({ pointer, message }) => ({ pointer, message }));
  if (errors.length > 0) throw new InputSchemaMismatch({ errors });
}
