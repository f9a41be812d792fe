/** The rows in the lists of sessions and runs in D1. */
import type { RunEntry } from "./run-entry.ts";
import type { SessionEntry } from "./session-entry.ts";

/** A row of one of the lists. */
export type IndexRow = { tenant: string } & ({ run: RunEntry } | { session: SessionEntry });

/** A statement that writes a row in D1, and what to do once the row is stored. */
export interface IndexEntry {
  statement: D1PreparedStatement;
  written(): void;
}
