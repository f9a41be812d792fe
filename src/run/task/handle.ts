/** Tasks as their routes show them, and what they are begun with. Types only. */
import type { JsonObject } from "../../skill/manifest.ts";

type TaskMode = "stage" | "delegated_stage" | "sub_agent";
export type TaskStatus = "running" | "completed" | "failed" | "cancelled" | "awaiting" | "interrupted";

/** An artifact that a task is given or makes. */
export interface TaskArtifact {
  id: string;
  kind: string;
  title: string;
  text: string;
  source: string | null;
  /** RFC 3339. */
  created_at: string;
  freshness: string | null;
  priority: number;
  lineage: string[];
}

/** What becomes of a task's conversation and artifacts when it is run again. */
export interface Carry {
  artifact_mode: "inherit" | "none";
  transcript_mode: "inherit" | "fork" | "reset" | "compact";
  context_policy: ContextPolicy;
  persist_state: boolean;
  retriggerable: boolean;
  /** Holds from the next run on, beside the one of the first. */
  policy: JsonObject | null;
}

/** Which artifacts a stage's prompt shows. */
export interface ContextPolicy {
  max_artifacts?: number | undefined;
  max_tokens?: number | undefined;
  reserve_tokens?: number | undefined;
  include_kinds?: string[] | undefined;
  exclude_kinds?: string[] | undefined;
  prioritize_kinds?: string[] | undefined;
  pinned_ids?: string[] | undefined;
  prefer_recent?: boolean | undefined;
  prefer_fresh?: boolean | undefined;
}

/** The words of a stage around its task. */
export interface StageTexts {
  label: string | null;
  /** `{{task}}` stands for the task; `null`: the task alone. */
  prompt: string | null;
  /** What is checked of the answer. */
  contract: string[];
  output_kind: string;
}

/** What a task is begun with. JSON-safe. */
export interface TaskSettings {
  name: string;
  task: string;
  mode: TaskMode;
  /** As it was asked for, for its handle. */
  request: JsonObject;
  /** `null`: the task is what the model is told. */
  stage: StageTexts | null;
  carry: Carry;
  execution: JsonObject | null;
  artifacts: TaskArtifact[];
  parent: { session_id: string; run_id: string | null; task_id: string | null } | null;
  /** Tokens after which an envelope says that its budget was exceeded. */
  token_budget: number | null;
}

/** A task as its routes show it. Times are RFC 3339. */
export interface TaskHandle {
  _type: "task_handle";
  id: string;
  name: string;
  task: string;
  mode: TaskMode;
  status: TaskStatus;
  created_at: string;
  started_at: string;
  finished_at: string | null;
  awaiting_started_at: string | null;
  history: string[];
  request: JsonObject;
  provenance: JsonObject;
  result: JsonObject | null;
  /** A problem document. */
  error: JsonObject | null;
  artifact_count: number;
  has_transcript: boolean;
  parent_task_id: string | null;
  parent_stage_id: string | null;
  child_run_id: string | null;
  child_run_path: string | null;
  execution: JsonObject | null;
  snapshot_path: string | null;
  policy_dropped?: string[];
  audit: JsonObject[];
}
