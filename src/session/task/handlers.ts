/** The operations of a session that is a task, or that delegates tasks, by name (`rpc.ts`). */
import { TaskClosed, TaskNotAwaiting, TaskRunning } from "../../errors/task.ts";
import { type Conversation, onKind, onSession } from "../conversation/conversation.ts";
import type { Handlers } from "../conversation/rpc.ts";
import { MAX_ROW_WAIT_MS, waitAtMost } from "../wait-at-most.ts";
import type { Delegates } from "./delegates.ts";
import { Lineage } from "./lineage.ts";
import type { TaskOperations, TaskWait } from "./rpc.ts";
import type { Task } from "./task.ts";
import { TaskRuns } from "./task-runs.ts";

/** A task that ends within this time, in ms, gets only one row in the list, unless the caller waits for it there. */
const BEGUN_MS = 250;

export function taskHandlers(
  conversation: Conversation,
  task: Task,
  delegates: Delegates,
): Handlers<TaskOperations> {
  const { log, background } = conversation;
  const runs = new TaskRuns(conversation, task);

  const within = onSession(conversation);
  const onTask = onKind(conversation, "task", () => task.row());

  const lineage = new Lineage();

  /** The id of the session's task; `null`: it is not a task. */
  const ownTask = (id: string): string | null => (task.store.row() === null ? null : id);

  /** Waits until the task has ended, or for this time, and returns it. */
  const waited = async (asked: TaskWait) => {
    await task.wait(asked);
    const row = task.row();
    const handle = task.handle();
    const failed = handle.status === "failed" && !row.thrown;
    if (failed) task.store.note({ thrown: true });
    if (handle.status !== "running") await task.relay.flushed();
    return { task: handle, thrown: failed ? handle.error : null, spent: task.spent() };
  };

  return {
    async spawn_task(asked, caller) {
      const created = await lineage.below(asked.settings.parent?.session_id ?? null, () =>
        runs.spawn(asked, caller),
      );
      task.workflow.look();
      if (asked.listed) {
        const indexed = created ? conversation.listing.write(() => task.entry()) : task.index();
        background(indexed);
        await waitAtMost(indexed, MAX_ROW_WAIT_MS);
      } else {
        if (created) background(conversation.listing.write());
        setTimeout(() => {
          if (task.isRunning()) background(task.index());
        }, BEGUN_MS);
      }
      return asked.wait
        ? waited({ timeout_ms: null, until: "cycle" })
        : { task: task.handle(), thrown: null, spent: task.spent() };
    },
    task: onTask(() => task.handle()),
    task_wait: onTask(waited),
    task_input: onTask(async ({ run_id, task: text, request }, row, at) => {
      if (!conversation.knows(request)) {
        const { id } = at.session;
        if (row.closed_at !== null) throw new TaskClosed({ task: id });
        if (task.status(row) === "running") throw new TaskRunning({ task: id });
      }
      await runs.startNext({ action: "input", run_id, task: text, request }, row, at);
      return task.handle();
    }),
    task_trigger: onTask(async ({ run_id, payload, request }, row, at) => {
      const { id } = at.session;
      if (!conversation.knows(request)) {
        const status = task.status(row);
        if (row.closed_at !== null) throw new TaskClosed({ task: id });
        if (status !== "awaiting") throw new TaskNotAwaiting({ task: id, status });
      }
      await runs.startNext({ action: "trigger", run_id, task: row.settings.task, payload, request }, row, at);
      return task.handle();
    }),
    task_resume: onTask(async ({ run_id, request }, row, at) => {
      const { id } = at.session;
      if (run_id !== null) {
        if (!conversation.knows(request) && task.status(row) === "running")
          throw new TaskRunning({ task: id });
        conversation.setState("active");
        const session = await conversation.ready(at.caller);
        await runs.startNext({ action: "resume", run_id, task: row.settings.task, request }, row, {
          ...at,
          session,
        });
        return task.handle();
      }
      conversation.setState("active");
      conversation.once(request, () => {
        if (row.closed_at === null) return;
        task.store.put({ ...row, closed_at: null });
        task.store.addCycle({ at: log.now(), action: "resume", run: null, task: "" });
      });
      await waitAtMost(task.index(), MAX_ROW_WAIT_MS);
      return task.handle();
    }),
    task_close: onTask(async ({ request }) => {
      conversation.once(request, () => task.close());
      await waitAtMost(task.index(), MAX_ROW_WAIT_MS);
      return task.handle();
    }),
    said: within(() => {
      const { visible, summary } = log.state();
      return { visible, summary };
    }),
    ceilings: within((_, { id }) => ({ ...delegates.ceilings(), task_id: ownTask(id) })),
    above: within(() => ({ session_ids: lineage.above(task.parent()?.session_id ?? null) })),
    delegate: within((input, row) => {
      conversation.checkActive();
      return { task_id: ownTask(row.id), granted: delegates.add(input) };
    }),
    undelegate: within((input) => {
      delegates.remove(input);
      return null;
    }),
    begun: within(async ({ task_runs }) => ({ task_runs: await runs.begun(task_runs) })),
    relay: within((input) => delegates.relay(input)),
  };
}
