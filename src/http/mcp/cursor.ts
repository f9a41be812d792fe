/** Pages of MCP lists: a cursor names the last item of the previous page in a sorted list. Pure. */
import { fromBase64Url, toBase64Url, utf8, utf8OrNull } from "../../bytes.ts";
import type { JsonObject } from "../../skill/manifest.ts";

/** The opaque cursor for a key. */
export function cursorAfter(key: string): string {
  return toBase64Url(utf8(key));
}

/** The key in a request's cursor; `""` if there is no cursor; `null` for a foreign one. */
export function keyOf({ cursor }: JsonObject): string | null {
  if (cursor === undefined) return "";
  if (typeof cursor !== "string" || !/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
  try {
    return utf8OrNull(fromBase64Url(cursor));
  } catch {
    return null;
  }
}
