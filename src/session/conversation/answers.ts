/** What runs and the routes of sessions answer. Types only. */

import type { TraceEntry } from "../../engine/agent/reader.ts";
import type { ApprovalRequest, SessionState } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { TaskLedger } from "../../engine/agent/task-ledger.ts";
import type { Artifact, ArtifactHead } from "../../engine/artifact.ts";
import type { Warning } from "../../engine/messages.ts";
import type { RunStatus } from "../../engine/run-status.ts";
import type { PublicMessage } from "../../llm/messages.ts";
import type { CallExtras } from "../../llm/result.ts";
import type { Transcript } from "../../llm/transcript.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

/** A session as its routes return it. Times are RFC 3339. */
export interface SessionView {
  id: string;
  state: SessionState;
  created_at: string;
  updated_at: string;
  /** Number of messages that the next model call would send. */
  length: number;
  /** Summary of the messages that compaction removed. */
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

/** The result of a run, as its routes return it. */
export interface RunResult extends CallExtras {
  run_id: string;
  session_id: string | null;
  status: RunStatus;
  text: string;
  /** The visible text, without the parts that only the program reads. */
  visible_text: string;
  iterations: number;
  duration_ms: number;
  tools_used: readonly string[];
  successful_tools: readonly string[];
  rejected_tools: readonly string[];
  /** Messages that arrived too late for the run. */
  deferred_user_messages: readonly PublicMessage[];
  tool_calling_mode: AgentSpec["tool_format"];
  input_tokens: number;
  output_tokens: number;
  /** Cost including delegated runs; `own_cost_usd` excludes them. */
  cost_usd: number;
  own_cost_usd: number;
  daemon_state: RunStatus | null;
  daemon_snapshot_path: string | null;
  task_ledger: TaskLedger | null;
  /** How often the run tried to end while items were open. */
  ledger_done_rejections: number;
  /** What can wake the daemon. Absent: the run is no daemon. */
  wake_sources?: string[];
  /** Tools that the policy requested and its ceiling excluded. Absent: none. */
  policy_dropped?: string[];
  /** The parsed JSON answer. Absent: the request asked for no JSON, or the answer has none. */
  data?: Json;
  /** Summary of the messages that compaction removed. */
  summary?: string;
  /** Latest version of each artifact: only its head in a session, otherwise with its content. */
  artifacts?: readonly (ArtifactHead | Artifact)[];
  /** The last entries of the trace. */
  trace: readonly TraceEntry[];
  warnings?: readonly Warning[];
  transcript: Transcript;
  /** The transcript holds only the last records of a very long run. */
  transcript_truncated?: true;
}

export interface RunView {
  run_id: string;
  session_id: string;
  status: string;
  created_at: string;
  settled_at: string | null;
  /** The result's document. */
  result?: JsonObject;
  /** The error as a problem document. */
  error?: JsonObject;
  /** The calls that the client must answer. */
  awaiting?: { tool_call_id: string; name: string; arguments: JsonObject }[];
  /** The calls that wait for a person's decision. */
  approvals?: ApprovalView[];
}

export interface ApprovalView extends Omit<ApprovalRequest, "requested_at" | "expires_at"> {
  run_id: string;
  /** What the model said together with the call; empty: nothing. */
  said: string;
  requested_at: string;
  expires_at: string;
}

/** The latest version of an artifact, without its content. */
export interface ArtifactEntry extends Pick<Artifact, "id" | "type" | "title" | "language" | "version"> {
  /** Number of versions. */
  versions: number;
  /** The run and the model's call that made this version. */
  run_id: string;
  call_id: string;
  /** Times of the first version and of this one. */
  created_at: string;
  updated_at: string;
}

/** One version. */
export interface ArtifactView extends Artifact {
  run_id: string;
  call_id: string;
  created_at: string;
  /** All versions, oldest first. */
  versions: { version: number; created_at: string }[];
}
