/** What those who ask for a run and the modes tell each other. */
import type { SkillRecord } from "../skill/manifest.ts";
import type { RunContext } from "./context.ts";
import type { Durable } from "./durable.ts";
import type { RunEvent } from "./events.ts";
import type { RunInput } from "./input.ts";

/** What anything that is run gets to run with. */
export interface OperationHandle {
  /** `ex_…`: names the run in headers, events and the runner. */
  id: string;
  context: RunContext;
  input: RunInput;
  /** Aborted when nobody wants the answer any more. */
  signal: AbortSignal;
  /** Whether anyone watches events; text need not be passed on otherwise. */
  streaming: boolean;
  /** Whether the answer's body is wanted; what only streams need not be kept. */
  keep: boolean;
  /**
   * Called once, when nothing but the run itself can fail any more: from then on failures are events.
   * @param about further members of the event `start`
   */
  started(about?: Record<string, unknown>): void;
  emit(event: RunEvent): Promise<void>;
  /** `null`: the run ends with the process that carries it out. */
  durable: Durable | null;
  /** Resolves when who reads the events is not far behind. Absent: nobody is waited for. */
  room?(): Promise<void>;
}

/** What a mode gets to run with. */
export interface RunHandle extends OperationHandle {
  record: SkillRecord;
}

/** A run's answer. */
export interface RunOutput {
  body: Uint8Array | ReadableStream<Uint8Array> | string;
  headers: Record<string, string>;
  /** Members of the `done` event beside `ok` and `duration_ms`. */
  done: Record<string, unknown>;
}
