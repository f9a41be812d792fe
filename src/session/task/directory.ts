/** The list of tasks: rows in D1 that the tasks themselves write. The task's own object is authoritative. */

import * as z from "zod/mini";
import TASKS from "../../../migrations/0012_tasks.sql?raw";
import { type OwnTables, ownTables } from "../../database.ts";
import type { Owner } from "../../env.ts";
import type { TaskHandle } from "../../run/task/handle.ts";
import { type NewestFirst, newestFirst, type Wanted } from "../newest-first.ts";

/** A task's row in the directory. */
interface TaskNote extends Pick<TaskHandle, "id" | "name" | "mode" | "status" | "parent_task_id"> {
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

const own = (owner: Owner): OwnTables => ownTables(owner, TASKS);

/** The statement that writes a task's row. */
export function taskRow(owner: Owner, note: TaskNote): Promise<D1PreparedStatement> {
  const { id, name, mode, status, parent_task_id, created_at } = note;
  return own(owner).prepared(
    `INSERT INTO tasks (tenant, id, name, mode, status, parent_task_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
     ON CONFLICT (tenant, id) DO UPDATE SET name = excluded.name, status = excluded.status`,
    [id, name, mode, status, parent_task_id, new Date(created_at).toISOString()],
  );
}

export async function forgetTask(owner: Owner, id: string): Promise<void> {
  await own(owner).run("DELETE FROM tasks WHERE tenant = ?1 AND id = ?2", [id]);
}

/** A tenant's tasks, the newest first, one page at a time. @throws BadRequest for a cursor that no page returned */
export function listTasks(owner: Owner, page: Wanted): Promise<NewestFirst<z.infer<typeof listed>>> {
  const query = "SELECT id, name, mode, status, parent_task_id, created_at FROM tasks WHERE tenant = ?1";
  return newestFirst(own(owner), listed, [query, []], page);
}
