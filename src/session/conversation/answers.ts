/** What the routes of sessions answer. Types only. */
import type { SessionState } from "../../engine/agent/records.ts";
import type { Artifact } from "../../engine/artifact.ts";
import type { JsonObject } from "../../skill/manifest.ts";

/** A session in the form of its routes. Times are RFC 3339. */
export interface SessionView {
  id: string;
  state: SessionState;
  created_at: string;
  updated_at: string;
  /** Messages that the next model call would send. */
  length: number;
  /** Summary of what compaction took out of them. */
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
  /** The calls that the client must answer. */
  awaiting?: { tool_call_id: string; name: string; arguments: JsonObject }[];
  /** The calls that a person must decide. */
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

/** An artifact in its last version, without content. */
export interface ArtifactEntry extends Pick<Artifact, "id" | "type" | "title" | "language" | "version"> {
  /** Number of versions. */
  versions: number;
  /** The run and the model's call that made this version. */
  run_id: string;
  call_id: string;
  /** Times of the first version, and of this one. */
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
