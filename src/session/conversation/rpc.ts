/** The messages between the Worker and a SessionObject. Types only. */
import type { Delivery, Feedback, SessionState } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Message } from "../../engine/messages.ts";
import type { ErrorData } from "../../errors.ts";
import type { PublicMessage } from "../../llm/messages.ts";
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { DaemonOperations } from "../daemon/rpc.ts";
import type { NamedRequest } from "../named-request.ts";
import type { TaskOperations } from "../task/rpc.ts";
import type { UnlistedRpc } from "../unlisted/rpc.ts";
import type { WorkflowOperations } from "../workflow/rpc.ts";
import type { ApprovalView, ArtifactEntry, ArtifactView, RunView, SessionView } from "./answers.ts";
import type { EventPage } from "./event-page.ts";
import type { RunTrace } from "./trace.ts";

/** Identifies the session, and the request that asks. */
export interface SessionCaller {
  tenant: string;
  id: string;
  request_id: string;
  /** As in `RunContext`. */
  mock_scope: string;
}

export interface Decision {
  approval: string;
  decision: "approve" | "deny";
  scope: "once" | "session";
  reason: string | null;
  /** `null`: not given. */
  arguments_digest: string | null;
}

/**
 * A document of the whole session: its transcript as JSON (`raw`) or as lines of text (`visible`, `full`); or the
 * answers of its models and tools in order, for runs without them (`cassette`).
 */
export type SessionDocument = "raw" | "visible" | "full" | "cassette";

/** How long an answer waits: not at all, until the run's end, or until the run needs somebody to act. */
export type Wait = "none" | "terminal" | "idle";

export interface CompactCall {
  strategy: "observation_mask" | "truncate" | "llm";
  keep_first: number;
  keep_last: number;
  /** Replaces a generated summary. */
  summary: string | null;
  /** Specify the model that writes the summary, for `llm`; `null`: none is asked. */
  options: JsonObject | null;
}

/** What a request asks of a run. */
export interface RunRequest {
  prompt: string | null;
  system: string | null;
  options: JsonObject;
  /** Whether the caller of the run may store skills. */
  publishes: boolean;
}

type Named = { request: NamedRequest };

/** The methods of a session's workspace with their arguments. */
type WorkspaceOperations = {
  [K in keyof WorkspaceAccess]: {
    in: Parameters<WorkspaceAccess[K]>;
    out: Awaited<ReturnType<WorkspaceAccess[K]>>;
  };
};

/** By name: input and output. JSON-safe. */
export interface SessionOperations
  extends WorkspaceOperations,
    DaemonOperations,
    TaskOperations,
    WorkflowOperations {
  /** Makes the session unless it exists. */
  open: {
    /** `imported`: its beginning; if the session exists, the same request must have made it. */
    in: {
      metadata: JsonObject;
      request_hash: string | null;
      imported: { messages: Message[]; summary: string | null } | null;
      /** The session that it belongs to. Absent: none. */
      parent_id?: string | null;
      /** The request, by its name and content, whose own unfinished fork the session may replace. Absent: none. */
      fork?: string;
    };
    out: { created: boolean; session: SessionView };
  };
  exists: { in: null; out: boolean };
  view: { in: null; out: SessionView };
  messages: { in: { offset: number; limit: number }; out: { data: PublicMessage[]; next: number | null } };
  /** The conversation so far, for a call outside of a run whose messages the session will keep. */
  history: { in: null; out: { messages: Message[]; summary: string | null; created_at: number } };
  set_state: { in: { state: SessionState } & Named; out: SessionView };
  /** Makes an archived, abandoned or closed session active again, and wakes an idle run. */
  resume: { in: Named; out: SessionView & { woken: boolean } };
  reset: { in: Named; out: SessionView };
  trim: { in: { keep_last: number } & Named; out: SessionView };
  /**
   * `source`: an explicit injection, or the messages of a call outside of a run. `created_at`: that of the session whose history
   * the call continued (Unix ms); absent: any session of this id. @throws CallNotFound for a later session of this id
   */
  add: {
    in: { messages: Message[]; source: "inject" | "client"; created_at?: number } & Named;
    out: SessionView;
  };
  compact: { in: CompactCall; out: SessionView & { compacted: JsonObject | null } };
  /** Returns the fork's id. @param keep_first number of messages to begin with; `null`: all */
  fork: { in: { dst: string; keep_first: number | null } & Named; out: string };
  /** Makes a session that begins with copies of the files and nothing else, if there are any. @throws SessionExists */
  copyFiles: { in: { dst: string } & Named; out: null };
  remove: { in: null; out: null };
  message: {
    in: { message: Message; delivery: Delivery } & Named;
    out: { session_id: string; run_id: string | null; delivery: Delivery };
  };
  feedback: { in: { feedback: Feedback } & Named; out: { session_id: string; run_id: string | null } };
  /** Whether the session did what this request asks; not, if there is no such session. @throws IdempotencyKeyReused */
  known: { in: Named; out: boolean };
  /**
   * Begins a run, and waits for it as `answer` does, unless `wait` is `none`. The answer is about another run if the same request
   * has already begun that.
   * @param work what a request asks, or the run that somebody else has prepared
   * @param request `null`: it has no key
   * @param opens metadata of the session, which is made unless it exists. The list shows it with the run.
   * @param followed the caller reads its events, so the list of runs need not show it immediately; how the stream ends
   */
  start: {
    in: {
      run_id: string;
      work: { asked: RunRequest } | { spec: AgentSpec };
      request: NamedRequest | null;
      wait: Wait | null;
      opens?: JsonObject;
      followed?: StreamUntil;
    };
    out: RunView;
  };
  runs: { in: { limit: number; before: number }; out: { data: RunView[]; next: number | null } };
  run: { in: { run_id: string }; out: RunView };
  /** The steps of the run so far. @param after number of steps before the page */
  trace: { in: { run_id: string; after: number; limit: number }; out: RunTrace };
  /** Events after a number. @param name only those of this name; `null`: all */
  list_events: { in: { after: number; limit: number; name: string | null }; out: EventPage };
  /** Waits. @param wait `null`: as is usual for such a run */
  answer: { in: { run_id: string; wait: Wait | null }; out: RunView };
  cancel: { in: { run_id: string }; out: RunView };
  artifacts: {
    in: { offset: number; limit: number };
    out: { data: ArtifactEntry[]; next: number | null };
  };
  /** @param version `null`: the last one */
  artifact: { in: { id: string; version: number | null }; out: ArtifactView };
  approvals: { in: null; out: ApprovalView[] };
  decide: { in: Decision & Named; out: { id: string; decision: string; run_id: string } };
  tool_result: {
    in: { tool_call_id: string; content: Json; is_error: boolean } & Named;
    out: { tool_call_id: string; run_id: string };
  };
}

export type SessionOperation = keyof SessionOperations;

export interface SessionQuestion<K extends SessionOperation = SessionOperation> {
  caller: SessionCaller;
  type: K;
  input: SessionOperations[K]["in"];
}

/** @typeParam T of the result, `null` for none */
export type SessionAnswer<T = unknown> =
  | { ok: true; value: T }
  | { ok: false; error: ErrorData; operator: Record<string, unknown> };

/**
 * Selects events: those of one run up to its end, or those of the session without end. `after: null`: only future ones.
 */
export interface SessionEventsCall {
  caller: SessionCaller;
  run_id: string | null;
  after: number | null;
  /** Of one run; absent: `end`. */
  until?: StreamUntil;
}

/**
 * The end of a stream of one run's events: when the run has ended; when it has ended or rests; for a daemon when it rests, for
 * others when they have ended; or when it has ended, with the whole answer of the route that began it in place of the result.
 */
export type StreamUntil = "end" | "rest" | "usual" | "answer";

/** A stream, or why there is none. */
export type Streamed = { ok: true; body: ReadableStream<Uint8Array> } | { ok: false; error: ErrorData };

/** The beginning of a fork. */
export interface ForkCall {
  caller: SessionCaller;
  parent_id: string;
  branched_at: number;
  /** Names the request for the fork. */
  request: string;
  metadata: JsonObject;
  summary: string | null;
  skills: string[];
  /** Skills whose instructions the parent has; absent: none. */
  known?: Record<string, { digest: string; arguments: string }>;
}

/**
 * A part of a fork's beginning. The first part makes the fork; with `end` everybody can see it, provided it then has
 * this many files and versions of artifacts.
 */
export interface ForkStep {
  call: ForkCall;
  first: boolean;
  end: { files: number; artifacts: number } | null;
}

/**
 * The result of a step. `done`: the fork is complete; `taken`: another session has the id; `lost`: the earlier parts
 * are gone.
 */
export type Adopted = "more" | "done" | "taken" | "lost";

/** Long texts travel as streams of UTF-8: a message between objects has a limit. */
export type LongText = string | ReadableStream<Uint8Array>;

export interface SessionRpc extends Rpc.DurableObjectBranded, UnlistedRpc {
  /** Takes a `SessionQuestion`, returns a `SessionAnswer`, as JSON. */
  ask(question: LongText): Promise<LongText>;
  /** Takes a `SessionQuestion<"start">`; returns the answer and the run's events after a number. */
  start(
    question: LongText,
    after: number | null,
  ): Promise<{ answer: LongText; body: ReadableStream<Uint8Array> | null }>;
  /** Server-sent events. */
  events(call: SessionEventsCall): Promise<Streamed>;
  /** One of the session's documents. */
  document(caller: SessionCaller, what: SessionDocument): Promise<Streamed>;
  /** Takes a part of its parent's content, as JSON. */
  adopt(step: ForkStep, part: LongText): Promise<Adopted>;
  /** Drives a run on if it is under way, or writes its row in the list again. `false`: there is no such run. */
  relist(run: string): Promise<boolean>;
}
