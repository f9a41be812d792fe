/** Outcomes of a workflow's attempts that are too long for its journal: in R2 with the session's objects, and removed with them. */
import type { Outcome, WorkflowRecord } from "../../engine/workflow/records.ts";
import { sessionPrefix } from "../conversation/files.ts";

/** Bytes of an outcome that a row of the journal holds. */
const MAX_ROW_BYTES = 256 * 1024;

type EndedRecord = Extract<WorkflowRecord, { type: "ended" }>;
/** The row of an attempt whose outcome lies in R2; `outcome` is what is left without its texts. */
export type JournalRecord = WorkflowRecord | (EndedRecord & { stored: string });

/** The outcome's JSON if it is too long; `null`: it is not. */
export function longOutcome({ outcome }: EndedRecord): Uint8Array | null {
  const text = JSON.stringify(outcome);
  // A character has three bytes at most.
  if (text.length * 3 <= MAX_ROW_BYTES) return null;
  const bytes = new TextEncoder().encode(text);
  return bytes.length > MAX_ROW_BYTES ? bytes : null;
}

/** Stores an outcome before its row. An attempt that ends again after a crash writes the same object. @returns its key */
export async function storeOutcome(
  bucket: R2Bucket,
  { tenant, id, run }: { tenant: string; id: string; run: string },
  { node, visit, attempt, item }: EndedRecord,
  bytes: Uint8Array,
): Promise<string> {
  const place = [run, node, visit, attempt, ...(item === undefined ? [] : [item])].join("/");
  const key = `${sessionPrefix(tenant, id)}outputs/${place}`;
  await bucket.put(key, bytes);
  return key;
}

/** An outcome that was stored. */
export interface StoredOutcome {
  key: string;
  /** Of an item of a map: the state keeps its text and its artifacts alone. */
  item: boolean;
}

/** What the state keeps of an outcome that was stored; `null`: somebody removed it. */
export async function readOutcome(bucket: R2Bucket, { key, item }: StoredOutcome): Promise<Outcome | null> {
  const object = await bucket.get(key);
  if (object === null) return null;
  const outcome = await object.json<Outcome>();
  return item ? { ...outcome, reasoning: null, transcript: null, verification: null, metadata: {} } : outcome;
}

/** The row of an attempt whose outcome is stored under a key. */
export function rowOf(record: EndedRecord, stored: string): JournalRecord {
  const { outcome } = record;
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
