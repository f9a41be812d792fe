/**
 * A part of an answer that may be anything, and is read only if it has the expected shape. It replaces `z.catch`, which
 * refers to zod's tools by their namespace: the Worker would carry all of them, 8 KB.
 */
import * as z from "zod/mini";

/** Reads what `schema` accepts; anything else becomes `fallback`. */
export function withFallback<S extends z.ZodMiniType, F extends null | undefined>(schema: S, fallback: F) {
  return z.union([schema, z.transform(() => fallback)]);
}
