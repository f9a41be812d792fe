/** Answers GET and HEAD for bytes with a validator: with all of them, a range, or 304 (RFC 9110 §13, §14). */
import { RangeNotSatisfiable } from "../errors/request.ts";
import { Internal } from "../errors.ts";
import { type ByteRange, noneMatch, requestedRange } from "./conditional.ts";

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
    const object = await bucket.get(key, part);
    if (object === null) throw gone();
    return object.body;
  };

/** A request for several ranges gets the whole. @throws RangeNotSatisfiable */
export async function answerBytes(request: Request, representation: Representation): Promise<Response> {
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
  const bytes =
    opened instanceof Uint8Array ? opened : opened.pipeThrough(new FixedLengthStream(end - start));
  if (range === null) return new Response(bytes, { headers });
  headers["content-range"] = `bytes ${start}-${end - 1}/${size}`;
  return new Response(bytes, { status: 206, headers });
}
