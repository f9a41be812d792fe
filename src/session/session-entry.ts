/** A session as the list of a tenant's sessions has it. */
import * as z from "zod/mini";
import type { JsonObject } from "../skill/manifest.ts";

/** A session as a list entry. */
export type SessionEntry = z.output<typeof sessionRowShape>;
export const sessionRowShape = z.lazy(() =>
  z.object({
    id: z.string(),
    state: z.string(),
    /** RFC 3339. */
    created_at: z.string(),
    parent_id: z.nullable(z.string()),
    metadata: z.pipe(
      z.string(),
      z.transform((text): JsonObject => JSON.parse(text)),
    ),
  }),
);
