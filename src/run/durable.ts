/** What lets a run outlive the process that carries it out (design.md §2.2, §2.3). */
import type { RunRecord } from "../engine/records.ts";
import type { KnownExecutions } from "../tool/runner-client.ts";
import type { RunEvent } from "./events.ts";

export interface Durable extends KnownExecutions {
  /** Records of earlier lives of this run, in order. */
  readonly records: readonly RunRecord[];
  /** Stores a record together with the event that tells of it; returns when both are stored. */
  append(record: RunRecord, event: RunEvent | null): void;
}
