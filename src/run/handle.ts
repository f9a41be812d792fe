/** What the callers of a run and the modes exchange. */
import type { SkillRecord } from "../skill/manifest.ts";
import type { RunContext } from "./context.ts";
import type { Durable } from "./durable.ts";
import type { RunEvent } from "./events.ts";
import type { RunInput } from "./input.ts";

/** What every operation gets to run with. */
export interface OperationHandle {
  /** `ex_…`: names the run in headers, events and the runner. */
  id: string;
  context: RunContext;
  input: RunInput;
  /** Aborted when nobody wants the answer any more. */
  signal: AbortSignal;
  /** Whether anyone watches events. If not, text need not be passed on. */
  streaming: boolean;
  /** Whether the answer's body is wanted. If not, parts that only streams need are not kept. */
  keep: boolean;
  /**
   * Called once, when only the run itself can still fail. From then on failures are events.
   * @param about more members of the event `start`
   */
  started(about?: Record<string, unknown>): void;
  emit(event: RunEvent): Promise<void>;
  /** `null`: the run ends with its process. */
  durable: Durable | null;
  /** Resolves when the reader of the events has nearly caught up. Absent: the run does not wait for a reader. */
  room?(): Promise<void>;
}

/** What a mode gets. */
export interface RunHandle extends OperationHandle {
  record: SkillRecord;
}

/** A run's answer. */
export interface RunOutput {
  body: Uint8Array | ReadableStream<Uint8Array> | string;
  headers: Record<string, string>;
  /** Members of the `done` event in addition to `ok` and `duration_ms`. */
  done: Record<string, unknown>;
}
