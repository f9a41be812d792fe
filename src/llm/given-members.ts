/** Reads options: of many possible members a request names a few. */
import type * as z from "zod/mini";

/**
 * As `schema.safeParse`, for an object whose members may all be left out and whose other members count for nothing. zod asks
 * each member of the shape, also one that is not there, which takes longer than to check those that are.
 */
export function parseGiven<Shape extends { readonly [name: string]: z.ZodMiniType }>(
  schema: z.ZodMiniObject<Shape>,
  given: Record<string, unknown>,
): z.core.util.SafeParseResult<z.infer<typeof schema>> {
  const { shape } = schema;
  const read: unknown[][] = [];
  for (const [name, value] of Object.entries(given)) {
    const member = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (member === undefined) continue;
    const parsed = member.safeParse(value);
    // What is wrong is said by the whole schema, in its order and words.
    if (!parsed.success) return schema.safeParse(given);
    read.push([name, parsed.data]);
  }
  return { success: true, data: Object.fromEntries(read) };
}
