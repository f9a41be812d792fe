/** The messages between the Worker and the session of an idempotent or asynchronous call. Types only. */
import type { ErrorData } from "../../errors.ts";
import type { Content } from "../../run/large-body.ts";

/** A run to execute, with its checked input. */
export interface ExecutionCall {
  id: string;
  /** The caller who may see it and pays for it: `<tenant>/<key id>`. */
  caller: string;
  /** Slug of the skill, or name of the operation. */
  skill: string;
  /** Digest of the skill record; `""`: the call is an operation. */
  digest: string;
  /** SHA-256 (hex) over everything that makes two requests the same. */
  request_hash: string;
  /** Id of the request that began it. */
  request_id: string;
  /** The scope of the tenant's mocks; absent: `""`. */
  mock_scope?: string;
  /** The bot of the request; absent: none. */
  bot?: string;
  text: Content | null;
  files: { filename: string | null; mime: string; content: Content }[];
}

/**
 * `started`: this call began the run. `attached`: the run is under way. `finished`: it has ended. `other_request`: the
 * id belongs to a run with another input.
 */
export type Begun = "started" | "attached" | "finished" | "other_request";

/** How a run ended. */
export type ExecutionAnswer =
  | {
      ok: true;
      headers: Record<string, string>;
      body: Uint8Array | ReadableStream<Uint8Array>;
      /** Measured parts of the run's time, in ms. */
      timings: Record<string, number>;
    }
  /** `operator` is for the log. */
  | { ok: false; error: ErrorData; operator: Record<string, unknown> };

/** Server-sent events from a number on, or why there are none. */
export type ExecutionEvents =
  | { ok: true; body: ReadableStream<Uint8Array> }
  | Extract<ExecutionAnswer, { ok: false }>;

export interface ExecutionStatus {
  /** Id of the agent run, without the session; `null`: it is not an agent run. */
  run_id: string | null;
  skill: string;
  status: "running" | "done" | "error" | "cancelled";
  /** Unix ms. */
  created_at: number;
  finished_at: number | null;
  result: { headers: Record<string, string>; size: number } | null;
  error: ErrorData | null;
}

/** Identifies a call without reading its input. */
export interface KnownCall {
  caller: string;
  request_hash: string;
}

/** The version of a skill that a run executes. */
export interface BegunSkill {
  slug: string;
  /** Digest of the skill record; `""`: no skill's run. */
  version: string;
}

/** Every method except `begin` returns `null` if there is no run, or if another caller began it. */
export interface UnlistedRpc {
  begin(call: ExecutionCall): Promise<Begun>;
  /** Attaches to a run that was begun; `null` if `begin` would start one. */
  attach(call: KnownCall): Promise<Begun | null>;
  /** The skill of the run to which a repeated call would attach; `null` if `begin` would start one. */
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
   * The run's steps so far (`RunTrace`) as JSON text: the compiler gives up on types that hold JSON of any depth. A
   * script has no steps.
   * @param after number of steps before the page
   */
  steps(caller: string, page: { after: number; limit: number }): Promise<string | null>;
  /** The text input of the run. */
  input(caller: string): Promise<Uint8Array | ReadableStream<Uint8Array> | null>;
  /** Stops a run under way; removes an ended run, unless `keeps` is set. */
  cancel(caller: string, keeps?: boolean): Promise<"cancelled" | "removed" | "ended" | null>;
}
