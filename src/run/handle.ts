/** What the callers of a run and the modes exchange. */

import type { Artifact } from "../engine/artifact.ts";
import type { Json, SkillRecord } from "../skill/manifest.ts";
import type { KnownExecutions } from "../tool/runner-client.ts";
import type { RunLog } from "./agent/run-log.ts";
import type { RunContext } from "./context.ts";
import type { RunEvent } from "./events.ts";
import type { WorkspaceAccess } from "./workspace/access.ts";

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
  /** Of the skill's version. */
  digest: string;
}

/** A run's answer. */
export interface RunOutput {
  body: Uint8Array | ReadableStream<Uint8Array> | string;
  headers: Record<string, string>;
  /** Members of the `done` event in addition to `ok` and `duration_ms`. */
  done: Record<string, unknown>;
}

/**
 * What lets a run outlive its process: the part that an object keeps. Every method has stored its values when it
 * returns.
 */
export interface Durable extends KnownExecutions {
  /** Includes the records of earlier run attempts. */
  readonly log: RunLog;
  /** The last version of an artifact that the run made; `null`: there is none. */
  artifact(id: string): Artifact | null;
  /** The value that an earlier run attempt kept with `remember`; `null`: none. */
  readonly memo: Json;
  /** Stores a value for later run attempts, replacing the previous one. */
  remember(value: Json): void;
  /** All events sent so far, including those of earlier run attempts. */
  sentEvents(): RunEvent[];
  /** Files of the run. Its later run attempts find them unchanged. */
  workspace(): WorkspaceAccess;
}

export interface InputFile {
  /** As the client named it; `null` for a raw body. */
  filename: string | null;
  mime: string;
  body: Uint8Array | ReadableStream<Uint8Array>;
}

/** A run's input, whatever its source. */
export interface RunInput {
  /** The text for stdin, or the user message; `null` if the request has none. */
  text: Uint8Array | null;
  files: InputFile[];
}
