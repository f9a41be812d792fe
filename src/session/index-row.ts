/** Shapes of the rows in the lists of sessions and runs in D1. */
import * as z from "zod/mini";
import type { JsonObject } from "../skill/manifest.ts";
import type { RunEntry } from "./run-entry.ts";

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

/** A row of one of the lists. */
export type IndexRow = { tenant: string } & ({ run: RunEntry } | { session: SessionEntry });

/** A statement that writes a row in D1, and what to do once the row is stored. */
export interface IndexEntry {
  statement: D1PreparedStatement;
  written(): void;
}
