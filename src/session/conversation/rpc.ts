/** What the Worker and a SessionObject tell each other. Types only. */
import type { Delivery, Feedback, SessionState } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Artifact } from "../../engine/artifact.ts";
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
import type { EventPage } from "./event-page.ts";
import type { RunTrace } from "./trace.ts";

/** Which session, and the request that asks. */
export interface SessionCaller {
  tenant: string;
  id: string;
  request_id: string;
  /** See `RunContext`. */
  mock_scope: string;
}

/** A session as its routes show it. Times are RFC 3339. */
export interface SessionView {
  id: string;
  state: SessionState;
  created_at: string;
  updated_at: string;
  /** Messages that the next model call would be sent. */
  length: number;
  /** Of what compaction took out of them. */
  summary: string | null;
  parent_id: string | null;
  child_ids: string[];
  branched_at_event_index: number | null;
  /** Number of the last event; 0: there is none. */
  last_event: number;
  metadata: JsonObject;
  /** The run under way. */
  run: { run_id: string; status: string } | null;
}

export interface RunView {
  run_id: string;
  session_id: string;
  status: string;
  created_at: string;
  settled_at: string | null;
  /** The result's document. */
  result?: JsonObject;
  /** A problem document. */
  error?: JsonObject;
  /** The calls that the client is to answer. */
  awaiting?: { tool_call_id: string; name: string; arguments: JsonObject }[];
  /** What a person is to decide. */
  approvals?: ApprovalView[];
}

export interface ApprovalView {
  id: string;
  run_id: string;
  tool_call_id: string;
  tool: string;
  arguments: JsonObject;
  arguments_digest: string;
  risk: string;
  requested_at: string;
  expires_at: string;
}

/** An artifact as its last version is, without content. */
export interface ArtifactEntry extends Pick<Artifact, "id" | "type" | "title" | "language" | "version"> {
  /** How many versions there are. */
  versions: number;
  /** The run and the model's call that made this version. */
  run_id: string;
  call_id: string;
  /** Of the first version, and of this one. */
  created_at: string;
  updated_at: string;
}

/** One version. */
export interface ArtifactView extends Artifact {
  run_id: string;
  call_id: string;
  created_at: string;
  /** All there are, oldest first. */
  versions: { version: number; created_at: string }[];
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
 * What tells all of a session: its transcript as JSON (`raw`) or as lines of text (`visible`, `full`); what its models and
 * tools answered, in order, for runs without them.
 */
export type SessionDocument = "raw" | "visible" | "full" | "cassette";

/** Until when an answer waits: never, for the run's end, or until nothing happens without somebody's doing. */
export type Wait = "none" | "terminal" | "idle";

export interface CompactCall {
  strategy: "observation_mask" | "truncate" | "llm";
  keep_first: number;
  keep_last: number;
  /** Stands in for a summary that would be made. */
  summary: string | null;
  /** Whose model writes the summary, for `llm`. */
  spec: AgentSpec | null;
}

type Named = { request: NamedRequest };

/** The methods of a session's workspace, each asked with its arguments. */
type WorkspaceOperations = {
  [K in keyof WorkspaceAccess]: {
    in: Parameters<WorkspaceAccess[K]>;
    out: Awaited<ReturnType<WorkspaceAccess[K]>>;
  };
};

/** By name: what is asked, and what is answered. JSON-safe. */
export interface SessionOperations
  extends WorkspaceOperations,
    DaemonOperations,
    TaskOperations,
    WorkflowOperations {
  /** Makes the session unless it is there. */
  open: {
    /** `imported`: what it begins with; a session that is there must have been made by the same request then. */
    in: {
      metadata: JsonObject;
      request_hash: string | null;
      imported: { messages: Message[]; summary: string | null } | null;
      /** The session that it belongs to. Absent: to none. */
      parent_id?: string | null;
    };
    out: { created: boolean; session: SessionView };
  };
  exists: { in: null; out: boolean };
  view: { in: null; out: SessionView };
  messages: { in: { offset: number; limit: number }; out: { data: PublicMessage[]; next: number | null } };
  /** The conversation so far, for a call outside of a run that is to be kept in it. */
  history: { in: null; out: { messages: Message[]; summary: string | null } };
  set_state: { in: { state: SessionState }; out: SessionView };
  /** Makes an archived, abandoned or closed session active again, and wakes an idle run. */
  resume: { in: null; out: SessionView & { woken: boolean } };
  reset: { in: Named; out: SessionView };
  trim: { in: { keep_last: number } & Named; out: SessionView };
  /** `source`: injected as such, or what a call outside of a run added. */
  add: { in: { messages: Message[]; source: "inject" | "client" } & Named; out: SessionView };
  compact: { in: CompactCall; out: SessionView & { compacted: JsonObject | null } };
  /** Answers the fork's id. @param keep_first as many messages as it begins with; `null`: all */
  fork: { in: { dst: string; keep_first: number | null } & Named; out: string };
  remove: { in: null; out: null };
  message: {
    in: { message: Message; delivery: Delivery } & Named;
    out: { session_id: string; run_id: string | null; delivery: Delivery };
  };
  feedback: { in: { feedback: Feedback } & Named; out: { session_id: string; run_id: string | null } };
  /** The run that the same request began before; `null`: none. */
  started: { in: Named; out: string | null };
  /**
   * Begins a run, and waits for it as `answer` does, unless `wait` is `none`.
   * @param request `null`: it has no key
   * @param followed the caller reads its events, so that it need not be in the list of runs at once
   */
  start: {
    in: {
      run_id: string;
      spec: AgentSpec;
      request: NamedRequest | null;
      wait: Wait | null;
      followed?: boolean;
    };
    out: RunView;
  };
  runs: { in: { limit: number; before: number }; out: { data: RunView[]; next: number | null } };
  run: { in: { run_id: string }; out: RunView };
  /** What the run did so far. @param after how many steps come before the page */
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

/** @typeParam T of the answer, `null` for none */
export type SessionAnswer<T = unknown> =
  | { ok: true; value: T }
  | { ok: false; error: ErrorData; operator: Record<string, unknown> };

/** Which events: those of one run up to its end, or those of the session for ever. `after: null`: from now on. */
export interface SessionEventsCall {
  caller: SessionCaller;
  run_id: string | null;
  after: number | null;
}

/** What is read as a stream, or why it is not: `ErrorData` as JSON. */
export type Streamed = { ok: true; body: ReadableStream<Uint8Array> } | { ok: false; error: string };

/** What a fork begins with. */
export interface ForkCall {
  caller: SessionCaller;
  parent_id: string;
  branched_at: number;
  /** Names the request that wants it. */
  request: string;
  metadata: JsonObject;
  summary: string | null;
  skills: string[];
  /** Skills whose instructions the parent has; absent: none. */
  known?: Record<string, { digest: string; arguments: string }>;
}

/**
 * A part of what a fork begins with. With the first one it is made, with `end` it is there for everybody, if it has so many
 * files and versions of artifacts then.
 */
export interface ForkStep {
  call: ForkCall;
  first: boolean;
  end: { files: number; artifacts: number } | null;
}

/** What became of a step: `done`: the fork is there; `taken`: another session is; `lost`: what came before is gone. */
export type Adopted = "more" | "done" | "taken" | "lost";

/** Long texts travel as streams of UTF-8: a message between objects has a limit. */
export type LongText = string | ReadableStream<Uint8Array>;

export interface SessionRpc extends Rpc.DurableObjectBranded, UnlistedRpc {
  /** Asks a `SessionQuestion`, answers a `SessionAnswer`, as JSON. */
  ask(question: LongText): Promise<LongText>;
  /** Asks a `SessionQuestion<"start">`; the run's events after a number come along with the answer. */
  start(
    question: LongText,
    after: number | null,
  ): Promise<{ answer: LongText; body: ReadableStream<Uint8Array> | null }>;
  /** Server-sent events. */
  events(call: SessionEventsCall): Promise<Streamed>;
  /** One of the session's documents. */
  document(caller: SessionCaller, what: SessionDocument): Promise<Streamed>;
  /** Takes a part of what its parent holds: a `ForkStep` and the part, as JSON. */
  adopt(step: string, part: LongText): Promise<Adopted>;
}
