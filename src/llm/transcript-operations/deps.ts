/** What operations on transcripts need beside the transcripts themselves. */
import type { LlmHost } from "../host.ts";
import type { CallInput } from "../prepare.ts";
import type { LlmResult } from "../result.ts";
import type { IdSource } from "../transcript.ts";

export interface OperationDeps {
  ids: IdSource;
  /** Asked for only where a model's name is needed. */
  host(): Promise<LlmHost>;
  /** Calls a model. */
  call(input: CallInput): Promise<LlmResult>;
}
