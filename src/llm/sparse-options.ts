/** Reads options: a request names only a few of many possible members. */
import type * as z from "zod/mini";
import { checked } from "../engine/fault.ts";

/**
 * Like `schema.safeParse`, for an object whose members are all optional and whose unknown members are ignored. zod
 * checks every member of the shape, even absent ones; checking only those present is faster.
 */
export function parseSparse<Shape extends { readonly [name: string]: z.ZodMiniType }>(
  schema: z.ZodMiniObject<Shape>,
  given: Record<string, unknown>,
): ReturnType<typeof checked<z.infer<typeof schema>>> {
  const { shape } = schema;
  const read: unknown[][] = [];
  for (const [name, value] of Object.entries(given)) {
    const member = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (member === undefined) continue;
    const parsed = checked(member, value);
    // The whole schema reports the faults, in its order and words.
    if (!parsed.success) return checked(schema, given);
    read.push([name, parsed.data]);
  }
  return { success: true, data: Object.fromEntries(read) };
}
