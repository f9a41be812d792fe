/** Workflow runs: begin, follow, stop, begin again from a node. */

import {
  answerBody,
  type ExecuteBody,
  executeBody,
  type ForkRunBody,
  forkRunBody,
  migrateBody,
  signalBody,
  stopBody,
  type TaskRunBody,
  taskRunBody,
} from "../../api/bodies/workflows.ts";
import { readArtifacts, type WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import { runResult } from "../../engine/workflow/document.ts";
import type { Graph } from "../../engine/workflow/graph.ts";
import { optionsFor, withMocks } from "../../engine/workflow/mock-script.ts";
import {
  forkedFrom,
  givenArtifacts,
  type RunRecord,
  readRecord,
  recordOf,
  repeated,
  resumed,
} from "../../engine/workflow/origin.ts";
import type { Origin, WorkflowSpec } from "../../engine/workflow/records.ts";
import { WORKFLOW_STATUSES } from "../../engine/workflow/status.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import { IdempotencyKeyReused, InputInvalid } from "../../errors/request.ts";
import { SessionExists } from "../../errors/session.ts";
import { ReplayMismatch, WorkflowRunning } from "../../errors/workflow.ts";
import { HullError } from "../../errors.ts";
import { newId } from "../../llm/transcript.ts";
import { type SessionClient, sessionClient } from "../../run/session-client.ts";
import { checkValid } from "../../run/workflow/check-graph.ts";
import { pinSkills } from "../../run/workflow/pin-skills.ts";
import { taskRun } from "../../run/workflow/task-run.ts";
import type { NamedRequest } from "../../session/named-request.ts";
import * as directory from "../../session/workflow/directory.ts";
import { objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { answerRun, formOf } from "../answer.ts";
import { readJson, readJsonIfAny } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { idDigits } from "../idempotency.ts";
import { accountOf } from "../llm/account.ts";
import { wantedPage } from "../page.ts";
import { oneOf } from "../parameters.ts";
import type { Handler } from "../routes.ts";
import { noteSkill } from "../run-headers.ts";
import {
  changes,
  isRepeated,
  noBody,
  reasonIn,
  requestName,
  sessionOf,
  shownNow,
} from "../sessions/object.ts";
import { eventStream, lastSeen } from "../sse.ts";
import { graphOf, namedWorkflow, refusedAt } from "./graphs.ts";
import { readWorkflowOptions, type WorkflowRunRequest, workflowSpec } from "./run-request.ts";

/** `POST /workflows/execute`: waits for the end, streams, or answers 202. */
export async function executeWorkflow(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, executeBody);
  await noteSkill(context, skillIn(body.workflow) ?? body.options?.skill);
  return begin(context, body, () => wantedBy(context, body));
}

async function wantedBy(context: RequestContext, body: ExecuteBody): Promise<WorkflowRunRequest> {
  const own = await readWorkflowOptions(context, body.options ?? {});
  const source = await sourceOf(context, body, own.resume_run ?? own.replay_run);
  const { graph, workflow, record } = source;
  const artifacts =
    body.artifacts === undefined && record !== null
      ? givenArtifacts(record)
      : artifactsIn(body.artifacts ?? []);
  const asked = { task: body.task, graph, workflow, artifacts, options: body.options ?? {}, own };
  if (record === null) return asked;
  if (own.resume_run === record.id && record.finished_at === null)
    throw new WorkflowRunning({ run: record.id });
  const origin = own.resume_run === undefined ? repeated(record, graph) : resumed(record, graph);
  const skills = own.resume_run === undefined ? null : (record.skills ?? null);
  return { ...asked, before: { origin, root: record.root_run_id, skills } };
}

/** `POST /workflows/task_run`: a task through act, verify and repair, up to its end. */
export async function postTaskRun(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, taskRunBody);
  await noteSkill(context, skillIn(body.flow) ?? body.overrides?.skill);
  const wanted = () => wantedTask(context, body);
  return begin(context, body, wanted, (ended) => {
    const { stages, graph } = recordOf(ended);
    return taskRun(ended, { task: body.task, stages, graph: graphOf(graph) });
  });
}

async function wantedTask(
  context: RequestContext,
  { task, flow, overrides: options = {}, artifacts: given = [] }: TaskRunBody,
): Promise<WorkflowRunRequest> {
  const named = typeof flow === "string" ? { workflow: flow } : { graph: flow };
  const { graph, workflow } = await sourceOf(context, named, undefined);
  const own = await readWorkflowOptions(context, options, "overrides");
  for (const option of ["resume_run", "replay_run"] as const)
    if (own[option] !== undefined)
      throw memberInvalid(`overrides.${option}`, "is for POST /workflows/execute");
  const artifacts = artifactsIn(given);
  return { task, graph, workflow, artifacts, options, own };
}

/** The skill that has the workflow of this name; absent: none has. */
const skillIn = (workflow: unknown): string | undefined =>
  typeof workflow === "string" ? /^([^/]+)\//.exec(workflow)?.[1] : undefined;

interface Source {
  graph: Graph;
  workflow: WorkflowSpec["workflow"];
  record: RunRecord | null;
}

/** The graph of a request: its own, a stored one, or that of the run that it continues. */
async function sourceOf(
  context: RequestContext,
  { graph, workflow }: { graph?: Json; workflow?: string },
  run: string | JsonObject | undefined,
): Promise<Source> {
  const record = run === undefined ? null : await recordNamed(context, run);
  if (workflow !== undefined && graph !== undefined)
    throw memberInvalid("workflow", "stands for graph: give one of the two");
  if (workflow !== undefined) {
    const { name, version, digest, graph: stored } = await namedWorkflow(context, workflow);
    return { graph: stored, workflow: { name, version, digest }, record };
  }
  if (graph !== undefined) return { graph: graphOf(graph), workflow: null, record };
  if (record !== null) return { graph: graphOf(record.graph), workflow: null, record };
  throw memberInvalid("graph", "is missing: give graph, or workflow with the name of a stored one");
}

const recordNow = (session: SessionClient): Promise<JsonObject> => session.ask("workflow", { wait: "none" });

async function recordNamed(context: RequestContext, run: string | JsonObject): Promise<RunRecord> {
  if (typeof run === "string") return recordOf(await recordNow(sessionOf(context, run)));
  const record = readRecord(run);
  if (record !== null) return record;
  const message = "is not the record of a workflow run";
  throw new InputInvalid({ reason: `the run ${message}`, errors: [{ path: "options", message }] });
}

function artifactsIn(given: Json): WorkflowArtifact[] {
  const read = readArtifacts(given, {
    newId: () => `art_${newId().replaceAll("-", "")}`,
    now: new Date().toISOString(),
  });
  if ("faults" in read) throw refusedAt("artifacts", read.faults);
  return read.artifacts;
}

/** The present record of the run that the same request began before; `null`: none. @throws IdempotencyKeyReused */
async function earlier(
  context: RequestContext,
  session: SessionClient,
  body: object,
): Promise<JsonObject | null> {
  return (await isRepeated(context, session, body)) ? recordNow(session) : null;
}

/** The session of a new run; the same key gives the same one. */
const newSession = async (context: RequestContext): Promise<SessionClient> =>
  sessionOf(context, `wf_${await idDigits(context)}`);

async function start(
  context: RequestContext,
  session: SessionClient,
  body: object,
  runRequest: WorkflowRunRequest,
): Promise<JsonObject> {
  const { id: run_id } = session;
  const account = accountOf(context, run_id);
  const spec = await workflowSpec(context, run_id, runRequest);
  const named = await requestName(context, body);
  return known(named, async () => {
    const origin = runRequest.before?.origin;
    if (origin !== undefined && origin.how !== "replay")
      await copyFiles(context, origin.run_id, { dst: run_id, request: named });
    const most = spec.test?.crashes?.length ?? 0;
    return throughCrashes(most, () => session.ask("beginWorkflow", { spec, account, request: named }));
  });
}

/**
 * Runs `work`. The run's id follows from the key of its request, so if the session of this id already exists, another
 * request has the key.
 * @throws IdempotencyKeyReused
 */
async function known<T>({ name }: NamedRequest, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw SessionExists.matches(error) ? new IdempotencyKeyReused({ key: name }) : error;
  }
}

/** Copies the files that the stages of an earlier run wrote, for a run that continues or repeats it. */
async function copyFiles(
  context: RequestContext,
  run: string,
  to: { dst: string; request: NamedRequest },
): Promise<void> {
  // A task's runs share its session.
  const owner = run.replace(/\.r\d+$/, "");
  try {
    const { files = owner } = await sessionClient(context, owner).ask("ceilings", null);
    await sessionClient(context, files).ask("copyFiles", to);
  } catch (error) {
    // A removed run has left no files. A repeated request finds the session of its first attempt.
    if (!CallNotFound.matches(error) && !SessionExists.matches(error)) throw error;
  }
}

/**
 * Begins a run, or returns to the one that the same request began, and answers.
 * @param makeRequest not called for a repeated request, whose run need no longer be possible
 * @param shown what a whole answer says of the run's last record
 */
async function begin(
  context: RequestContext,
  body: object,
  makeRequest: () => Promise<WorkflowRunRequest>,
  shown: (ended: JsonObject) => object = executed,
): Promise<Response> {
  const form = formOf(context.request, { waits: true });
  const session = await newSession(context);
  const { id: run_id } = session;
  return answerRun(context, form, run_id, async (after) => {
    const begun =
      (await earlier(context, session, body)) ?? (await start(context, session, body, await makeRequest()));
    // Requests for the run's origin and its skills have named other sessions meanwhile.
    context.log.session_id = run_id;
    const location = `/workflows/runs/${run_id}`;
    return {
      run_id,
      headers: { location },
      accepted: () => ({ location, document: runResult(begun) }),
      events: () => session.events(run_id, after),
      whole: async (headers) => shownNow(context, shown(await endOf(session, begun)), 200, headers),
    };
  });
}

/** @throws ReplayMismatch */
function executed(ended: JsonObject): object {
  const { code, message } = objectOf(ended.error ?? {});
  if (code === "replay_mismatch") throw new ReplayMismatch({ detail: String(message) });
  return runResult(ended);
}

/** The record of a run that has ended. @param now the run's present record */
async function endOf(session: SessionClient, now: JsonObject): Promise<JsonObject> {
  const { crashes } = objectOf(objectOf(now.test).unmet);
  const most = Array.isArray(crashes) ? crashes.length : 0;
  return throughCrashes(most, () => session.ask("workflow", { wait: "terminal" }));
}

/**
 * Asks about a run whose test makes its process crash. Each crash breaks the question off, so this repeats it.
 * @param most how many crashes are to come
 */
async function throughCrashes<T>(most: number, question: () => Promise<T>): Promise<T> {
  for (let left = most; ; left -= 1) {
    try {
      return await question();
    } catch (error) {
      if (error instanceof HullError || left <= 0) throw error;
    }
  }
}

/** `GET /workflows/runs`: the tenant's, the newest first. */
export const listWorkflowRuns: Handler = async (context) => {
  const status = oneOf(context.query, "status", WORKFLOW_STATUSES);
  return shownNow(context, await directory.listWorkflowRuns(context, { ...wantedPage(context), status }));
};

/** `GET /workflows/runs/{id}`: the run's record; with `?wait=terminal` when the run has ended. */
export const getWorkflowRun: Handler = async (context, { id = "" }) => {
  const session = sessionOf(context, id);
  const now = await recordNow(session);
  const { wait } = formOf(context.request, { waits: true });
  const waits = wait === "terminal" && now.finished_at === null;
  return shownNow(context, waits ? await endOf(session, now) : now);
};

/** `GET /workflows/runs/{id}/events`: the events after `Last-Event-ID` or `?after=`, up to the run's end. */
export const followWorkflowRun: Handler = async (context, { id = "" }) => {
  const session = sessionOf(context, id);
  // A task's id means the last of its runs.
  const { id: run } = recordOf(await recordNow(session));
  return eventStream(await session.events(run, lastSeen(context.request, id)));
};

/** `DELETE /workflows/runs/{id}`: stops the run, and removes all its data. */
export const deleteWorkflowRun: Handler = async (context, { id = "" }) => {
  const session = sessionOf(context, id);
  // An ordinary session contains no workflow run.
  await recordNow(session);
  await session.ask("remove", null);
  return new Response(null, { status: 204 });
};

const stop = (kill: boolean): Handler =>
  changes(
    "stopWorkflow",
    (request) => readJsonIfAny(request, stopBody),
    (body, request) => {
      const reason = reasonIn(body.reason) ?? (kill ? "It was killed." : "It was cancelled.");
      return { kill, reason, request };
    },
  );
export const cancelWorkflowRun = stop(false);
export const killWorkflowRun = stop(true);

/** `POST …/pause`: lets running nodes finish, and begins no further ones. */
export const pauseWorkflowRun = changes("pauseWorkflow", noBody, (_, request) => ({ request }));

/** `POST …/resume`: continues a paused run; a run that ended at its `max_steps` is continued by another run. */
export const resumeWorkflowRun: Handler = async (context, { id = "" }) => {
  const request = await requestName(context, await noBody(context.request));
  // A wrong form is refused before the run goes on.
  formOf(context.request, { waits: true });
  const body = { resume: id };
  const next = await newSession(context);
  const session = sessionOf(context, id);
  const present = async () => recordOf(await recordNow(session));
  if ((await earlier(context, next, body)) === null) {
    const { status, finished_at } = await present();
    if (status !== "paused" || finished_at === null)
      return shownNow(context, await session.ask("resumeWorkflow", { request }));
  }
  return begin(context, body, async () => {
    const record = await present();
    const graph = graphOf(record.graph);
    return continuing(record, graph, resumed(record, graph));
  });
};

/** `POST …/fork {from, input?}`: begins another run at a node of this one. */
export const forkWorkflowRun: Handler = async (context, { id = "" }) => {
  const body = await readJson(context.request, forkRunBody);
  return begin(context, { fork: id, ...body }, () => wantedFork(context, id, body));
};

async function wantedFork(
  context: RequestContext,
  id: string,
  { from, input = {} }: ForkRunBody,
): Promise<WorkflowRunRequest> {
  const record = recordOf(await recordNow(sessionOf(context, id)));
  const graph = graphOf(record.graph);
  if (!Object.hasOwn(graph.nodes, from)) {
    const message = `is not a node: there is no "${from}"; the graph has ${Object.keys(graph.nodes).join(", ")}`;
    throw memberInvalid("from", message);
  }
  return {
    ...continuing(record, graph, forkedFrom(record, graph, from)),
    ...(input.task === undefined ? {} : { task: input.task }),
    ...(input.artifacts === undefined ? {} : { artifacts: artifactsIn(input.artifacts) }),
  };
}

/** `POST …/migrate {graph}` or `{workflow}`: continues the run with another graph, if that fits its journal. */
export const migrateWorkflowRun: Handler = async (context, { id = "" }) => {
  const body = await readJson(context.request, migrateBody);
  const session = sessionOf(context, id);
  const record = recordOf(await recordNow(session));
  const request = await requestName(context, body);
  if (await isRepeated(context, session, body)) return shownNow(context, record);
  const { graph, workflow } = await sourceOf(context, body, undefined);
  await checkValid(context, graph);
  const skills = await pinSkills(context, graph, record.options, record.skills ?? null);
  const to = { graph, workflow, ...(skills === undefined ? {} : { skills }) };
  return shownNow(context, await session.ask("migrateWorkflow", { to, request }));
};

const continuing = (record: RunRecord, graph: Graph, origin: Origin): WorkflowRunRequest => ({
  task: record.task,
  graph,
  workflow: record.workflow,
  artifacts: givenArtifacts(record),
  options: optionsFor(record, origin.stages),
  own: {},
  before: { origin: withMocks(record, origin), root: record.root_run_id, skills: record.skills ?? null },
});

/** `POST …/signals {name, key?, payload?}`: an event for wait nodes. An event that arrives early is kept. */
export const signalWorkflowRun = changes(
  "workflowEvent",
  (request) => readJson(request, signalBody),
  ({ name, key = null, payload = null }, request) => ({ name, key, payload, request }),
  202,
);

/** `POST …/approvals {node, decision, reason?}`. */
export const decideWorkflowApproval = changes(
  "answerWorkflow",
  (request) => readJson(request, answerBody),
  ({ node, decision, reason }, request, { caller }) => ({
    node,
    granted: decision === "approve",
    by: caller.key_id ?? "local",
    reason: reasonIn(reason),
    request,
  }),
);
