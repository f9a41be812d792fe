/** Answers GET and HEAD for bytes with a validator: with all of them, a range, or 304 (RFC 9110 §13, §14). */

import { fromBase64 } from "../bytes.ts";
import { RangeNotSatisfiable } from "../errors/request.ts";
import { ClientClosedRequest } from "../errors/run.ts";
import { Internal } from "../errors.ts";
import { openObject } from "../run/large-body.ts";
import { logError } from "../run/problem.ts";
import type { StoredContent } from "../run/workspace/access.ts";
import { type ByteRange, noneMatch, requestedRange } from "./conditional.ts";
import type { RequestContext } from "./context.ts";

interface Representation {
  size: number;
  /** A strong validator. */
  etag: string;
  /** Headers of every answer except a refusal. */
  headers: Record<string, string>;
  /** The bytes of a range, or all of them. */
  open(range: ByteRange | null): Promise<Uint8Array | ReadableStream<Uint8Array>>;
}

/** Opens bytes in memory. */
export const openBytes =
  (bytes: Uint8Array): Representation["open"] =>
  async (range) =>
    range === null ? bytes : bytes.subarray(range.start, range.end);

/** Opens bytes in R2. @param gone the error for bytes that are not there */
export const openStored =
  (
    bucket: R2Bucket,
    key: string,
    gone: () => Error = () => new Internal({ cause: `R2 lacks ${key}` }),
  ): Representation["open"] =>
  async (range) => {
    const part = range === null ? {} : { range: { offset: range.start, length: range.end - range.start } };
    const object = await openObject(bucket, key, part);
    if (object === null) throw gone();
    return object.body;
  };

/** Opens a file of a workspace. */
export const openFile = (bucket: R2Bucket, { key, base64 }: StoredContent): Representation["open"] =>
  base64 === undefined ? openStored(bucket, key) : openBytes(fromBase64(base64));

/** A request for several ranges gets the whole. @throws RangeNotSatisfiable */
export async function answerBytes(
  context: RequestContext,
  representation: Representation,
): Promise<Response> {
  const { request } = context;
  const { size, etag, open } = representation;
  const headers: Record<string, string> = { ...representation.headers, "accept-ranges": "bytes", etag };
  if (noneMatch(request, etag)) return new Response(null, { status: 304, headers });
  // Only GET supports ranges (RFC 9110 §14.2).
  const range = request.method === "GET" ? requestedRange(request, size, etag) : null;
  if (range === "unsatisfiable") throw new RangeNotSatisfiable({ size });
  const { start, end } = range ?? { start: 0, end: size };
  headers["content-length"] = String(end - start);
  if (request.method === "HEAD") return new Response(null, { headers });
  const opened = await open(range);
  const bytes = opened instanceof Uint8Array ? opened : sentWhole(context, opened, end - start);
  if (range === null) return new Response(bytes, { headers });
  headers["content-range"] = `bytes ${start}-${end - 1}/${size}`;
  return new Response(bytes, { status: 206, headers });
}

/**
 * Bytes on their way to the client. The request is over, for its log line, when all have gone or the way has broken. If
 * fewer bytes come without an error, the client gets one, but the pipe does not tell the log: it would take code that
 * counts each chunk, which makes a large download eight times slower.
 */
function sentWhole(
  context: RequestContext,
  bytes: ReadableStream<Uint8Array>,
  length: number,
): ReadableStream<Uint8Array> {
  const { readable, writable } = new FixedLengthStream(length);
  context.finished = bytes.pipeTo(writable).catch((error: unknown) => {
    const left = context.request.signal.aborted;
    const cause = `the bytes broke off: ${String(error)}`;
    logError(left ? new ClientClosedRequest({}) : new Internal({ cause }), context);
  });
  context.background(context.finished);
  return readable;
}
