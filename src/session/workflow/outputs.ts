/**
 * Outcomes of a workflow's attempts that are too long for its journal. They are stored in R2 with the session's objects,
 * and removed with them.
 */
import { askedAgain } from "../../asked-again.ts";
import type { Outcome, WorkflowRecord } from "../../engine/workflow/records.ts";
import { sessionPrefix } from "../r2-objects.ts";

/** The most bytes of an outcome in a row of the journal. */
const MAX_ROW_BYTES = 256 * 1024;

type EndedRecord = Extract<WorkflowRecord, { type: "ended" }>;
/** A row of the journal. With `stored`, R2 has the outcome, and the row has only the outcome without its texts. */
export type JournalRecord = WorkflowRecord | (EndedRecord & { stored: string });

/** The outcome's JSON if it is too long for a row; otherwise `null`. */
export function longOutcome({ outcome }: EndedRecord): Uint8Array | null {
  const text = JSON.stringify(outcome);
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (text.length * 3 <= MAX_ROW_BYTES) return null;
  const bytes = new TextEncoder().encode(text);
  return bytes.length > MAX_ROW_BYTES ? bytes : null;
}

/** The key of an outcome. An attempt that ends again after a crash overwrites the same object. */
export function outcomeKey(
  { tenant, id, run }: { tenant: string; id: string; run: string },
  { node, visit, attempt, item }: EndedRecord,
): string {
  const place = [run, node, visit, attempt, ...(item === undefined ? [] : [item])].join("/");
  return `${sessionPrefix(tenant, id)}outputs/${place}`;
}

export interface StoredOutcome {
  key: string;
  /** Whether it belongs to an item of a map: then the state keeps only its text and its artifacts. */
  item: boolean;
}

/** The part of a stored outcome that the state keeps; `null`: the object is gone or cannot be read. */
export async function readOutcome(bucket: R2Bucket, { key, item }: StoredOutcome): Promise<Outcome | null> {
  const text = await askedAgain(async () => (await bucket.get(key))?.text());
  const outcome = text === undefined ? null : parsedOutcome(text);
  if (outcome === null) return null;
  return item ? { ...outcome, reasoning: null, transcript: null, verification: null, metadata: {} } : outcome;
}

function parsedOutcome(text: string): Outcome | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The row of an attempt whose outcome is stored under a key. */
export function rowOf(record: EndedRecord, stored: string): JournalRecord {
  const { recorded: _, ...outcome } = record.outcome;
  return {
    ...record,
    stored,
    outcome: {
      ...outcome,
      text: "",
      reasoning: null,
      artifacts: [],
      transcript: null,
      verification: null,
      metadata: {},
    },
  };
}
