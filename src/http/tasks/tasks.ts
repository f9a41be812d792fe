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
import type { Handler } from "../routes.ts";
import { plainRequestName, requestName, sessionOf, shown } from "../sessions/object.ts";
import { handled } from "./spawn.ts";

/** `GET /tasks`: the tenant's, the newest first. */
export async function listTasks(context: RequestContext): Promise<Response> {
  return jsonNow(await directory.listTasks(context.env, wantedPage(context)));
}

export const getTask: Handler = async (context, { id = "" }) =>
  handled(context, await sessionOf(context, id, "task").ask("task", null));

/** `POST /tasks/wait`: a long poll. If a task failed, the answer is the error of the first one, once. */
export async function waitForTasks(context: RequestContext): Promise<Response> {
  const { ids, timeout_ms = null } = await readJson(context.request, waitBody);
  const list = typeof ids === "string" ? [ids] : ids;
  const wait = { timeout_ms, until: "end" } as const;
  const all = await Promise.all(list.map((id) => sessionOf(context, id, "task").ask("task_wait", wait)));
  const failed = all.find(({ thrown }) => thrown !== null);
  if (failed?.thrown) throw thrownBy(failed.thrown);
  const tasks = all.map(({ task }) => task);
  return jsonNow(shown(context, typeof ids === "string" ? tasks[0] : tasks));
}

/** `POST /tasks/:id/input`: gives the same agent another task. */
export const inputTask: Handler = async (context, { id = "" }) => {
  const body = await readJson(context.request, inputBody);
  const request = await requestName(context, body);
  const asked = { run_id: newRunId(), task: body.task, request };
  return handled(context, await sessionOf(context, id, "task").ask("task_input", asked));
};

/** `POST /tasks/:id/trigger`: the next cycle of a task that awaits one. */
export const triggerTask: Handler = async (context, { id = "" }) => {
  const body = await readJsonIfAny(context.request, triggerBody);
  const request = await requestName(context, body);
  const asked = { run_id: newRunId(), payload: body.payload ?? null, request };
  return handled(context, await sessionOf(context, id, "task").ask("task_trigger", asked));
};

/** `POST /tasks/resume`: makes a closed or interrupted task accept input again, or run again immediately. */
export async function resumeTask(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, resumeBody);
  const { snapshot_path, run = false } = body;
  const id = body.id ?? taskAt(snapshot_path);
  const request = await requestName(context, body);
  const asked = { run_id: run ? newRunId() : null, request };
  return handled(context, await sessionOf(context, id, "task").ask("task_resume", asked));
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
export const closeTask: Handler = async (context, { id = "" }) => {
  const request = await plainRequestName(context);
  return handled(context, await sessionOf(context, id, "task").ask("task_close", { request }));
};
