/** What operations on transcripts need beside the transcripts themselves. */
import type { LlmHost } from "../host.ts";
import type { IdSource } from "../transcript.ts";

export interface OperationDeps {
  ids: IdSource;
  /** Asked for only where a model's name or answer is needed. */
  host(): Promise<LlmHost>;
  /** Told what a call for a summary took. */
  onUsage?(usage: unknown): void;
}
