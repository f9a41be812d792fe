/** Tasks as their routes show them, and the settings with which they begin. */
import type { Share } from "../../engine/shares.ts";
import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import type { ContextPolicy } from "../../engine/workflow/select-artifacts.ts";
import type { StageTexts } from "../../engine/workflow/stage-prompt.ts";
import type { JsonObject } from "../../skill/manifest.ts";

export const TASK_MODES = ["workflow", "stage", "delegated_stage", "sub_agent"] as const;
export const TASK_STATUSES = [
  "running",
  "completed",
  "failed",
  "cancelled",
  "awaiting",
  "interrupted",
] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** What happens to a task's conversation and artifacts when it runs again. */
export interface RetriggerPolicy {
  artifact_mode: "inherit" | "none";
  transcript_mode: "inherit" | "fork" | "reset" | "compact";
  context_policy: ContextPolicy;
  persist_state: boolean;
  retriggerable: boolean;
  /** Whether a workflow that stopped early continues from there. Absent: it does. */
  resume_workflow?: boolean;
  /** A policy that applies from the next run on, besides the policy of the first run. */
  policy: JsonObject | null;
}

/** The settings with which a task begins. JSON-safe. */
export interface TaskSettings {
  name: string;
  task: string;
  mode: (typeof TASK_MODES)[number];
  /** The members of the request that the handle shows. */
  request: JsonObject;
  /** `null`: the prompt is the task alone. */
  stage: StageTexts | null;
  carry: RetriggerPolicy;
  execution: JsonObject | null;
  artifacts: WorkflowArtifact[];
  /** `stage_id`: the stage of a workflow run that hands it over. */
  parent: { session_id: string; run_id: string | null; task_id: string | null; stage_id?: string } | null;
  /** If the task uses more tokens than this, its envelope says that the budget was exceeded. */
  token_budget: number | null;
  /** The budgets that the request gives the task, and that it holds below a run. Absent: those of its run. */
  budgets?: Share;
  /** Tools of a workflow's policy that the session above does not allow. Absent: none. */
  policy_dropped?: string[];
}

/** A task as its routes show it. Times are RFC 3339. */
export interface TaskHandle
  extends Pick<TaskSettings, "name" | "task" | "mode" | "request" | "execution" | "policy_dropped"> {
  _type: "task_handle";
  id: string;
  status: TaskStatus;
  created_at: string;
  started_at: string;
  finished_at: string | null;
  awaiting_started_at: string | null;
  history: string[];
  provenance: JsonObject;
  result: JsonObject | null;
  /** The failure as a problem document. */
  error: JsonObject | null;
  artifact_count: number;
  has_transcript: boolean;
  parent_task_id: string | null;
  parent_stage_id: string | null;
  child_run_id: string | null;
  child_run_path: string | null;
  snapshot_path: string | null;
  audit: JsonObject[];
}
