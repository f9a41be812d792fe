/** Errors of tasks and sub-agents. */
import { define } from "../errors.ts";

// 409
export const TaskRunning = define<{ task: string }>("task_running", 409, (d) => ({
  detail: `Task "${d.task}" is running. Wait for it with POST /tasks/wait, or close it.`,
}));
export const TaskNotAwaiting = define<{ task: string; status: string }>("task_not_awaiting", 409, (d) => ({
  title: "Task awaits no trigger",
  detail: `Task "${d.task}" is ${d.status}; only a task with carry.retriggerable that awaits its next cycle takes a trigger.`,
  members: { status: d.status },
}));
export const TaskClosed = define<{ task: string }>("task_closed", 409, (d) => ({
  detail: `Task "${d.task}" is closed. POST /tasks/resume lets it take input again.`,
}));

// 429
export const TooManyDelegated = define<{ session: string; limit: number }>(
  "too_many_delegated",
  429,
  (d) => ({
    title: "Too many delegated runs",
    detail: `Session "${d.session}" has ${d.limit} delegated runs under way, which is the most. Wait for one, or close one.`,
    members: { limit: d.limit },
    retry_after_s: 1,
  }),
);
