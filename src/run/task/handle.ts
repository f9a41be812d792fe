/** Tasks as their routes show them, and the settings with which they begin. */
import * as z from "zod/mini";
import {
  about,
  count,
  document,
  flag,
  json,
  maybe,
  named,
  object,
  type Shaped,
  text,
  texts,
  time,
} from "../../answer-shape.ts";
import type { Share } from "../../engine/shares.ts";
import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import type { ContextPolicy } from "../../engine/workflow/select-artifacts.ts";
import type { StageTexts } from "../../engine/workflow/stage-prompt.ts";
import type { JsonObject } from "../../skill/manifest.ts";

const TASK_MODES = ["workflow", "stage", "delegated_stage", "sub_agent"] as const;
const TASK_STATUSES = ["running", "completed", "failed", "cancelled", "awaiting", "interrupted"] as const;
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

/** The members of the request that the handle shows; a sub-agent's option `request` may replace any of them. */
export type TaskRequest = Shaped<typeof taskRequest>;
const taskRequest = () =>
  z.catchall(
    z.object({
      task: text(),
      system: z.nullable(text()),
      payload: json(),
      research_questions: json(),
      action_items: json(),
      workflow_stages: json(),
      verification_steps: json(),
    }),
    json(),
  );

/** The settings with which a task begins. JSON-safe. */
export interface TaskSettings {
  name: string;
  task: string;
  mode: (typeof TASK_MODES)[number];
  request: TaskRequest;
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
  /** Requested tools that the run lacks: there are none of these names, or the policy does not allow them. Absent: none. */
  policy_dropped?: string[];
}

/** A task as its routes show it. */
export type TaskHandle = Shaped<typeof taskShape>;
export const taskShape = () =>
  named(
    "Task",
    z.object({
      _type: z.literal("task_handle"),
      id: text(),
      name: text(),
      task: text(),
      mode: z.enum(TASK_MODES),
      status: z.enum(TASK_STATUSES),
      created_at: time(),
      started_at: time(),
      finished_at: z.nullable(time()),
      awaiting_started_at: z.nullable(time()),
      history: texts(),
      request: taskRequest(),
      provenance: object(),
      result: z.nullable(object()),
      error: z.nullable(document("Problem")),
      artifact_count: count(),
      has_transcript: flag(),
      parent_task_id: z.nullable(text()),
      parent_stage_id: z.nullable(text()),
      child_run_id: z.nullable(text()),
      child_run_path: z.nullable(text()),
      execution: z.nullable(object()),
      snapshot_path: z.nullable(text()),
      policy_dropped: maybe(
        about(
          texts(),
          "Requested tools that the run lacks: there are none of these names, or the policy does not allow them.",
        ),
      ),
      audit: z.array(z.object({ at: time(), action: text(), run_id: z.nullable(text()) })),
    }),
  );

/** The answer about a task that continues. */
export type AcceptedTask = Shaped<typeof acceptedTask>;
export const acceptedTask = () =>
  z.object({ id: text(), run_id: z.nullable(text()), session_id: text(), status: z.enum(TASK_STATUSES) });
