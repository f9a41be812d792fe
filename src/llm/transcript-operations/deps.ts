/** What operations on transcripts need in addition to the transcripts. */
import type { LlmHost } from "../host.ts";
import type { CallInput } from "../prepare.ts";
import type { LlmResult } from "../result.ts";
import type { IdSource } from "../transcript.ts";

export interface OperationDeps {
  ids: IdSource;
  /** Called only if a model's name is needed. */
  host(): Promise<LlmHost>;
  /** Calls a model. */
  call(input: CallInput): Promise<LlmResult>;
}
