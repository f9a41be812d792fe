/** What the run route and the modes tell each other. */
import type { SkillRecord } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import type { RunEvent } from "../sse.ts";
import type { RunInput } from "./input.ts";

/** What a mode gets to run with. */
export interface RunHandle {
  /** `ex_…`: names the run in headers, events and the runner. */
  id: string;
  context: RequestContext;
  record: SkillRecord;
  input: RunInput;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
  /** Whether anyone watches events; text need not be passed on otherwise. */
  streaming: boolean;
  /** Called once, when nothing but the run itself can fail any more: from then on failures are events. */
  started(): void;
  emit(event: RunEvent): Promise<void>;
}

/** A run's answer. */
export interface RunOutput {
  body: Uint8Array | ReadableStream<Uint8Array> | string;
  headers: Record<string, string>;
  /** Members of the `done` event beside `ok` and `duration_ms`. */
  done: Record<string, unknown>;
}
