/** `POST /tasks`, `POST /sub-agents`: runs that are handed over. */
import { NO_CEILINGS, narrowed, refusal } from "../../engine/agent/delegation.ts";
import type { AgentSpec, Ceilings } from "../../engine/agent/spec.ts";
import type { Message } from "../../engine/messages.ts";
import { artifactOf } from "../../engine/workflow/artifacts.ts";
import { selectArtifacts } from "../../engine/workflow/select-artifacts.ts";
import { stagePrompt } from "../../engine/workflow/stage-prompt.ts";
import { ToolsRejected } from "../../errors/llm.ts";
import { InputInvalid } from "../../errors/request.ts";
import { readMessages } from "../../llm/messages.ts";
import { withResults } from "../../llm/open-calls.ts";
import { newRunId } from "../../run/agent/daemon-spec.ts";
import { agentSpec, type RunInput } from "../../run/agent/options.ts";
import { llmHost } from "../../run/llm-host.ts";
import { type SubAgentBody, subAgentBody, type TaskBody, taskBody } from "../../run/task/bodies.ts";
import { toolsBelow } from "../../run/task/child-spec.ts";
import type { Carry, TaskHandle, TaskSettings } from "../../run/task/handle.ts";
import { NOTHING_ASKED } from "../../run/task/sub-agent.ts";
import { plain, policyOf, stageOf, withNamed } from "../../run/workflow/stage.ts";
import { thrownBy } from "../../session/conversation/done.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { readJson } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { lastSeen } from "../executions.ts";
import { requestName, sessionOf, shown } from "../sessions/object.ts";
import { eventStream } from "../sessions/runs.ts";
import { callName, idempotencyKey } from "../skills/idempotency.ts";
import { wantsEvents } from "../sse.ts";
import { waitIn } from "../wait.ts";

/** The session above, as far as a run that is handed over has to know it. */
type Above = Ceilings & { task_id: string | null };

/** What is handed over. */
interface Handed {
  id: string;
  settings: Omit<TaskSettings, "parent" | "token_budget">;
  input: RunInput;
  /** Names of its tools; `null`: all that there are. */
  allowed: string[] | null;
  imported: { messages: Message[]; summary: string | null } | null;
  above: Above | null;
}

export async function postTask(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, taskBody);
  const { node, task, name = "task" } = body;
  if (body.graph !== undefined) {
    const message = "cannot be carried out here; give a node";
    throw new InputInvalid({ reason: `graph ${message}.`, errors: [{ path: "graph", message }] });
  }
  if (node === undefined) {
    const message = "is missing, and so is graph: one of them says how the task is carried out";
    throw new InputInvalid({ reason: `node ${message}.`, errors: [{ path: "node", message }] });
  }
  const id = await idOf(context, "/tasks");
  const stage = stageOf({ ...node, kind: node.kind ?? "stage" });
  const above = await aboveOf(context, body.parent_session_id);
  const now = new Date().toISOString();
  const artifacts = (body.artifacts ?? []).map((given, n) =>
    artifactOf(given, { newId: () => `${id}:${n}`, now }),
  );
  const allowed = both(stage.allowed, body.tools ?? null);
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
    carry: carryOf(body, context_policy),
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
  const begun = await handOver(context, { id, settings, input, allowed, imported, above }, body);
  if (wantsEvents(context.request) !== "no") return followed(context, begun);
  return handled(context, body.wait === true ? await done(context, id) : begun, 201);
}

export async function postSubAgent(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, subAgentBody);
  const { task, options: given = {}, parent_session_id } = body;
  const { name = "task", system = null, allowed_tools, returns, background = false, session_id } = given;
  const { fork = false, request: _, payload: __, research_questions: ___, ...more } = given;
  const { action_items: ____, workflow_stages: _____, verification_steps: ______, ...rest } = more;
  const options = withoutOwn(rest);
  const above = await aboveOf(context, parent_session_id);
  if (fork && above === null) {
    const message = "wants parent_session_id: whose transcript is to be copied?";
    throw new InputInvalid({
      reason: `options.fork ${message}`,
      errors: [{ path: "options.fork", message }],
    });
  }
  const id = session_id ?? (await idOf(context, "/sub-agents"));
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
    carry: carryOf({}, {}),
    execution: null,
    artifacts: [],
  };
  const input: RunInput = {
    prompt: task,
    system,
    publishes: context.publishes,
    options: { ...options, ...structured, ...(policy === null ? {} : { policy }) },
  };
  const imported = fork && parent_session_id !== undefined ? await copied(context, parent_session_id) : null;
  const allowed = allowed_tools ?? null;
  const begun = await handOver(context, { id, settings, input, allowed, imported, above }, body);
  if (background) return handled(context, begun, 201);
  const wait = waitIn(context.request);
  if (wait === "none") return later(begun);
  if (wantsEvents(context.request) !== "no") return followed(context, begun);
  const { result, error } = await done(context, id);
  if (result === null) throw thrownBy(error ?? {});
  return Response.json(shown(context, result), { headers: { "cache-control": "no-store" } });
}

/** Options of the run alone. */
function withoutOwn(options: NonNullable<SubAgentBody["options"]>): JsonObject {
  const own = ["name", "system", "allowed_tools", "returns", "background", "session_id", "fork"];
  const entries = Object.entries(plain(options) ?? {}).filter(([name]) => !own.includes(name));
  return Object.fromEntries(entries);
}

async function idOf(context: RequestContext, path: string): Promise<string> {
  const key = idempotencyKey(context.request);
  const name = key === null ? crypto.randomUUID().replaceAll("-", "") : await callName(context, key, path);
  return `task_${name.slice(0, 32)}`;
}

/** @throws ToolsRejected where nothing may be delegated below the session; CallNotFound */
async function aboveOf(context: RequestContext, session: string | undefined): Promise<Above | null> {
  if (session === undefined) return null;
  const above = await sessionOf(context, session).ask("ceilings", null);
  const reason = refusal(above, Date.now());
  if (reason !== null) throw new ToolsRejected({ tools: ["sub_agent"], reason });
  return above;
}

async function handOver(
  context: RequestContext,
  { id, settings, input, allowed, imported, above }: Handed,
  body: object,
): Promise<TaskHandle> {
  const session = sessionOf(context, id);
  const run = newRunId();
  const payer = above?.account ?? id;
  const account = `session:${payer}`;
  const { signal } = context.request;
  const host = await llmHost(context, { signal, session: payer, skill: null, account }, input.options.mock);
  const made = await agentSpec(context, host, input, { run, session: id });
  const cwd = settings.execution?.cwd;
  const placed = typeof cwd === "string" ? { ...made, cwd } : made;
  const spec = narrowed(withTools(placed, input, above, allowed), above ?? NO_CEILINGS, id);
  const parent =
    above === null || above.session_id === null
      ? null
      : { session_id: above.session_id, run_id: above.run_id, task_id: above.task_id };
  const request = await requestName(context, body);
  return session.ask("spawn_task", {
    spec: JSON.stringify(spec),
    settings: { ...settings, parent, token_budget: spec.token_budget },
    imported,
    listed: true,
    request,
  });
}

/** Where no tools are given, those of the session above. */
function withTools(
  spec: AgentSpec,
  { options }: RunInput,
  above: Above | null,
  allowed: string[] | null,
): AgentSpec {
  const own = ["tools", "skill", "skills", "workspace_tools", "mcp_servers"];
  const given = own.some((name) => options[name] !== undefined && options[name] !== null);
  const tools =
    given || above === null ? spec.tools : [...spec.tools, ...missing(toolsBelow(above.tools, null), spec)];
  return withNamed({ ...spec, tools }, allowed);
}

const missing = (tools: AgentSpec["tools"], spec: AgentSpec): AgentSpec["tools"] =>
  tools.filter((tool) => spec.tools.every(({ definition }) => definition.name !== tool.definition.name));

function both(a: string[] | null, b: string[] | null): string[] | null {
  return a === null || b === null ? (a ?? b) : a.filter((name) => b.includes(name));
}

/** Waits for its end. A failed task's error is thrown. */
async function done(context: RequestContext, id: string): Promise<TaskHandle> {
  const { task, thrown } = await sessionOf(context, id).ask("task_wait", { timeout_ms: null });
  if (thrown !== null) throw thrownBy(thrown);
  return task;
}

export function handled(context: RequestContext, task: TaskHandle, status = 200): Response {
  const located = status === 200 ? {} : { location: `/tasks/${task.id}` };
  return Response.json(shown(context, task), {
    status,
    headers: { ...located, "cache-control": "no-store" },
  });
}

function later({ id, child_run_id: run_id, status }: TaskHandle): Response {
  const document = { id, run_id, session_id: id, status };
  const headers = {
    location: `/tasks/${id}`,
    "cache-control": "no-store",
    "preference-applied": "respond-async",
  };
  return Response.json(document, { status: 202, headers });
}

async function followed(context: RequestContext, { id, child_run_id }: TaskHandle): Promise<Response> {
  return eventStream(await sessionOf(context, id).events(child_run_id, lastSeen(context.request, id)));
}

/** What the session above has said so far, as a conversation that can go on. */
async function copied(context: RequestContext, session: string): Promise<NonNullable<Handed["imported"]>> {
  const { visible, summary } = await sessionOf(context, session).ask("said", null);
  return { messages: withResults(visible), summary };
}

function importOf({ transcript }: TaskBody): Handed["imported"] {
  if (transcript === undefined) return null;
  const { messages } = readMessages(transcript.messages, "transcript.messages");
  return { messages, summary: transcript.summary ?? null };
}

function requestOf(given: Partial<TaskBody>, system: string | null): JsonObject {
  const { task = "", payload = null, research_questions = [], action_items = [] } = given;
  const { workflow_stages = [], verification_steps = [] } = given;
  const asked = { payload, research_questions, action_items, workflow_stages, verification_steps };
  return { ...NOTHING_ASKED, task, system, ...asked };
}

function carryOf({ carry = {} }: Partial<TaskBody>, context_policy: Carry["context_policy"]): Carry {
  return {
    artifact_mode: carry.artifact_mode ?? "inherit",
    transcript_mode: carry.transcript_mode ?? "inherit",
    context_policy,
    persist_state: carry.persist_state ?? true,
    retriggerable: carry.retriggerable ?? false,
    policy: plain(carry.policy),
  };
}
