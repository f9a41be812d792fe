/** Validators and ranges (RFC 9110 §8.8, §13, §14). Hono's `etag` has neither `If-Match` nor ranges. Pure. */

/** Whether `If-None-Match` names this tag; weak comparison. */
export function noneMatch(request: Request, etag: string): boolean {
  const sent = request.headers.get("if-none-match");
  if (sent === null) return false;
  return sent.trim() === "*" || sent.split(",").some((tag) => bare(tag) === bare(etag));
}

/** The tags of `If-Match` without quotes and without weak tags, which match nothing; `null` if the header is absent. */
export function matchTags(request: Request): "*" | string[] | null {
  const sent = request.headers.get("if-match");
  if (sent === null || sent.trim() === "*") return sent === null ? null : "*";
  return sent.split(",").flatMap((tag) => /^\s*"([^"]*)"\s*$/.exec(tag)?.[1] ?? []);
}

function bare(tag: string): string {
  return tag.trim().replace(/^W\//, "");
}

/** A part of a representation: `start` and `end` are byte offsets, `end` exclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * The one range that a request asks for; `null`: send the whole. Several ranges, other units, malformed ranges and
 * ranges whose `If-Range` names another version are ignored. `"unsatisfiable"`: 416.
 */
export function requestedRange(
  request: Request,
  size: number,
  etag: string,
): ByteRange | "unsatisfiable" | null {
  const header = request.headers.get("range");
  if (header === null) return null;
  const condition = request.headers.get("if-range");
  if (condition !== null && condition.trim() !== etag) return null;
  const match = /^bytes=(\d*)-(\d*)$/i.exec(header.trim());
  const [, first = "", last = ""] = match ?? [];
  if (match === null || (first === "" && last === "")) return null;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return null;
  if (start >= size) return "unsatisfiable";
  return { start, end: last === "" ? size : Math.min(Number(last) + 1, size) };
}

/** Passes only the bytes of a range. */
export function sliceStream(range: ByteRange): TransformStream<Uint8Array, Uint8Array> {
  let at = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const from = Math.max(0, range.start - at);
      const to = Math.min(chunk.length, range.end - at);
      at += chunk.length;
      if (from < to) controller.enqueue(chunk.subarray(from, to));
    },
  });
}
