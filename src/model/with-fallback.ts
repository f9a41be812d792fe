/**
 * A part of an answer that may be anything and is read only if it has the expected shape. It replaces `z.catch`, which
 * refers to all of zod's helpers by their namespace and so would add 8 KB to the Worker.
 */
import * as z from "zod/mini";

/** Reads what `schema` accepts; anything else becomes `fallback`. */
export function withFallback<S extends z.ZodMiniType, F extends null | undefined>(schema: S, fallback: F) {
  return z.union([schema, z.transform(() => fallback)]);
}
