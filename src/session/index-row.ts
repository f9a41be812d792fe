/** Rows of the lists of sessions and runs in D1. */
import type { JsonObject } from "../skill/manifest.ts";
import type { RunEntry } from "./run-entry.ts";

/** A session as a list entry. */
export interface SessionEntry {
  id: string;
  state: string;
  /** RFC 3339. */
  created_at: string;
  parent_id: string | null;
  metadata: JsonObject;
}

/** A row of one of the lists. */
export type IndexRow = { tenant: string } & ({ run: RunEntry } | { session: SessionEntry });

/** A row of a list in D1, and what to do once it is stored. */
export interface IndexEntry {
  statement: D1PreparedStatement;
  written(): void;
}
