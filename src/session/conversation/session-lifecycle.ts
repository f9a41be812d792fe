/**
 * What a session's conversation calls in the parts that build on it. `Session` implements it, and so says in one place which part
 * does what, in which order (`session.ts`).
 */
import type { Rest } from "../../engine/agent/drive.ts";
import type { Wake } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { IndexEntry } from "../index-row.ts";
import type { WatchedChange } from "../workspace/workspace.ts";
import type { RunRow } from "./run-rows.ts";
import type { SessionIdentity } from "./store.ts";

/** What a resting run waits for. */
export type WaitStep = Extract<Rest["step"], { type: "wait" }>;

/** What follows from the steps of a run. */
export interface RunLifecycle {
  /** A run begins. Part of the transaction that stores this: it throws what fails. */
  begins(spec: AgentSpec): void;
  /** The run under way goes on after a rest. Part of the transaction that stores this. @param status the run's until now */
  resumes(status: RunRow["status"]): void;
  /** The run under way waits for something that can only come from outside. Part of the transaction that stores this. */
  rests(step: WaitStep): void;
  /** An idle run wakes. Part of the transaction that stores this. */
  wakes(wake: Wake): void;
  /** A run has ended, however it did, and that is stored: what fails is logged. */
  ended(run: string): void;
  /** Whether somebody is told of a run that ends or rests. If so, the watch stays until `Conversation.reported`. */
  reports(): boolean;
}

export interface FileLifecycle {
  /** Files change. Part of the transaction that changes them. @param own whether the session's run changes them */
  filesChange(changes: readonly WatchedChange[], own: boolean): void;
  /** Makes what nobody has needed until now, before somebody looks at the files; `undefined`: there is nothing to make. */
  filesWanted(): Promise<void> | undefined;
}

export interface ListingSource {
  /** A further row of a list, stored with each row of a run that the session writes; `null`: none. */
  entry(): Promise<IndexEntry | null>;
}

export interface SessionLifecycle extends RunLifecycle, FileLifecycle, ListingSource {
  /** Reads what must be in memory before the session answers anything; `undefined`: it is there. */
  ready(): Promise<void> | undefined;
  /** The answer, in place of the result, to the request that began an ended run; `null`: the result. */
  answer(run: string): JsonObject | null;
  /** The session is closed or abandoned. Part of the transaction that stores this. */
  closes(): void;
  /** The session is being removed. The call is repeated until it succeeds. */
  cleared(session: SessionIdentity): Promise<void>;
}
