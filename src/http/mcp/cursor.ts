/** Pages of MCP lists: a cursor says after which item of a sorted list the page before ended. Pure. */
import { fromBase64, toBase64 } from "../../bytes.ts";
import { utf8OrNull } from "../../run/utf8.ts";
import type { JsonObject } from "../../skill/manifest.ts";

/** The opaque text of a key. */
export function cursorAfter(key: string): string {
  const text = toBase64(new TextEncoder().encode(key));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The key in the cursor of a request, `""` where there is none; `null` for a cursor that is none of ours. */
export function keyOf({ cursor }: JsonObject): string | null {
  if (cursor === undefined) return "";
  if (typeof cursor !== "string" || !/^[A-Za-z0-9_-]+$/.test(cursor)) return null;
  try {
    return utf8OrNull(fromBase64(cursor.replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return null;
  }
}
