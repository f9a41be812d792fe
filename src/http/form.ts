/** Reads forms in request bodies as they arrive. */
import { bytesWithin } from "../bytes.ts";
import { firstOf } from "../cut.ts";
import { BadRequest, MalformedMultipart } from "../errors/request.ts";
import type { HullError } from "../errors.ts";
import { decodeUtf8 } from "../run/utf8.ts";
import { boundaryOf, MultipartReader, type Part } from "../tool/multipart-reader.ts";
import { bodyChunks, withFirst } from "./body.ts";

/**
 * The parts of a form; read each before asking for the next. An empty file field, as browsers send it, is left out.
 * @param limit bytes of the body
 * @param maxParts the most parts, if not the default
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
  // If a form is refused midway, its rest is not read here: it is discarded with the request.
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

/** Most bytes of a field of the vendors' forms. */
const MAX_FIELD_BYTES = 4096;

/** The text of a field. @throws BadRequest BadEncoding */
export async function fieldText({ name, body }: Part): Promise<string> {
  const param = firstOf(name, 64);
  const bytes = await bytesWithin(body, MAX_FIELD_BYTES);
  if (bytes === null) throw new BadRequest({ detail: `The field ${param} is too long.`, param });
  return decodeUtf8(bytes, `The field ${param}`);
}
