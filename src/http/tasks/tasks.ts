/** Routes of tasks: list, show, wait for, run again, close. */
import { CallNotFound } from "../../errors/llm.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import { newRunId } from "../../run/agent/daemon-spec.ts";
import { inputBody, resumeBody, triggerBody, waitBody } from "../../run/task/bodies.ts";
import { thrownBy } from "../../session/conversation/done.ts";
import * as directory from "../../session/task/directory.ts";
import { readJson, readJsonIfAny } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow, wantedPage } from "../page.ts";
import { changes, noBody, requestName, sessionOf, shownNow, shows } from "../sessions/object.ts";
import { checkAdmitted } from "../while-admitted.ts";

/** `GET /tasks`: the tenant's, the newest first. */
export async function listTasks(context: RequestContext): Promise<Response> {
  return jsonNow(await directory.listTasks(context, wantedPage(context)));
}

export const getTask = shows("task", () => null);

/** `POST /tasks/wait`: a long poll. If a task failed, the answer is the error of the first one, once. */
export async function waitForTasks(context: RequestContext): Promise<Response> {
  const { ids, timeout_ms = null } = await readJson(context.request, waitBody);
  const list = typeof ids === "string" ? [ids] : ids;
  const wait = { timeout_ms, until: "end" } as const;
  const all = await Promise.all(list.map((id) => sessionOf(context, id).ask("task_wait", wait)));
  await checkAdmitted(context);
  const failed = all.find(({ thrown }) => thrown !== null);
  if (failed?.thrown) throw thrownBy(failed.thrown);
  const tasks = all.map(({ task }) => task);
  return shownNow(context, typeof ids === "string" ? tasks[0] : tasks);
}

/** `POST /tasks/:id/input`: gives the same agent another task. */
export const inputTask = changes(
  "task_input",
  (request) => readJson(request, inputBody),
  ({ task }, request) => ({ run_id: newRunId(), task, request }),
);

/** `POST /tasks/:id/trigger`: the next cycle of a task that awaits one. */
export const triggerTask = changes(
  "task_trigger",
  (request) => readJsonIfAny(request, triggerBody),
  ({ payload = null }, request) => ({ run_id: newRunId(), payload, request }),
);

/** `POST /tasks/resume`: makes a closed or interrupted task accept input again, or run again immediately. */
export async function resumeTask(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, resumeBody);
  const { snapshot_path, run = false } = body;
  const id = body.id ?? taskAt(snapshot_path);
  const request = await requestName(context, body);
  const asked = { run_id: run ? newRunId() : null, request };
  return shownNow(context, await sessionOf(context, id).ask("task_resume", asked));
}

/** The task whose handle has this `snapshot_path`. */
function taskAt(path: string | undefined): string {
  if (path === undefined)
    throw memberInvalid("id", "is missing; id, or the snapshot_path of a handle, says which task", ".");
  const id = /^tasks\/([A-Za-z0-9][A-Za-z0-9._:-]{0,127})\.json$/.exec(path)?.[1];
  if (id === undefined) throw new CallNotFound({ what: "snapshot", id: path });
  return id;
}

/** `POST /tasks/:id/close`: ends the task's work, and what the task delegated. */
export const closeTask = changes("task_close", noBody, (_, request) => ({ request }));
