/**
 * How a session's conversation informs the parts that build on it. `Session` implements it, so one file (`session.ts`)
 * says which part does what, and in which order.
 */
import type { Rest } from "../../engine/agent/drive.ts";
import type { Wake } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { RunEvent } from "../../run/events.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { IndexEntry } from "../index-row.ts";
import type { RunEntry } from "../run-entry.ts";
import type { WatchedChange } from "../workspace/workspace.ts";
import type { RunRow } from "./run-rows.ts";
import type { SessionIdentity } from "./store.ts";

/** What a resting run waits for. */
export type WaitStep = Extract<Rest["step"], { type: "wait" }>;

/** How a run ends. `code`: of its error; absent: it has none. */
export interface RunEnd {
  status: RunRow["status"];
  code?: string | undefined;
}

/** Steps of a run that other parts react to. */
export interface RunLifecycle {
  /** A run begins. Called in the transaction that stores it; an error makes the transaction fail. */
  begins(spec: AgentSpec): void;
  /**
   * The run under way continues after a rest. Called in the transaction that stores this.
   * @param status the run's status before
   */
  resumes(status: RunRow["status"]): void;
  /**
   * The run under way waits for something that can only come from outside. Called in the transaction that stores this.
   */
  rests(step: WaitStep): void;
  /** An idle run wakes. Called in the transaction that stores this. */
  wakes(wake: Wake): void;
  /**
   * Called in the transaction that stores the end of a run. Returns events to store before the run's last events. Must
   * not read records, because that may kill the process.
   */
  ends(run: string, end: RunEnd): RunEvent[];
  /** A run has ended for any reason, and that is stored. Errors are logged. */
  ended(run: string): void;
  /**
   * Whether the session above must learn that a run ended or rests. If so, the watch stays until
   * `Conversation.reported`.
   */
  reports(): boolean;
}

export interface FileLifecycle {
  /** Files change. Called in the transaction that changes them. @param own whether the session's run made the changes */
  filesChange(changes: readonly WatchedChange[], own: boolean): void;
  /** Creates files that Hull owes to whoever looks at the files; `undefined`: there are all. */
  filesWanted(): Promise<void> | undefined;
}

export interface ListingSource {
  runRow(run: RunRow): RunEntry;
  /** A row of another list, stored with each run row that the session itself writes; `null`: none. */
  entry(): Promise<IndexEntry | null>;
}

export interface SessionLifecycle extends RunLifecycle, FileLifecycle, ListingSource {
  /** Loads what the session needs in memory before it answers anything; `undefined`: it is loaded. */
  ready(): Promise<void> | undefined;
  /** What the route that began an ended run answers; `null`: the run's result. */
  answer(run: string): JsonObject | null;
  /** The result of a workflow run that has ended; `null`: there is no such run. */
  workflowResult(run: string): Promise<JsonObject | null>;
  /** The session is closed or abandoned. Called in the transaction that stores this. */
  closes(): void;
  /** Whether the request that made the session makes it again after its removal. */
  comesBack(): boolean;
  /** The session is being removed. Hull repeats the call until it succeeds. */
  cleared(session: SessionIdentity): Promise<void>;
  /** The session's storage was emptied: drops what is in memory, which the next session of this id must not see. */
  forgotten(): void;
}
