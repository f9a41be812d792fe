/** The messages between the Worker and the session of an idempotent or asynchronous call. Types only. */
import type { ErrorData } from "../../errors.ts";
import type { Content } from "../../run/large-body.ts";

/** A run to carry out, with its input read and checked. */
export interface ExecutionCall {
  id: string;
  /** The caller who may see it, and pays: `<tenant>/<key id>`. */
  caller: string;
  /** Slug of the skill, or name of the operation. */
  skill: string;
  /** Digest of the skill's record; `""`: an operation has none. */
  digest: string;
  /** SHA-256 (hex) over everything that makes two requests the same. */
  request_hash: string;
  /** Id of the request that began it. */
  request_id: string;
  /** The scope of the tenant's mocks; absent: `""`. */
  mock_scope?: string;
  /** Of the request; absent: none. */
  bot?: string;
  text: Content | null;
  files: { filename: string | null; mime: string; content: Content }[];
}

/**
 * `started`: this call began it. `attached`: it is under way. `finished`: it has already ended. `other_request`: the id
 * belongs to a run with another input.
 */
export type Begun = "started" | "attached" | "finished" | "other_request";

/** How a run ended. */
export type ExecutionAnswer =
  | {
      ok: true;
      headers: Record<string, string>;
      body: Uint8Array | ReadableStream<Uint8Array>;
      /** Separately measured parts of the run's time, in ms. */
      timings: Record<string, number>;
    }
  /** `operator` is for the log. */
  | { ok: false; error: ErrorData; operator: Record<string, unknown> };

/** A stream of server-sent events from a number on; or why there is none. */
export type ExecutionEvents =
  | { ok: true; body: ReadableStream<Uint8Array> }
  | { ok: false; error: ErrorData };

export interface ExecutionStatus {
  id: string;
  /** The id of its run without a session; `null`: it is not an agent run. */
  run_id: string | null;
  skill: string;
  digest: string;
  status: "running" | "done" | "error" | "cancelled";
  /** Unix ms. */
  created_at: number;
  finished_at: number | null;
  result: { headers: Record<string, string>; size: number } | null;
  error: ErrorData | null;
}

/** Identifies the same call without reading its input. */
export interface KnownCall {
  caller: string;
  request_hash: string;
}

/** The version of a skill that a run carries out. */
export interface BegunSkill {
  slug: string;
  /** Digest of the skill's record; `""`: it is no skill's run. */
  version: string;
}

/** Every method except `begin` returns `null` to callers who did not begin the run, and if there is none. */
export interface UnlistedRpc {
  begin(call: ExecutionCall): Promise<Begun>;
  /** Returns to a run that was begun; `null` if `begin` would start one. */
  attach(call: KnownCall): Promise<Begun | null>;
  /** What the run carries out to which a repeated call returns; `null` if `begin` would start one. */
  begun(caller: string): Promise<BegunSkill | null>;
  /** Waits for the end. */
  answer(caller: string): Promise<ExecutionAnswer | null>;
  /**
   * Waits until the run has begun or failed, then follows its events after number `after`.
   * @param early whether a failure before the first event is returned as an answer
   */
  follow(caller: string, after: number, early: boolean): Promise<ExecutionEvents | null>;
  status(caller: string): Promise<ExecutionStatus | null>;
  /**
   * The run's steps so far, as JSON (`RunTrace`), since the compiler gives up on the type of an answer that holds JSON of
   * any depth; a script has no steps. @param after number of steps before the page
   */
  steps(caller: string, page: { after: number; limit: number }): Promise<string | null>;
  /** The text with which the run was begun. */
  input(caller: string): Promise<Uint8Array | ReadableStream<Uint8Array> | null>;
  /** Stops a run under way; removes an ended one, unless it should be kept. */
  cancel(caller: string, keeps?: boolean): Promise<"cancelled" | "removed" | "ended" | null>;
}
