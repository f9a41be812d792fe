/** Reads request bodies. Limits count actual bytes, silence ends in a 408, and nothing stays unread. */

import type * as z from "zod/mini";
import { atMost } from "../at-most.ts";
import { Gathered } from "../bytes.ts";
import { firstOf } from "../cut.ts";
import { checked, shapeErrors } from "../engine/fault.ts";
import {
  BodyTooLarge,
  InputInvalid,
  MalformedJson,
  RequestTimeout,
  UnsupportedMediaType,
} from "../errors/request.ts";
import { ClientClosedRequest } from "../errors/run.ts";
import { parseWithOffset } from "../run/json.ts";
import { decodeUtf8 } from "../run/utf8.ts";
import { withoutNulls } from "../skill/json.ts";
import { holdsMoreValues } from "../skill/json-scan.ts";
import type { Json } from "../skill/manifest.ts";

/** Longest silence inside a request body, in ms. */
const BODY_SILENCE_MS = 30_000;
/** Hull drains an unread body of up to this many bytes, so that the connection can be reused. */
const DRAIN_BYTES = 64 * 1024;
/**
 * Local workerd closes a connection with an unread body, and a client that is still sending then loses the answer. So
 * in local dev Hull drains this much before an early answer, for at most this time in ms, as long as no silence is
 * longer.
 */
const LOCAL_DRAIN = { bytes: 256 * 1024 * 1024, ms: 60_000, silence_ms: 3000 };

/** The length of the body as the request declares it; `null`: it declares none. */
export function declaredLength({ headers }: Request): number | null {
  const declared = headers.get("content-length") ?? "";
  return /^\d+$/.test(declared) ? Number(declared) : null;
}

/** Refuses a body whose declared length is over the limit before a byte of it is read. */
export function checkDeclaredLength(request: Request, limit: number): void {
  if ((declaredLength(request) ?? 0) > limit) throw new BodyTooLarge({ limit });
}

/** Refuses a compressed body whose text Hull must read. @throws UnsupportedMediaType */
export function checkCoding(request: Request): void {
  const coding = request.headers.get("content-encoding")?.trim() ?? "";
  if (coding === "" || coding.toLowerCase() === "identity") return;
  const type = `content-encoding: ${firstOf(coding, 64)}`;
  throw new UnsupportedMediaType({ type, accepted: ["identity"] });
}

/** Reads one piece of a body after the other. */
type BodyReader = Pick<ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>, "read" | "cancel">;

/** The readers of bodies that were not read to their end. */
const unfinished = new WeakMap<Request, BodyReader>();

/** The most bytes of a piece: few until one was full, so that a small body takes no large buffer. */
const FIRST_PIECE_BYTES = 4 * 1024;
const PIECE_BYTES = 128 * 1024;

/**
 * Brings buffers of its own: otherwise workerd makes one of 4 KiB for each piece, and a large body has many of these. It
 * uses a buffer again if a piece filled less than half of it.
 */
function readerOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): BodyReader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // Hull made the body, of whole pieces.
    return body.getReader();
  }
  let size = FIRST_PIECE_BYTES;
  let buffer: ArrayBuffer | null = null;
  return {
    async read() {
      const { done, value } = await reader.read(new Uint8Array(buffer ?? new ArrayBuffer(size)));
      if (done) return { done, value: undefined };
      // A small piece must not keep a large buffer.
      const isLarge = value.length > size / 2;
      buffer = isLarge ? null : value.buffer;
      if (value.length === size) size = PIECE_BYTES;
      return { done, value: isLarge ? value : value.slice() };
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

/**
 * The body as it arrives. It ends with an error if it exceeds `limit` bytes, falls silent or breaks off. `discardBody`
 * drains what a refusal, or a reader that returns early, leaves unread.
 */
export async function* bodyChunks(
  request: Request,
  limit: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  checkDeclaredLength(request, limit);
  if (request.body === null) return;
  const reader = readerOf(request.body);
  unfinished.set(request, reader);
  // Whether the rest may still be read.
  let readable = false;
  let total = 0;
  try {
    for (;;) {
      readable = false;
      const { done, value } = await withSilenceLimit(reader.read());
      if (done) return;
      readable = true;
      total += value.length;
      if (total > limit) throw new BodyTooLarge({ limit });
      yield value;
    }
  } finally {
    if (!readable) {
      unfinished.delete(request);
      await reader.cancel().catch(() => {});
    }
  }
}

/** A body whose first piece has already been read. */
export async function* withFirst(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** The whole body in memory. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  checkDeclaredLength(request, limit);
  // A small body of known length: the platform collects it, and cannot collect more than was declared.
  if ((declaredLength(request) ?? Number.POSITIVE_INFINITY) <= DRAIN_BYTES)
    return new Uint8Array(await withSilenceLimit(request.arrayBuffer()));
  const gathered = new Gathered();
  for await (const chunk of bodyChunks(request, limit)) gathered.push(chunk);
  return gathered.take();
}

/**
 * Drains what an early answer left unread, up to 64 KiB, and cancels the rest. In local dev it drains far more, and the
 * answer must wait for it.
 */
export function discardBody(context: { request: Request; settings: { local: boolean } }): Promise<void> {
  const remote = { bytes: DRAIN_BYTES, ms: BODY_SILENCE_MS, silence_ms: BODY_SILENCE_MS };
  return drain(context.request, context.settings.local ? LOCAL_DRAIN : remote);
}

async function drain(request: Request, most: typeof LOCAL_DRAIN): Promise<void> {
  if (request.body === null) return;
  const left = unfinished.get(request);
  if (left === undefined && (request.bodyUsed || request.body.locked)) return;
  const reader = left ?? readerOf(request.body);
  unfinished.delete(request);
  const end = Date.now() + most.ms;
  try {
    for (let total = 0; total < most.bytes && Date.now() < end; ) {
      const { done, value } = await withSilenceLimit(
        reader.read(),
        Math.min(most.silence_ms, end - Date.now()),
      );
      if (done) return;
      total += value.length;
    }
  } catch {
    // The client went away or fell silent: there is nothing left to keep alive.
  }
  await reader.cancel().catch(() => {});
}

/** @throws RequestTimeout, ClientClosedRequest */
async function withSilenceLimit<T>(read: Promise<T>, limitMs = BODY_SILENCE_MS): Promise<T> {
  const whole = read.catch(() => {
    throw new ClientClosedRequest({});
  });
  return atMost(whole, limitMs, () => {
    throw new RequestTimeout({ timeout_ms: limitMs });
  });
}

/** Limit of JSON bodies. */
export const MAX_JSON_BYTES = 1024 * 1024;
/**
 * The most values of a JSON body with a shape. The check of a shape notes each wrong value, so millions of small ones
 * would fill the memory of an isolate and keep it busy.
 */
const MAX_JSON_VALUES = 200_000;
/** The most values of JSON that is data, which no such check reads. Millions would fill the memory of an isolate. */
const MAX_DATA_VALUES = 1_000_000;

/**
 * Reads a JSON body of a known shape.
 * @throws UnsupportedMediaType, BodyTooLarge, MalformedJson, InputInvalid with a path per finding, up to 50
 */
export async function readJson<T>(
  request: Request,
  schema: z.ZodMiniType<T>,
  limit = MAX_JSON_BYTES,
): Promise<T> {
  return jsonIn(await readText(request, limit), schema);
}

/** The JSON value of a body's text, of a known shape. @throws MalformedJson, InputInvalid */
export const jsonIn = <T>(text: string, schema: z.ZodMiniType<T>): T => shaped(schema, parseValues(text));

/** The same for an optional body: an empty one is `{}`. */
export async function readJsonIfAny<T>(
  request: Request,
  schema: z.ZodMiniType<T>,
  limit = MAX_JSON_BYTES,
): Promise<T> {
  const text = await readText(request, limit);
  return text.trim() === "" ? shaped(schema, {}) : jsonIn(text, schema);
}

/** A body of text. @throws UnsupportedMediaType, BodyTooLarge, BadEncoding */
export async function readText(request: Request, limit: number): Promise<string> {
  checkCoding(request);
  return decodeUtf8(await readBody(request, limit), "The body");
}

function shaped<T>(schema: z.ZodMiniType<T>, value: Json): T {
  const result = checked(schema, value);
  if (result.success) return result.data;
  // A null member counts as absent, unless the shape uses null.
  const bare = checked(schema, withoutNulls(value));
  if (bare.success) return bare.data;
  const errors = shapeErrors(result.error);
  const [first] = errors.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new InputInvalid({ reason: `The body does not have the expected shape. ${first}`, errors });
}

/** @throws MalformedJson, InputInvalid for too many values */
function parseValues(text: string): Json {
  if (!holdsMoreValues(text, MAX_JSON_VALUES)) return parseJson(text);
  const message = `has more than ${MAX_JSON_VALUES} values`;
  throw new InputInvalid({ reason: `The body ${message}.`, errors: [{ path: "", message }] });
}

/** Why a JSON body that is data is not parsed; `null` if it may be. */
export function tooManyValues(text: string): string | null {
  if (!holdsMoreValues(text, MAX_DATA_VALUES)) return null;
  return `has more than ${MAX_DATA_VALUES} values. Send the data in parts, or as one JSON string.`;
}

/** Parses any JSON value. @throws MalformedJson with the offset of the first fault */
export function parseJson(text: string): Json {
  const parsed = parseWithOffset(text);
  if (parsed.ok) return parsed.value;
  throw new MalformedJson({ offset: parsed.offset, reason: parsed.reason });
}
