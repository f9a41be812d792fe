/** The statuses of workflow runs: `waiting` if only time or somebody outside can let the run continue. */
export const WORKFLOW_STATUSES = [
  "running",
  "waiting",
  "paused",
  "completed",
  "failed",
  "cancelled",
] as const;
export type WorkflowStatus = (typeof WORKFLOW_STATUSES)[number];
