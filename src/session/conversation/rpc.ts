/** The messages between the Worker and a SessionObject. Types only. */
import type { Delivery, Feedback, SessionState } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Message } from "../../engine/messages.ts";
import type { RecordedCalls } from "../../engine/workflow/records.ts";
import type { ErrorData } from "../../errors.ts";
import type { PublicMessage } from "../../llm/messages.ts";
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { DaemonOperations } from "../daemon/rpc.ts";
import type { Named, NamedRequest } from "../named-request.ts";
import type { TaskOperations } from "../task/rpc.ts";
import type { UnlistedRpc } from "../unlisted/rpc.ts";
import type { WorkflowOperations } from "../workflow/rpc.ts";
import type {
  AnsweredCall,
  ApprovalView,
  ArtifactEntry,
  ArtifactView,
  CompactedSession,
  Decided,
  Delivered,
  ResumedSession,
  RunView,
  SessionView,
} from "./answers.ts";
import type { EventPage } from "./event-page.ts";
import type { RunTrace } from "./trace.ts";

/** Identifies a session, and the request that asks it. */
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
 * A document about the whole session: its transcript as JSON (`raw`) or as text (`visible`, `full`), or the recorded
 * answers of its models and tools, which replay its runs (`cassette`).
 */
export type SessionDocument = "raw" | "visible" | "full" | "cassette";

/** How long an answer waits: not at all, until the run has ended, or until it has ended or needs somebody to act. */
export type Wait = "none" | "terminal" | "idle";

export interface CompactCall {
  strategy: "observation_mask" | "truncate" | "llm";
  keep_first: number;
  keep_last: number;
  /** Used in place of a generated summary. */
  summary: string | null;
  /** Options of the model that writes the summary, for `llm`; `null`: no model is asked. */
  options: JsonObject | null;
}

/** What a request for a run contains. */
export interface RunRequest {
  prompt: string | null;
  system: string | null;
  options: JsonObject;
  /** Whether the caller may store skills. */
  publishes: boolean;
  /** It is a call of the skill's own route. Absent: it is not. */
  called?: true;
  /** What the skill's text has for `$ARGUMENTS`. Absent: the prompt. */
  arguments?: string;
}

/** The methods of a session's workspace with their arguments. */
type WorkspaceOperations = {
  [K in keyof WorkspaceAccess]: {
    in: Parameters<WorkspaceAccess[K]>;
    out: Awaited<ReturnType<WorkspaceAccess[K]>>;
  };
};

/** Input and output of each operation, by name. JSON-safe. */
export interface SessionOperations
  extends ConversationOperations,
    RunOperations,
    DaemonOperations,
    TaskOperations,
    WorkflowOperations {}

/** The session itself, its conversation and its files. */
export interface ConversationOperations extends WorkspaceOperations {
  /** Creates the session unless it exists. @throws IdempotencyKeyReused */
  open: {
    /** `imported`: the conversation to begin with. If the session exists, the same request must have created it. */
    in: {
      metadata: JsonObject;
      request_hash: string | null;
      imported: { messages: Message[]; summary: string | null } | null;
      /** The session above it. Absent: none. */
      parent_id?: string | null;
      /** Name and content of the request whose own unfinished fork the session may replace. Absent: none. */
      fork?: string;
    };
    out: { created: boolean; session: SessionView };
  };
  exists: { in: null; out: boolean };
  view: { in: null; out: SessionView };
  messages: { in: { offset: number; limit: number }; out: { data: PublicMessage[]; next: number | null } };
  /**
   * The conversation so far, for a call outside of a run that adds its messages afterwards. `refused_searches`: as
   * `AgentState.refusedSearches`.
   */
  history: {
    in: null;
    out: { messages: Message[]; summary: string | null; created_at: number; refused_searches: string[] };
  };
  set_state: { in: { state: SessionState } & Named; out: SessionView };
  /** Makes an archived, abandoned or closed session active again, and wakes an idle run. */
  resume: { in: Named; out: ResumedSession };
  reset: { in: Named; out: SessionView };
  trim: { in: { keep_last: number } & Named; out: SessionView };
  /** Adds injected messages. @throws RunInProgress, SessionNotActive */
  add: { in: { messages: Message[] } & Named; out: SessionView };
  /**
   * Adds the messages of a model call outside of a run: now, or if a run is under way, when it rests. `created_at`: when
   * the session was created whose history the call continued (Unix ms); absent means any session with this id.
   * `not_added`: why the session does not take the messages. Absent: it does.
   * @throws CallNotFound for a newer session with this id
   */
  keep: {
    in: {
      messages: Message[];
      created_at?: number;
      /** Models whose providers refused to search tools. Absent: none. */
      refused_searches?: string[];
    } & Named;
    out: { not_added?: string };
  };
  compact: { in: CompactCall & Named; out: CompactedSession };
  /** Returns the fork's id. @param keep_first number of messages to begin with; `null`: all */
  fork: { in: { dst: string; keep_first: number | null } & Named; out: string };
  /** Creates a session that has copies of the files, if there are any, and nothing else. @throws SessionExists */
  copyFiles: { in: { dst: string } & Named; out: null };
  remove: { in: null; out: null };
  /** Removes the session unless it was used at `since` (Unix ms) or later, or a run of it has not ended. */
  expire: { in: { since: number }; out: null };
}

/** The session's runs, and what reaches them from outside. */
export interface RunOperations {
  message: { in: { message: Message; delivery: Delivery } & Named; out: Delivered };
  feedback: { in: { feedback: Feedback } & Named; out: Delivered };
  /**
   * What the session keeps of this request if it has already executed it; `null` also if there is no session.
   * `files_before`: as in `start`; absent: unknown.
   * @throws IdempotencyKeyReused
   */
  known: { in: Named; out: { files_before?: number } | null };
  /**
   * Begins a run. Unless `wait` is `none`, waits for it as `answer` does. If the same request has already begun a run,
   * the answer is about that one.
   * @param work the request for a run, or an already prepared run
   * @param request `null`: the request has no key
   * @param opens metadata of the session, which is created unless it exists; the list shows it together with the run
   * @param files_before the version of the session's files before the run, for requests that repeat this one
   * @param followed how the caller's event stream ends; such a caller does not need the run in the list immediately
   */
  start: {
    in: {
      run_id: string;
      work: { asked: RunRequest } | { spec: AgentSpec };
      request: NamedRequest | null;
      wait: Wait | null;
      opens?: JsonObject;
      files_before?: number;
      followed?: StreamUntil;
    };
    out: RunView;
  };
  runs: { in: { limit: number; before: number }; out: { data: RunView[]; next: number | null } };
  run: { in: { run_id: string }; out: RunView };
  /** The steps of the run so far. @param after number of steps before the page */
  trace: { in: { run_id: string; after: number; limit: number }; out: RunTrace };
  /** The calls of its models and tools so far. */
  recorded: { in: { run_id: string }; out: RecordedCalls };
  /** The mocks of the run's own options that are left; `null`: it used none. */
  mocks_left: { in: { run_id: string }; out: Json };
  /** Events after a number. @param name only those of this name; `null`: all */
  list_events: { in: { after: number; limit: number; name: string | null }; out: EventPage };
  /** Waits for a run. @param wait `null`: the default for this kind of run */
  answer: { in: { run_id: string; wait: Wait | null }; out: RunView };
  cancel: { in: { run_id: string }; out: RunView };
  artifacts: { in: { offset: number; limit: number }; out: { data: ArtifactEntry[]; next: number | null } };
  /** @param version `null`: the last one */
  artifact: { in: { id: string; version: number | null }; out: ArtifactView };
  approvals: { in: null; out: ApprovalView[] };
  decide: { in: Decision & Named; out: Decided };
  tool_result: { in: { tool_call_id: string; content: Json; is_error: boolean } & Named; out: AnsweredCall };
}

export type SessionOperation = keyof SessionOperations;

/** Carries out operations, by name. */
export type Handlers<Operations extends { [K in keyof Operations]: { in: unknown; out: unknown } }> = {
  [K in keyof Operations]: (
    input: Operations[K]["in"],
    caller: SessionCaller,
  ) => Operations[K]["out"] | Promise<Operations[K]["out"]>;
};

export interface SessionQuestion<K extends SessionOperation = SessionOperation> {
  caller: SessionCaller;
  type: K;
  input: SessionOperations[K]["in"];
}

/** @typeParam T type of the result; `null`: no result */
export type SessionAnswer<T = unknown> =
  | { ok: true; value: T }
  | { ok: false; error: ErrorData; operator: Record<string, unknown> };

/**
 * Selects the events of one run up to its end, or those of the session without end. `after: null`: only future events.
 */
export interface SessionEventsCall {
  caller: SessionCaller;
  run_id: string | null;
  after: number | null;
  /** Where the stream of a run ends; absent: `end`. */
  until?: StreamUntil;
}

/**
 * Where the stream of a run ends. `end`: when the run has ended. `rest`: when it has ended or rests. `usual`: `rest` for
 * a daemon, otherwise `end`. `answer`: like `end`, but its last event has the whole answer of the route that began the
 * run.
 */
export type StreamUntil = "end" | "rest" | "usual" | "answer";

/** A stream, or why no stream exists. */
export type Streamed = { ok: true; body: ReadableStream<Uint8Array> } | { ok: false; error: ErrorData };

/** How a fork begins. */
export interface ForkCall {
  caller: SessionCaller;
  parent_id: string;
  branched_at: number;
  /** Identifies the request for the fork. */
  request: string;
  metadata: JsonObject;
  summary: string | null;
  skills: string[];
  /** Skills whose instructions the parent has loaded; absent: none. */
  known?: Record<string, { digest: string; arguments: string }>;
}

/**
 * One part of a fork's content. The first part creates the fork. The part with `end` makes it visible, if it then has
 * this many files and versions of artifacts.
 */
export interface ForkStep {
  call: ForkCall;
  first: boolean;
  end: { files: number; artifacts: number } | null;
}

/**
 * The result of a step. `done`: the fork is complete. `taken`: another session has the id. `lost`: the earlier parts are
 * gone.
 */
export type Adopted = "more" | "done" | "taken" | "lost";

/** Long texts travel as streams of UTF-8, because the platform limits the size of a message between objects. */
export type LongText = string | ReadableStream<Uint8Array>;

export interface SessionRpc extends Rpc.DurableObjectBranded, UnlistedRpc {
  /** Takes a `SessionQuestion`, returns a `SessionAnswer`, as JSON. */
  ask(question: LongText): Promise<LongText>;
  /** Takes a `SessionQuestion<"start">`; returns the answer and the run's events after number `after`. */
  start(
    question: LongText,
    after: number | null,
  ): Promise<{ answer: LongText; body: ReadableStream<Uint8Array> | null }>;
  /** Server-sent events. */
  events(call: SessionEventsCall): Promise<Streamed>;
  /** One of the session's documents. */
  document(caller: SessionCaller, what: SessionDocument): Promise<Streamed>;
  /** Takes one part of the parent's content, as JSON. */
  adopt(step: ForkStep, part: LongText): Promise<Adopted>;
  /**
   * Continues to drive a run that is under way, and writes its row in the list again if the row may be wrong. `false`:
   * there is no such run.
   * @param listed the state that the row says
   */
  relist(run: string, listed: string): Promise<boolean>;
}
