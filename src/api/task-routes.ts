/** The routes of tasks and sub-agents, and their request and response shapes. */
import * as z from "zod/mini";
import {
  inputBody,
  resumeBody,
  subAgentBody,
  subAgentFields,
  taskBody,
  triggerBody,
  waitBody,
} from "../run/task/bodies.ts";
import { envelopeShape } from "../run/task/envelope.ts";
import { acceptedTask, taskShape } from "../run/task/handle.ts";
import { objectOf } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { nothing } from "./bodies/sessions.ts";
import { answer, LOCATED, pageOf, query, ref } from "./openapi-parts.ts";
import {
  ANSWERED,
  body,
  EVENTS,
  json,
  lists,
  maybeBody,
  type Operations,
  reads,
  schema,
} from "./operation.ts";
import { changesOf, RUN_FAULTS } from "./session-routes.ts";
import { schemaOf, schemasOf } from "./shape-schema.ts";

const task = changesOf("The task as it is now", "Task");
/** With `Prefer: respond-async`, or `?wait=none` of a sub-agent. */
const CONTINUES = answer("It continues", json(schemaOf(acceptedTask())), LOCATED);

export const TASK_OPERATIONS = {
  listTasks: lists("sessions", "The tenant's tasks, the newest first", "Tasks"),
  spawnTask: task(
    "Hands a task over to a run in a session of its own",
    body(taskBody, { options: ref("schemas", "RunOptions") }),
    {
      parameters: ANSWERED,
      answers: {
        200: answer("The run's events; the last one has the task", EVENTS),
        201: answer("It runs; with `wait` it has ended, or awaits its next cycle", json("Task"), LOCATED),
        202: CONTINUES,
      },
      faults: RUN_FAULTS,
    },
  ),
  waitForTasks: task("Waits until tasks have ended", body(waitBody), {
    answers: {
      200: answer(
        "The tasks, in the order of `ids`; for one id as a string, the task itself",
        json({ oneOf: [schema("Task"), { type: "array", items: schema("Task") }] }),
      ),
    },
    faults: RUN_FAULTS,
    never: [409],
  }),
  resumeTask: task("Lets a closed task take input again, or runs it at once", body(resumeBody), {
    faults: [404, 409],
  }),
  getTask: reads("sessions", "One task", "Task", { outcome: "The task" }),
  inputTask: task("Gives a task's agent another task", body(inputBody)),
  triggerTask: task("Begins the next cycle of a task that awaits one", maybeBody(triggerBody)),
  closeTask: task("Ends a task, and all that it delegated", maybeBody(nothing)),
  runSubAgent: task(
    "Runs an agent in a session of its own and answers its envelope",
    body(subAgentBody, {
      options: ref("schemas", "SubAgentOptions"),
      parent_session_id: { description: "Its ceilings hold, and its stream tells of the run." },
    }),
    {
      parameters: [query("wait", "`none` answers 202.", { enum: ["terminal", "none"] }), ...ANSWERED],
      answers: {
        200: answer("The envelope, or the run's events", { ...json("SubAgentResult"), ...EVENTS }),
        201: answer("With `background`: the task", json("Task"), LOCATED),
        202: CONTINUES,
      },
      faults: RUN_FAULTS,
    },
  ),
} satisfies Operations;

/** All of `components/schemas` that these routes use. */
export function taskSchemas(): JsonObject {
  const { properties } = schemaOf(subAgentFields());
  return {
    ...schemasOf({ Task: taskShape(), SubAgentResult: envelopeShape() }),
    Tasks: pageOf(
      schemaOf(
        z.pick(taskShape(), {
          id: true,
          name: true,
          mode: true,
          status: true,
          parent_task_id: true,
          created_at: true,
        }),
      ),
    ),
    SubAgentOptions: {
      description: "Options of the run, and further ones of the sub-agent.",
      allOf: [ref("schemas", "RunOptions"), { type: "object", properties: objectOf(properties) }],
    },
  };
}
