/** The routes of tasks and sub-agents, and their request and response shapes. */
import {
  inputBody,
  resumeBody,
  subAgentBody,
  subAgentFields,
  taskBody,
  triggerBody,
  waitBody,
} from "../run/task/bodies.ts";
import { TASK_MODES, TASK_STATUSES, type TaskHandle } from "../run/task/handle.ts";
import { objectOf } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { nothing } from "./bodies/sessions.ts";
import { answer, COUNT, MAYBE_TEXT, object, pageOf, ref, TEXT, view } from "./openapi-parts.ts";
import { body, json, maybeBody, type Operation, type Operations, schema } from "./operation.ts";
import { ID, KEY, LOCATED, PAGE } from "./session-routes.ts";
import { schemaOf } from "./shape-schema.ts";

const TIME: JsonObject = { type: "string", format: "date-time" };
const MAYBE_TIME: JsonObject = { type: ["string", "null"], format: "date-time" };
const MODE: JsonObject = { enum: [...TASK_MODES] };
const STATUS: JsonObject = { enum: [...TASK_STATUSES] };
const MAYBE_OBJECT: JsonObject = { type: ["object", "null"] };
const EVENTS = { "text/event-stream": { schema: ref("schemas", "Events") } };

const task = (summary: string, read: JsonObject, more: Partial<Operation> = {}): Operation => ({
  tag: "sessions",
  summary,
  parameters: [ID, KEY],
  body: read,
  answers: { 200: answer("The task as it is now", json(schema("Task"))) },
  faults: [400, 404, 408, 409, 413, 422],
  ...more,
});
const read = { tag: "sessions" } as const;

export const TASK_OPERATIONS = {
  listTasks: {
    ...read,
    summary: "The tenant's tasks, the newest first",
    parameters: PAGE,
    answers: { 200: answer("The page", json(schema("Tasks"))) },
    faults: [400],
  },
  spawnTask: task(
    "Hands a task over to a run in a session of its own",
    body(taskBody, { options: ref("schemas", "RunOptions") }),
    {
      parameters: [KEY, ref("parameters", "stream")],
      answers: {
        200: answer("The run's events", EVENTS),
        201: answer("It runs; with `wait` it has ended", json(schema("Task")), LOCATED),
      },
      faults: [400, 402, 404, 408, 409, 413, 422, 499, 502, 504],
    },
  ),
  waitForTasks: task("Waits until tasks have ended", body(waitBody), {
    parameters: [KEY],
    answers: {
      200: answer("The tasks, in the order of `ids`; for one id as a string, the task itself", {
        "application/json": {
          schema: { oneOf: [schema("Task"), { type: "array", items: schema("Task") }] },
        },
      }),
    },
    faults: [400, 402, 404, 408, 413, 422, 499, 502, 504],
  }),
  resumeTask: task("Lets a closed task take input again, or runs it at once", body(resumeBody), {
    parameters: [KEY],
  }),
  getTask: {
    ...read,
    summary: "One task",
    parameters: [ID],
    answers: { 200: answer("The task", json(schema("Task"))) },
    faults: [404],
  },
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
      parameters: [KEY, ref("parameters", "stream")],
      answers: {
        200: answer("The envelope, or the run's events", { ...json(schema("SubAgentResult")), ...EVENTS }),
        201: answer("With `background`: the task", json(schema("Task")), LOCATED),
        202: answer(
          "It continues",
          json(object({ id: TEXT, run_id: TEXT, session_id: TEXT, status: STATUS })),
          LOCATED,
        ),
      },
      faults: [400, 402, 404, 408, 409, 413, 422, 499, 502, 504],
    },
  ),
} satisfies Operations;

/** All of `components/schemas` that these routes use. */
export function taskSchemas(): JsonObject {
  const { properties } = schemaOf(subAgentFields());
  return {
    Task: view<TaskHandle>()(
      {
        _type: { const: "task_handle" },
        id: TEXT,
        name: TEXT,
        task: TEXT,
        mode: MODE,
        status: STATUS,
        created_at: TIME,
        started_at: TIME,
        finished_at: MAYBE_TIME,
        awaiting_started_at: MAYBE_TIME,
        history: { type: "array", items: TEXT },
        request: object({ task: TEXT, system: MAYBE_TEXT, payload: {} }),
        provenance: { type: "object" },
        result: MAYBE_OBJECT,
        error: { oneOf: [{ type: "null" }, ref("schemas", "Problem")] },
        artifact_count: COUNT,
        has_transcript: { type: "boolean" },
        parent_task_id: MAYBE_TEXT,
        parent_stage_id: MAYBE_TEXT,
        child_run_id: MAYBE_TEXT,
        child_run_path: MAYBE_TEXT,
        execution: MAYBE_OBJECT,
        snapshot_path: MAYBE_TEXT,
        policy_dropped: { type: "array", items: TEXT },
        audit: { type: "array", items: object({ at: TIME, action: TEXT, run_id: MAYBE_TEXT }) },
      },
      { policy_dropped: true },
    ),
    Tasks: pageOf(
      object({
        id: TEXT,
        name: TEXT,
        mode: MODE,
        status: STATUS,
        parent_task_id: MAYBE_TEXT,
        created_at: TIME,
      }),
    ),
    SubAgentOptions: {
      description: "Options of the run, and further ones of the sub-agent.",
      allOf: [ref("schemas", "RunOptions"), { type: "object", properties: objectOf(properties) }],
    },
    SubAgentResult: object(
      {
        ok: { type: "boolean" },
        status: TEXT,
        summary: TEXT,
        artifacts: { type: "array" },
        evidence_added: COUNT,
        tokens_used: COUNT,
        budget_exceeded: { type: "boolean" },
        session_id: TEXT,
        data: {},
        error: object({ category: TEXT, message: TEXT, tool: TEXT }, ["tool"]),
      },
      ["data", "error"],
    ),
  };
}
