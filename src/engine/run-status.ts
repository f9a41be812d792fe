/** The states of an agent run. */
export const RUN_STATUSES = [
  "running",
  "idle",
  "awaiting_tool",
  "awaiting_approval",
  "done",
  "stuck",
  "budget_exhausted",
  "watchdog",
  "failed",
  "error",
  "cancelled",
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];
