/** The list of tasks: rows in D1 that the tasks themselves write. The task's own object is authoritative. */

import * as z from "zod/mini";
import TASKS from "../../../migrations/0012_tasks.sql?raw";
import { Tables } from "../../database.ts";
import type { Bindings } from "../../env.ts";
import type { TaskHandle } from "../../run/task/handle.ts";
import { type NewestFirst, newestFirst, type Wanted } from "../newest-first.ts";

/** A task's row in the directory. */
interface TaskNote extends Pick<TaskHandle, "id" | "name" | "mode" | "status" | "parent_task_id"> {
  tenant: string;
  /** Unix ms. */
  created_at: number;
}

const listed = z.lazy(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    mode: z.string(),
    status: z.string(),
    parent_task_id: z.nullable(z.string()),
    created_at: z.string(),
  }),
);

const tables = ({ DB }: Bindings): Tables => new Tables(DB, TASKS);

/** The statement that writes a task's row. */
export async function taskRow(env: Bindings, note: TaskNote): Promise<D1PreparedStatement> {
  const { tenant, id, name, mode, status, parent_task_id, created_at } = note;
  return tables(env).prepared(
    `INSERT INTO tasks (tenant, id, name, mode, status, parent_task_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, id) DO UPDATE SET name = excluded.name, status = excluded.status`,
    [tenant, id, name, mode, status, parent_task_id, new Date(created_at).toISOString()],
  );
}

export async function forgetTask(env: Bindings, tenant: string, id: string): Promise<void> {
  await tables(env).run("DELETE FROM tasks WHERE tenant = ? AND id = ?", [tenant, id]);
}

/** A tenant's tasks, the newest first, one page at a time. @throws BadRequest for a cursor that no page returned */
export async function listTasks(env: Bindings, page: Wanted): Promise<NewestFirst<z.infer<typeof listed>>> {
  const select = "SELECT id, name, mode, status, parent_task_id, created_at FROM tasks";
  return newestFirst(tables(env), listed, page, select);
}
