/** What the Worker and the session of an idempotent or asynchronous call tell each other. Types only. */
import type { Content } from "../../run/large-body.ts";

/** A run to be carried out, its input read and checked. */
export interface ExecutionCall {
  id: string;
  /** Who may see it, and pays: `<tenant>/<key id>`. */
  caller: string;
  skill: string;
  /** Digest of the skill's record. */
  digest: string;
  /** SHA-256 (hex) of what makes two requests the same. */
  request_hash: string;
  /** Of the request that began it. */
  request_id: string;
  /** Which of the tenant's mocks count; absent: `""`. */
  mock_scope?: string;
  /** Of the request; absent: none. */
  bot?: string;
  text: Content | null;
  files: { filename: string | null; mime: string; content: Content }[];
}

/**
 * `started`: this call began it. `attached`: it is under way. `finished`: it has ended before. `other_request`: the id
 * belongs to a run with another input.
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
  /** `error` is `ErrorData` as JSON, `operator` JSON for the log. */
  | { ok: false; error: string; operator: string };

/** Events from a number on, as a stream of server-sent events; or why there are none. */
export type ExecutionEvents = { ok: true; body: ReadableStream<Uint8Array> } | { ok: false; error: string };

export interface ExecutionStatus {
  id: string;
  /** The run without a session that it is; `null`: it is no agent run. */
  run_id: string | null;
  skill: string;
  digest: string;
  status: "running" | "done" | "error" | "cancelled";
  /** Unix ms. */
  created_at: number;
  finished_at: number | null;
  result: { headers: Record<string, string>; size: number } | null;
  /** `ErrorData` as JSON. */
  error: string | null;
}

/** What makes two calls the same, when the input of the second need not be read. */
export interface KnownCall {
  caller: string;
  request_hash: string;
}

/** Every method but `begin` answers `null` to those who did not begin the run, and where there is none. */
export interface UnlistedRpc {
  begin(call: ExecutionCall): Promise<Begun>;
  /** Comes back to a run that was begun; `null` where `begin` would start one. */
  attach(call: KnownCall): Promise<Begun | null>;
  /** Waits for the end. */
  answer(caller: string): Promise<ExecutionAnswer | null>;
  /**
   * Waits until the run has begun or failed, then follows its events that come after number `after`.
   * @param early whether a failure before the first event is an answer of its own
   */
  follow(caller: string, after: number, early: boolean): Promise<ExecutionEvents | null>;
  status(caller: string): Promise<ExecutionStatus | null>;
  /** What the run did so far, as JSON (`RunTrace`); a script has no steps. @param after how many come before the page */
  steps(caller: string, page: { after: number; limit: number }): Promise<string | null>;
  /** Stops a run that is under way; removes one that has ended. */
  cancel(caller: string): Promise<"cancelled" | "removed" | null>;
}
