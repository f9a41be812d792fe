/** `POST /tasks`, `POST /sub-agents`: delegate a run to a session of its own. */

import { NO_CEILINGS, narrowed, noneAbove, refusal } from "../../engine/agent/delegation.ts";
import { droppedTools } from "../../engine/agent/policy.ts";
import type { Ceilings } from "../../engine/agent/spec.ts";
import type { Message } from "../../engine/messages.ts";
import { artifactOf, type WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import { selectArtifacts } from "../../engine/workflow/select-artifacts.ts";
import { stagePrompt } from "../../engine/workflow/stage-prompt.ts";
import { ToolsRejected } from "../../errors/llm.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import type { HullError } from "../../errors.ts";
import { transcriptHistory } from "../../llm/transcript-history.ts";
import { newRunId } from "../../run/agent/daemon-spec.ts";
import { agentSpec, type RunInput } from "../../run/agent/options.ts";
import { llmHost } from "../../run/llm-host.ts";
import { type SubAgentBody, subAgentBody, type TaskBody, taskBody } from "../../run/task/bodies.ts";
import { withRequested, withToolsAbove } from "../../run/task/child-spec.ts";
import type {
  AcceptedTask,
  RetriggerPolicy,
  TaskHandle,
  TaskRequest,
  TaskSettings,
} from "../../run/task/handle.ts";
import { NOTHING_ASKED } from "../../run/task/sub-agent.ts";
import { nodeFaults } from "../../run/workflow/check-graph.ts";
import {
  type CommandEnvironment,
  plain,
  policyOf,
  stageOf,
  withCommandEnvironment,
} from "../../run/workflow/stage.ts";
import { thrownBy } from "../../session/conversation/done.ts";
import type { TaskOperations } from "../../session/task/rpc.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { type AnswerForm, answerRun, formOf } from "../answer.ts";
import { readJson } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { idDigits } from "../idempotency.ts";
import { noteSkill } from "../run-headers.ts";
import { isRepeated, keyedName, sessionOf, shownNow } from "../sessions/object.ts";
import { graphOf, refusedAt } from "../workflows/graphs.ts";
import { readWorkflowOptions, workflowSpec } from "../workflows/run-request.ts";

/** What a delegated run needs to know about the session that delegates it. */
type Above = Ceilings & { task_id: string | null };

/** A run to delegate. */
interface Handed {
  id: string;
  /** Whether to wait for the run's end. */
  wait: boolean;
  settings: Omit<TaskSettings, "parent" | "token_budget" | "budgets">;
  input: RunInput;
  /** Names of the run's tools, which all lists must have; `null`: all tools. */
  requested: (string[] | null)[];
  imported: { messages: Message[]; summary: string | null } | null;
  above: Above | null;
  environment?: CommandEnvironment;
}

export async function spawnTask(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, taskBody);
  const { node, graph } = body;
  if (node !== undefined && graph !== undefined) throw wrong("graph", "replaces node: give one of the two");
  if (node === undefined && graph === undefined)
    throw wrong("node", "is missing, and so is graph: one of them must say how to run the task");
  const spawn = (at: At): Promise<Spawned> =>
    node === undefined ? spawnGraph(context, at, body) : spawnNode(context, at, body, node);
  await noteSkill(context, node?.model_policy?.skill ?? body.options?.skill);
  const form = formOf(context.request);
  return delegated(context, form, `task_${await idDigits(context)}`, {
    body,
    waits: body.wait === true,
    spawn,
    answer: (task, headers) => spawned(context, task, headers),
  });
}

/** The session of a task, and whether the request waits for its end. */
interface At {
  id: string;
  wait: boolean;
}

/** The answer when a task has begun, or has ended. */
type Spawned = Omit<TaskOperations["spawn_task"]["out"], "spent">;

/** A request that delegates a run. */
interface Delegation {
  body: object;
  /** Whether a whole answer waits for the run's end. */
  waits: boolean;
  spawn(at: At): Promise<Spawned>;
  answer(task: TaskHandle, headers: Record<string, string>): Response;
}

/** Spawns a task, or returns to the one that the same request spawned, and answers. */
async function delegated(
  context: RequestContext,
  form: AnswerForm,
  id: string,
  { body, waits, spawn, answer }: Delegation,
): Promise<Response> {
  const at = { id, wait: waits && !form.later && !form.events };
  return answerRun(context, form, id, async (after) => {
    const { task, thrown } = (await again(context, at, body)) ?? (await spawn(at));
    const { child_run_id: run_id, status, error } = task;
    return {
      run_id,
      accepted: () => {
        const document: AcceptedTask = { id, run_id, session_id: id, status };
        return { location: `/tasks/${id}`, document };
      },
      events: () => sessionOf(context, id).events(run_id, after, "answer"),
      whole(headers) {
        const failure = thrown ?? (at.wait && status === "failed" ? error : null);
        if (failure !== null) throw thrownBy(failure);
        return answer(task, headers);
      },
    };
  });
}

/**
 * The task that an earlier attempt of the same request spawned; `null` if there is none.
 * @throws IdempotencyKeyReused
 */
async function again(context: RequestContext, { id, wait }: At, body: object): Promise<Spawned | null> {
  const session = sessionOf(context, id);
  if (!(await isRepeated(context, session, body))) return null;
  return wait
    ? session.ask("task_wait", { timeout_ms: null, until: "cycle" })
    : { task: await session.ask("task", null), thrown: null };
}

function wrong(path: string, message: string): HullError {
  return memberInvalid(path, message, ".");
}

/** Spawns a task that is a single run. */
async function spawnNode(
  context: RequestContext,
  { id, wait }: At,
  body: TaskBody,
  node: NonNullable<TaskBody["node"]>,
): Promise<Spawned> {
  const { task, name = "task" } = body;
  const faults = await nodeFaults(context, node);
  if (faults.length > 0) throw refusedAt("node", faults);
  const stage = stageOf({ ...node, kind: node.kind ?? "stage" });
  const above = await aboveOf(context, body.parent_session_id);
  const artifacts = artifactsOf(body, id);
  const requested = [stage.allowed, body.tools ?? null];
  const limits = body.tools === undefined ? null : { tools: body.tools };
  const options: JsonObject = { ...stage.defaults, ...body.options, ...stage.options };
  const policy = policyOf([body.policy, body.options?.policy, stage.options.policy, limits]);
  const permissions = plain(body.permissions);
  const context_policy = body.carry?.context_policy ?? node.context_policy ?? {};
  const settings = {
    name,
    task,
    mode: node.kind === "subagent" ? ("delegated_stage" as const) : ("stage" as const),
    request: requestOf(body, stage.system),
    stage: stage.texts,
    carry: retriggerPolicyOf(body, context_policy),
    execution: plain(body.execution),
    artifacts,
  };
  const chosen = selectArtifacts(artifacts, node.context_policy ?? {});
  const prompt = stagePrompt(stage.texts, task, chosen, { render: node.context_policy?.render });
  const input: RunInput = {
    prompt,
    system: stage.system,
    publishes: context.publishes,
    options: {
      ...options,
      ...(policy === null ? {} : { policy }),
      ...(permissions === null ? {} : { permissions }),
    },
  };
  const imported = importOf(body);
  const environment = commandEnvironmentOf(body);
  return handOver(context, { id, wait, settings, input, requested, imported, above, environment }, body);
}

/** The folder in which the task's commands begin, and their variables. */
function commandEnvironmentOf({ execution = {} }: TaskBody): CommandEnvironment {
  const { cwd, env: variables } = execution;
  return { ...(cwd === undefined ? {} : { cwd }), ...(variables === undefined ? {} : { variables }) };
}

/** Spawns a task that is a workflow run in its session. */
async function spawnGraph(context: RequestContext, { id, wait }: At, body: TaskBody): Promise<Spawned> {
  const { task, name = "task", carry = {}, permissions } = body;
  if (body.transcript !== undefined)
    throw wrong("transcript", "is for a node: the stages of a graph begin without a conversation");
  const { transcript_mode = "inherit" } = carry;
  if (transcript_mode === "fork" || transcript_mode === "compact")
    throw wrong(
      "carry.transcript_mode",
      "is inherit or reset for a graph, whose stages have a conversation each",
    );
  const graph = graphOf(body.graph ?? {});
  const above = await aboveOf(context, body.parent_session_id);
  const given: JsonObject = {
    ...body.options,
    ...(permissions === undefined ? {} : { permissions: plain(permissions) }),
  };
  for (const option of ["resume_run", "replay_run", "resume_path", "replay_path"])
    if (given[option] !== undefined)
      throw wrong(
        `options.${option}`,
        "is for POST /workflows/execute; continue a task with POST /tasks/{id}/input",
      );
  const own = await readWorkflowOptions(context, given);
  const limits = body.tools === undefined ? null : { tools: body.tools };
  const policy = policyOf([body.policy, own.policy, limits]);
  const lost = droppedTools(policy, policyOf([above?.policies?.policy, policy]));
  if (lost.length > 0 && Array.isArray(policy?.tools) && lost.length === policy.tools.length)
    throw noneAbove(lost);
  const artifacts = artifactsOf(body, id);
  const spec = await workflowSpec(context, id, {
    task,
    graph,
    workflow: null,
    artifacts,
    options: given,
    own: { ...own, ...(policy === null ? {} : { policy }) },
    ...(above === null ? {} : { above: ceilingsOnly(above) }),
    environment: commandEnvironmentOf(body),
  });
  const settings: TaskSettings = {
    name,
    task,
    mode: "workflow",
    request: requestOf(body, null),
    stage: null,
    carry: retriggerPolicyOf(body, carry.context_policy ?? {}),
    execution: plain(body.execution),
    artifacts,
    parent: parentOf(above),
    token_budget: null,
    budgets: { tokens: null, usd: null },
    ...(lost.length === 0 ? {} : { policy_dropped: lost }),
  };
  return sessionOf(context, id).ask("spawn_task", {
    work: { workflow: spec },
    settings,
    imported: null,
    listed: true,
    wait,
    request: await keyedName(context, body),
  });
}

function artifactsOf({ artifacts = [] }: TaskBody, id: string): WorkflowArtifact[] {
  const now = new Date().toISOString();
  return artifacts.map((given, n) => artifactOf(given, { newId: () => `${id}:${n}`, now }));
}

/** The ceilings without the member that only the handle needs. */
function ceilingsOnly({ task_id: _, ...ceilings }: Above): Ceilings {
  return ceilings;
}

function parentOf(above: Above | null): TaskSettings["parent"] {
  if (above === null || above.session_id === null) return null;
  const { session_id, run_id, task_id } = above;
  return { session_id, run_id, task_id };
}

export async function runSubAgent(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, subAgentBody);
  const { task, options: given = {}, parent_session_id } = body;
  const { name = "task", system = null, allowed_tools, returns, background = false, session_id } = given;
  const { fork = false } = given;
  const options = withoutOwn(given);
  const id = session_id ?? `task_${await idDigits(context)}`;
  const asked = formOf(context.request, { waits: true });
  const form = background ? { ...asked, events: false } : asked;
  const spawn = async (at: At): Promise<Spawned> => {
    const above = await aboveOf(context, parent_session_id);
    if (fork && above === null) {
      throw wrong("options.fork", "needs parent_session_id, whose transcript Hull copies");
    }
    const limits = allowed_tools === undefined ? null : { tools: allowed_tools };
    const policy = policyOf([options.policy, limits]);
    const structured =
      returns === undefined ? {} : { output_schema: returns.schema, output_validation: "error" };
    const settings = {
      name,
      task,
      mode: "sub_agent" as const,
      request: { ...requestOf(given, system), task, ...given.request },
      stage: null,
      carry: retriggerPolicyOf({}, {}),
      execution: null,
      artifacts: [],
    };
    const input: RunInput = {
      prompt: task,
      system,
      publishes: context.publishes,
      options: { ...options, ...structured, ...(policy === null ? {} : { policy }) },
    };
    const imported =
      fork && parent_session_id !== undefined ? await copied(context, parent_session_id) : null;
    const requested = [allowed_tools ?? null];
    return handOver(context, { ...at, settings, input, requested, imported, above }, body);
  };
  await noteSkill(context, options.skill);
  return delegated(context, form, id, {
    body,
    waits: !background,
    spawn,
    answer(task, headers) {
      if (background) return spawned(context, task, headers);
      if (task.result === null) throw thrownBy(task.error ?? {});
      return shownNow(context, task.result, 200, headers);
    },
  });
}

/** The options of the run, without those of the sub-agent. */
function withoutOwn(options: NonNullable<SubAgentBody["options"]>): JsonObject {
  const named = ["name", "system", "allowed_tools", "returns", "background", "session_id", "fork", "request"];
  const own = [...named, ...Object.keys(NOTHING_ASKED)];
  const entries = Object.entries(plain(options) ?? {}).filter(([name]) => !own.includes(name));
  return Object.fromEntries(entries);
}

/** @throws ToolsRejected if the session may not delegate; CallNotFound */
async function aboveOf(context: RequestContext, session: string | undefined): Promise<Above | null> {
  if (session === undefined) return null;
  const above = await sessionOf(context, session).ask("ceilings", null);
  const reason = refusal(above, Date.now());
  if (reason !== null) throw new ToolsRejected({ tools: ["sub_agent"], reason });
  return above;
}

async function handOver(
  context: RequestContext,
  { id, wait, settings, input, requested, imported, above, environment = {} }: Handed,
  body: object,
): Promise<Spawned> {
  const session = sessionOf(context, id);
  const run = newRunId();
  const payer = above?.account ?? id;
  const account = `session:${payer}`;
  const { signal } = context.request;
  const host = await llmHost(context, { signal, session: payer, skill: null, account }, input.options.mock);
  const made = await agentSpec(context, host, input, { run, session: id });
  const placed = withCommandEnvironment(made, environment);
  const offered = withToolsAbove(placed, input.options, above?.tools ?? []);
  const spec = requested.reduce(withRequested, narrowed(offered, above ?? NO_CEILINGS, id));
  const budgets = { tokens: made.token_budget, usd: made.total_budget_usd };
  const parent = parentOf(above);
  const request = await keyedName(context, body);
  return session.ask("spawn_task", {
    work: { agent: spec },
    settings: { ...settings, parent, token_budget: spec.token_budget, budgets },
    imported,
    listed: true,
    wait,
    request,
  });
}

function spawned(context: RequestContext, task: TaskHandle, headers: Record<string, string>): Response {
  return shownNow(context, task, 201, { ...headers, location: `/tasks/${task.id}` });
}

/** The conversation so far of the session that delegates. */
async function copied(context: RequestContext, session: string): Promise<NonNullable<Handed["imported"]>> {
  const { visible, summary } = await sessionOf(context, session).ask("said", null);
  return { messages: visible, summary };
}

function importOf({ transcript }: TaskBody): Handed["imported"] {
  if (transcript === undefined) return null;
  const { messages } = transcriptHistory(transcript, "transcript");
  return { messages, summary: transcript.summary ?? null };
}

function requestOf(given: Partial<TaskBody>, system: string | null): TaskRequest {
  const { task = "", payload = null, research_questions = [], action_items = [] } = given;
  const { workflow_stages = [], verification_steps = [] } = given;
  const asked = { payload, research_questions, action_items, workflow_stages, verification_steps };
  return { ...NOTHING_ASKED, task, system, ...asked };
}

function retriggerPolicyOf(
  { carry = {} }: Partial<TaskBody>,
  context_policy: RetriggerPolicy["context_policy"],
): RetriggerPolicy {
  return {
    artifact_mode: carry.artifact_mode ?? "inherit",
    transcript_mode: carry.transcript_mode ?? "inherit",
    context_policy,
    persist_state: carry.persist_state ?? true,
    retriggerable: carry.retriggerable ?? false,
    resume_workflow: carry.resume_workflow ?? true,
    policy: plain(carry.policy),
  };
}
