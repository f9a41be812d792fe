/** Pages of MCP lists: a cursor names the last item of the previous page in a sorted list. Pure. */
import { fromBase64, toBase64 } from "../../bytes.ts";
import { utf8OrNull } from "../../run/utf8.ts";
import type { JsonObject } from "../../skill/manifest.ts";

/** The opaque cursor for a key. */
export function cursorAfter(key: string): string {
  const text = toBase64(new TextEncoder().encode(key));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The key in a request's cursor; `""` if there is no cursor; `null` for a foreign one. */
export function keyOf({ cursor }: JsonObject): string | null {
  if (cursor === undefined) return "";
  if (typeof cursor !== "string" || !/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
  try {
    return utf8OrNull(fromBase64(cursor.replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return null;
  }
}
