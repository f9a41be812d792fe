/** Forms in request bodies, read as they come. */
import { MalformedMultipart } from "../errors/request.ts";
import type { HullError } from "../errors.ts";
import { boundaryOf, MultipartReader, type Part } from "../tool/multipart-reader.ts";
import { bodyChunks, withFirst } from "./body.ts";

/**
 * The parts of a form, each to be read before the next one is asked for. What a browser sends for a file field that was
 * left empty is left out.
 * @param limit bytes of the body
 * @param maxParts parts of the form, where they are not as many as usual
 * @throws MalformedMultipart, BodyTooLarge, RequestTimeout; also while a part is read
 */
export async function* formParts(
  request: Request,
  limit: number,
  maxParts?: number,
): AsyncGenerator<Part, void> {
  const fail = (reason: string): HullError => new MalformedMultipart({ reason });
  const boundary = boundaryOf(request.headers.get("content-type") ?? "");
  if (boundary === null) throw fail("its boundary is not given, or cannot be one");
  const chunks = bodyChunks(request, limit);
  const reader = new MultipartReader(chunks, boundary, fail, maxParts);
  // A form that is refused midway is not returned from: its rest is discarded with the request.
  for (let part = await reader.next(); part !== null; part = await reader.next()) {
    if (part.filename !== "") {
      yield part;
      continue;
    }
    const content = part.body[Symbol.asyncIterator]();
    const first = await content.next();
    if (!first.done) yield { ...part, body: withFirst(first.value, content) };
  }
}
