/** The routes of workflows and their runs, and the shapes that they take and give. */
import * as z from "zod/mini";
import {
  runDocument,
  signalledRun,
  stageShape,
  validationShape,
  workflowResult,
} from "../engine/workflow/answers.ts";
import { artifactShape } from "../engine/workflow/artifacts.ts";
import { graphShape, nodeShape } from "../engine/workflow/graph.ts";
import { WORKFLOW_STATUSES } from "../engine/workflow/status.ts";
import { knownWorkflow, listedRun } from "../session/workflow/listed.ts";
import { objectOf } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { nothing } from "./bodies/sessions.ts";
import {
  answerBody,
  anyGraph,
  editBody,
  executeBody,
  forkRunBody,
  graphBody,
  migrateBody,
  newSessionBody,
  ofSessionBody,
  persistBody,
  restoreBody,
  runSessionBody,
  signalBody,
  stopBody,
  taskRunBody,
  validateBody,
  workflowOptions,
} from "./bodies/workflows.ts";
import { answer, LOCATED, MAYBE_COUNT, MAYBE_TIME, pageOf, query, ref, TEXT, TIME } from "./openapi-parts.ts";
import {
  ANSWERED,
  body,
  EVENTS,
  follows,
  json,
  lists,
  maybeBody,
  type Operations,
  reads,
  removes,
  schema,
} from "./operation.ts";
import { changesOf } from "./session-routes.ts";
import { bodySchema, schemaOf, schemasOf } from "./shape-schema.ts";

const STATUS: JsonObject = { enum: [...WORKFLOW_STATUSES] };
const WAIT = query("wait", "Until when the answer waits.", { enum: ["terminal", "none"] });

const onRun = changesOf("The run as it is now", "WorkflowRun");
const NOTHING = maybeBody(nothing);
const SESSION = { session: { description: "A workflow session." } };
const BEGUN = {
  200: answer("It has ended", { ...json("WorkflowResult"), ...EVENTS }, LOCATED),
  202: answer("It runs", json("WorkflowResult"), LOCATED),
};

/** The operation decides which of them its body has. */
const OPERATION_BODIES: JsonObject[] = [
  bodySchema(editBody, { node: schema("WorkflowNode") }),
  bodySchema(taskRunBody, {
    flow: { anyOf: [schema("WorkflowGraph"), TEXT], description: "A graph, or a workflow's name." },
    overrides: ref("schemas", "WorkflowOptions"),
  }),
  bodySchema(runSessionBody, { result: { description: "What a run answered, or its record." } }),
  bodySchema(newSessionBody),
  bodySchema(persistBody, SESSION),
  bodySchema(restoreBody),
  bodySchema(ofSessionBody, SESSION),
];

export const WORKFLOW_OPERATIONS = {
  validateWorkflow: reads(
    "sessions",
    "Whether a graph is valid, and stays within a ceiling",
    "WorkflowValidation",
    { body: body(validateBody) },
  ),
  executeWorkflow: onRun(
    "Executes a graph: waits for its end, streams, or answers at once",
    body("WorkflowRequest"),
    {
      parameters: [WAIT, ...ANSWERED],
      answers: BEGUN,
      faults: [402, 404, 409, 502, 504],
    },
  ),
  listWorkflowRuns: lists("sessions", "The tenant's workflow runs, the newest first", "WorkflowRuns", {
    parameters: [query("status", "Only runs of this status.", STATUS)],
  }),
  getWorkflowRun: reads(
    "sessions",
    "The record of a run: its stages, what is under way, and why it waits",
    "WorkflowRun",
    { parameters: [WAIT] },
  ),
  deleteWorkflowRun: removes("sessions", "Stops a run and removes all its data"),
  followWorkflowRun: follows("sessions", "The events of a run, up to its end"),
  cancelWorkflowRun: onRun("Stops a run, and undoes its finished stages", maybeBody(stopBody)),
  killWorkflowRun: onRun("Stops a run without any further step", maybeBody(stopBody)),
  pauseWorkflowRun: onRun("Pauses a run: what is under way ends, and nothing more begins", NOTHING),
  resumeWorkflowRun: onRun(
    "Continues a paused run; one that ended at its max_steps continues as another run",
    NOTHING,
    {
      parameters: [WAIT, ...ANSWERED],
      answers: {
        200: answer("The run as it is now; of another run its result, once it has ended, or its events", {
          ...json({ anyOf: [schema("WorkflowRun"), schema("WorkflowResult")] }),
          ...EVENTS,
        }),
        202: BEGUN[202],
      },
    },
  ),
  forkWorkflowRun: onRun("Begins another run that starts at a node of this one", body(forkRunBody), {
    parameters: [WAIT, ...ANSWERED],
    answers: BEGUN,
  }),
  migrateWorkflowRun: onRun(
    "Continues a run with another graph, if that fits what it has done",
    body(migrateBody),
  ),
  signalWorkflowRun: onRun(
    "Sends a signal to the nodes that wait for one; Hull keeps one that comes early",
    body(signalBody),
    { answers: { 202: answer("It is stored", json(schemaOf(signalledRun))) } },
  ),
  decideWorkflowApproval: onRun("Answers a node that waits for an approval", body(answerBody)),
  listWorkflows: lists(
    "sessions",
    "The tenant's stored workflows by name, and those of the served skills",
    "Workflows",
    { faults: [404] },
  ),
  getWorkflow: reads("sessions", "A stored workflow; `name@version` for one version", "StoredWorkflow", {
    faults: [400],
  }),
  getSkillWorkflow: reads("sessions", "A workflow of a served skill", "StoredWorkflow", {
    faults: [400],
  }),
  putWorkflow: onRun("Stores a graph as the next version under a name", body(graphBody), {
    parameters: [],
    answers: {
      200: answer("The last version is the same", json("WorkflowVersion")),
      201: answer("It is stored", json("WorkflowVersion")),
    },
    faults: [],
    never: [404],
  }),
  deleteWorkflow: removes("sessions", "Removes all versions of a stored workflow; its runs continue"),
  operateOnWorkflow: onRun(
    "Edits or inspects a graph, runs a task through it, or keeps its session",
    { required: true, content: json({ anyOf: OPERATION_BODIES }) },
    {
      parameters: [WAIT, ...ANSWERED],
      answers: {
        200: answer(
          "The operation's answer, bare: a graph, a report, a session, …, or the events of the run of `task_run`",
          { ...json({}), ...EVENTS },
        ),
        202: answer("The run of `task_run` has begun", json("WorkflowResult"), LOCATED),
      },
    },
  ),
} satisfies Operations;

const GIVEN_ARTIFACT: JsonObject = { anyOf: [TEXT, schema("WorkflowArtifact")] };

/** All of `components/schemas` that these routes use. */
export function workflowSchemas(): JsonObject {
  const known = {
    name: { description: "As it is stored, or `<skill>/<name>`." },
    version: { ...MAYBE_COUNT, description: "`null`: a skill's, which has none of its own." },
    created_at: MAYBE_TIME,
  };
  const named = new Map([[nodeShape(), ref("schemas", "WorkflowNode")]]);
  return {
    WorkflowNode: schemaOf(nodeShape()),
    WorkflowGraph: schemaOf(graphShape(), named),
    WorkflowArtifact: schemaOf(artifactShape()),
    GivenArtifacts: {
      anyOf: [GIVEN_ARTIFACT, { type: "array", items: GIVEN_ARTIFACT }],
      description: "Artifacts; a string stands for an artifact with this text.",
    },
    ...schemasOf({
      WorkflowStage: stageShape,
      WorkflowRun: runDocument,
      WorkflowValidation: validationShape,
      WorkflowResult: workflowResult,
    }),
    WorkflowRequest: bodySchema(executeBody, { options: ref("schemas", "WorkflowOptions") }),
    WorkflowOptions: {
      description: "Options of the workflow run, together with those of a run, which apply to every stage.",
      allOf: [
        ref("schemas", "RunOptions"),
        { type: "object", properties: objectOf(schemaOf(workflowOptions()).properties) },
      ],
    },
    WorkflowRuns: pageOf(
      bodySchema(listedRun(), { status: STATUS, created_at: TIME, finished_at: MAYBE_TIME }),
    ),
    WorkflowVersion: bodySchema(z.pick(knownWorkflow(), { name: true, version: true, digest: true }), {
      version: { type: "integer", minimum: 1 },
    }),
    Workflows: pageOf(bodySchema(knownWorkflow(), known)),
    StoredWorkflow: bodySchema(z.extend(knownWorkflow(), { graph: anyGraph }), known),
  };
}
