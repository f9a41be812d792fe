/** Executes one attempt of a workflow's node: a run in a session of its own, or a command. */
import { firstOf } from "../../cut.ts";
import { narrowed, refusal } from "../../engine/agent/delegation.ts";
import { droppedTools } from "../../engine/agent/policy.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { sha256 } from "../../engine/sha256.ts";
import type { AttemptKey, Usage } from "../../engine/workflow/answers.ts";
import { artifactOf, type WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import { undoes } from "../../engine/workflow/compensation.ts";
import type { Node } from "../../engine/workflow/graph.ts";
import { mocksOf, placesUsed } from "../../engine/workflow/mock-script.ts";
import { itemsOf } from "../../engine/workflow/next.ts";
import { artifactIn, completed, failed } from "../../engine/workflow/outcomes.ts";
import type { Outcome } from "../../engine/workflow/records.ts";
import { fitted } from "../../engine/workflow/select-artifacts.ts";
import { stagePrompt, stageTexts } from "../../engine/workflow/stage-prompt.ts";
import { time, visitOf, type WorkflowState } from "../../engine/workflow/state.ts";
import { visitId } from "../../engine/workflow/trace.ts";
import { providedFor } from "../../engine/workflow/trial.ts";
import { ToolsRejected } from "../../errors/llm.ts";
import { newId } from "../../llm/transcript.ts";
import type { RunView } from "../../session/conversation/answers.ts";
import { defined, isObject, objectOf, textOf, textsIn } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { agentSpec } from "../agent/options.ts";
import type { RunContext } from "../context.ts";
import { llmHost } from "../llm-host.ts";
import { ignoreMissing, type SessionClient, sessionClient } from "../session-client.ts";
import { withToolsAbove } from "../task/child-spec.ts";
import type { TaskSettings } from "../task/handle.ts";
import { delegated, NOTHING_ASKED, ONCE } from "../task/sub-agent.ts";
import { ceilingsOfAttempt } from "./ceilings.ts";
import { inputFault } from "./input-contract.ts";
import { plain, policyOf, type Stage, stageOf, withCommandEnvironment, withNamed } from "./stage.ts";
import { type CommandPlace, checkedCommand, NOTHING_RAN, saidBy, stopCommand, verified } from "./verify.ts";

/** What an attempt needs from the object in which the run lives. */
interface AttemptPlace extends CommandPlace {
  /** The run's own session. */
  session: string;
  /** Called with the session of an attempt, before it sends its events to the run's session. */
  announce: (child: string) => void;
  /** Name of the soft ledger that its calls count in. */
  account: string;
}

/** Options of the workflow run that win over those of its nodes. */
const OVERRIDES: readonly string[] = ["provider", "model", "model_tier", "temperature"];

/** The session in which an attempt runs. */
export function stageSession(run: string, { node, visit, attempt, item }: AttemptKey): string {
  const place = item === undefined ? "" : `.i${item}`;
  return `wfs_${sha256(`${run}/${node}/${visit}/${attempt}${place}`).slice(0, 32)}`;
}

/** Whether a session with these metadata is that of an attempt. */
export const isStage = ({ workflow_run_id }: JsonObject): boolean => workflow_run_id !== undefined;

/** All sessions in which attempts of a run have run or are running. */
export function childSessions(state: WorkflowState): string[] {
  const { run_id, graph } = state.spec;
  const ended = [...state.stages, ...state.compensations]
    .filter(({ id }) => id.startsWith(`${run_id}:`))
    .map((stage) => ({
      node: stage.node_id,
      visit: Number(stage.id.split(":").at(-1)),
      attempts: stage.attempts.length,
    }));
  const open = state.visits.map(({ attempts, ...at }) => ({ ...at, attempts: attempts.length + 1 }));
  return [...ended, ...open].flatMap(({ node, visit, attempts }) => {
    // If the journal has lost its graph, any node may have been a stage.
    const { kind = "stage", map_policy } = graph.nodes[node] ?? {};
    if (kind !== "stage" && kind !== "subagent" && kind !== "verify" && kind !== "map") return [];
    const items =
      kind !== "map"
        ? [undefined]
        : Array.from({ length: map_policy?.items?.length ?? state.artifacts.length }, (_, item) => item);
    return Array.from({ length: attempts }, (_, i) =>
      items.map((item) =>
        stageSession(run_id, { node, visit, attempt: i + 1, ...(item === undefined ? {} : { item }) }),
      ),
    ).flat();
  });
}

export const childRun = (session: string): string => session.replace(/^wfs_/, "run_");

/**
 * Executes an attempt, or follows the execution that an earlier run attempt began, under the same names.
 * @param again whether an earlier run attempt may have begun it
 * @throws a failure that a later run attempt can overcome: a broken connection, a process that died
 */
export async function carryOutAttempt(
  run: WorkflowState,
  key: AttemptKey,
  place: AttemptPlace,
  again: boolean,
): Promise<Outcome> {
  const state = within(run, key);
  const { spec } = state;
  const node = spec.graph.nodes[key.node];
  const visit = visitOf(state, key);
  if (node === undefined || visit === undefined)
    return failed("error", "internal_error", "The node is gone.");
  const wrong = inputFault(node, visit.inputs);
  if (wrong !== null) return failed("error", "input_contract", wrong);
  if (node.kind === "verify") {
    if (node.verify?.command !== undefined)
      return verified(node, await checkedCommand(state, node, key, place, again));
    if (node.mode !== "agent") return verified(node, NOTHING_RAN);
  }
  const { inputs, item } = inputsOf(node, key, visit.inputs);
  const prompt = promptOf(node, spec.task, inputs, item);
  const outcome = await runStage(state, node, key, { prompt, inputs }, place);
  return node.kind === "verify" ? verified(node, saidBy(outcome)) : outcome;
}

/** The artifacts that a run of an attempt reads, and the place of its item. */
function inputsOf(
  node: Node,
  { item }: AttemptKey,
  consumed: readonly WorkflowArtifact[],
): { inputs: readonly WorkflowArtifact[]; item: { place: number; of: number } | null } {
  if (item === undefined) return { inputs: fitted(consumed, node.context_policy ?? {}), item: null };
  const all = itemsOf(node, consumed);
  return { inputs: itemInputs(all[item], node), item: { place: item + 1, of: all.length } };
}

/**
 * The run as an attempt sees it. A compensation has a time limit of its own, so the run's deadline does not apply to it.
 */
function within(state: WorkflowState, key: AttemptKey): WorkflowState {
  const { spec } = state;
  const mock = providedFor(spec.test?.mocks, key);
  const node = spec.graph.nodes[key.node];
  const nodes =
    mock === undefined || node === undefined
      ? spec.graph.nodes
      : {
          ...spec.graph.nodes,
          [key.node]: { ...node, model_policy: { ...node.model_policy, provider: "mock", mock } },
        };
  const deadline = undoes(state, visitOf(state, key)) ? null : spec.deadline;
  return { ...state, spec: { ...spec, deadline, graph: { ...spec.graph, nodes } } };
}

function promptOf(
  node: Node,
  task: string,
  inputs: readonly WorkflowArtifact[],
  item: { place: number; of: number } | null,
): string {
  return stagePrompt(stageTexts(node), task, inputs, { render: node.context_policy?.render, item });
}

function itemInputs(
  item: WorkflowArtifact | { value: unknown } | undefined,
  { id }: Node,
): WorkflowArtifact[] {
  if (item === undefined) return [];
  if (!("value" in item)) return [item];
  const text = typeof item.value === "string" ? item.value : JSON.stringify(item.value);
  return [artifactOf({ kind: "item", title: "Item", text, stage: id }, { newId, now: time(0) })];
}

interface StageWork {
  prompt: string;
  inputs: readonly WorkflowArtifact[];
}

async function runStage(
  state: WorkflowState,
  node: Node,
  key: AttemptKey,
  { prompt, inputs }: StageWork,
  { context, session: place, announce, account, signal, called }: AttemptPlace,
): Promise<Outcome> {
  const { spec } = state;
  const id = stageSession(spec.run_id, key);
  const run = childRun(id);
  const names = { child_run_id: run, child_session_id: id };
  const above = ceilingsOfAttempt(state, place);
  const refused = refusal(above, Date.now());
  if (refused !== null) return failed("error", "tool_rejected", refused, names);
  const session = sessionClient(context, id);
  const stage = stageOf(node);
  const options = stageOptions(state, node, key, stage);
  const began = Date.now();
  const host = await llmHost(context, { signal, session: id, skill: null, account }, options.mock);
  const input = { prompt, system: stage.system, options, publishes: false };
  const made = await agentSpec(context, host, input, { run, session: id });
  // A single call has no round left for a tool's answer.
  const offered = stage.agent ? withToolsAbove(made, options, above.tools) : made;
  const placed = withCommandEnvironment(offered, spec);
  const agent = narrowed(withNamed(placed, stage.allowed), above, id);
  const begin = { context, session, run, agent, signal, called };
  const view =
    node.kind === "subagent"
      ? await asTask(begin, settingsOf(context, state, node, { stage, inputs, session: place, agent, key }))
      : await asStage(begin, announce, {
          workflow_run_id: spec.run_id,
          node_id: node.id,
          visit: key.visit,
          attempt: key.attempt,
        });
  const { policy } = agent.policies;
  return outcomeOf(state, node, key, { session, view, inputs, began, stage, policy });
}

/** A run of a stage that has ended. */
interface EndedStage {
  session: SessionClient;
  view: RunView;
  inputs: readonly WorkflowArtifact[];
  /** Unix ms. */
  began: number;
  stage: Stage;
  policy: JsonObject | null;
}

async function outcomeOf(
  state: WorkflowState,
  node: Node,
  key: AttemptKey,
  ended: EndedStage,
): Promise<Outcome> {
  const { session, view, began, stage } = ended;
  const run = childRun(session.id);
  const names = { child_run_id: run, child_session_id: session.id };
  const mocks_used = stage.options.mock === undefined ? await mocksUsed(state, key, session) : null;
  const recorded = await session.ask("recorded", { run_id: run });
  const done = { ...names, recorded, ...(mocks_used === null ? {} : { mocks_used }) };
  if (view.error !== undefined) {
    const { code, detail, category } = view.error;
    const usage = usageOf(objectOf(view.result ?? {}), Date.now() - began);
    const error = {
      code: String(code),
      ...(typeof category === "string" ? { category } : {}),
      message: String(detail),
    };
    return failed("error", error.code, error.message, { ...done, usage, error });
  }
  return stageOutcome(node, objectOf(view.result ?? {}), ended, done);
}

/** Places of the workflow run's mocks that are used up after a run of a stage; `null`: this run used none. */
async function mocksUsed(
  state: WorkflowState,
  key: AttemptKey,
  session: SessionClient,
): Promise<number[] | null> {
  if (!Array.isArray(state.spec.options.mock)) return null;
  const left = await session.ask("mocks_left", { run_id: childRun(session.id) });
  return Array.isArray(left) ? placesUsed(state, key, left) : null;
}

interface Begin {
  context: RunContext;
  session: SessionClient;
  run: string;
  agent: AgentSpec;
  signal: AbortSignal;
  called: (() => Promise<void>) | null;
}

/** A run in a session of its own, whose events appear among those of the workflow run. */
async function asStage(
  { session, run, agent, signal, called }: Begin,
  announce: (child: string) => void,
  metadata: JsonObject,
): Promise<RunView> {
  announce(session.id);
  signal.throwIfAborted();
  const stop = (): void => {
    // A later run attempt that begins the attempt again also stops it.
    session.ask("cancel", { run_id: run }).catch(() => {});
  };
  signal.addEventListener("abort", stop, { once: true });
  const start = (wait: "none" | "terminal"): Promise<RunView> =>
    session.ask("start", { run_id: run, work: { spec: agent }, request: null, wait, opens: metadata });
  try {
    if (called !== null) {
      await start("none");
      await called();
    }
    return await start("terminal");
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** A task of the workflow run: its events appear among those of the run, and it ends with the run. */
async function asTask(
  { context, session, run, agent, signal, called }: Begin,
  settings: TaskSettings,
): Promise<RunView> {
  signal.throwIfAborted();
  await delegated(context, session, { spec: agent, settings }, signal, called);
  return session.ask("run", { run_id: run });
}

function settingsOf(
  context: RunContext,
  { spec }: WorkflowState,
  node: Node,
  at: {
    stage: Stage;
    inputs: readonly WorkflowArtifact[];
    session: string;
    agent: AgentSpec;
    key: AttemptKey;
  },
): TaskSettings {
  const { stage, inputs, session, agent, key } = at;
  const stage_id = visitId(spec.run_id, key);
  return {
    name: firstOf(context.redacted(node.task_label ?? node.id), 128),
    task: spec.task,
    mode: "delegated_stage",
    request: { ...NOTHING_ASKED, task: spec.task, system: stage.system },
    stage: stage.texts,
    carry: { ...ONCE, context_policy: node.context_policy ?? {} },
    execution: null,
    artifacts: [...inputs],
    parent: { session_id: session, run_id: spec.run_id, task_id: null, stage_id },
    token_budget: agent.token_budget,
  };
}

/**
 * Stops what an attempt of a stopped run began in an earlier run attempt.
 * @returns the outcome of work that had already succeeded, which the run may have to undo; `null`: there is none
 * @throws a failure that a later run attempt can overcome
 */
export async function stopAttempt(
  run: WorkflowState,
  key: AttemptKey,
  place: AttemptPlace,
): Promise<Outcome | null> {
  const state = within(run, key);
  const node = state.spec.graph.nodes[key.node];
  if (node === undefined) return null;
  const outcome =
    node.verify?.command === undefined
      ? await stopStage(state, node, key, place.context)
      : await stopCommand(state, node, key, place);
  return outcome?.status === "completed" ? outcome : null;
}

async function stopStage(
  state: WorkflowState,
  node: Node,
  key: AttemptKey,
  context: RunContext,
): Promise<Outcome | null> {
  const visit = visitOf(state, key);
  if (visit === undefined) return null;
  const session = sessionClient(context, stageSession(state.spec.run_id, key));
  const run_id = childRun(session.id);
  try {
    if (node.kind === "subagent") await session.ask("task_close", { request: null });
    else await session.ask("cancel", { run_id });
    const view = await session.ask("run", { run_id });
    if (view.error !== undefined || view.result === undefined) return null;
    const { inputs } = inputsOf(node, key, visit.inputs);
    const ran = { session, view, inputs, began: visit.began, stage: stageOf(node), policy: null };
    const outcome = await outcomeOf(state, node, key, ran);
    return node.kind === "verify" ? verified(node, saidBy(outcome)) : outcome;
  } catch (error) {
    ignoreMissing(error);
    return null;
  }
}

/**
 * The options of a stage's run, within all policies: its defaults, then those of the workflow run, then the node's. A
 * model chosen for the workflow run applies to every node.
 * @throws ToolsRejected if the policies leave none of the tools that the node asks for, or that its own policy names
 */
function stageOptions(state: WorkflowState, node: Node, key: AttemptKey, stage: Stage): JsonObject {
  const { spec } = state;
  const { graph, options } = spec;
  const mock = mocksOf(state, key);
  const { max_concurrent: _, deadline_ms: __, ...shared } = options;
  const own = plain(stage.options.policy);
  const policy = policyOf([spec.policy, graph.capability_policy, own]);
  const asked = stage.allowed ?? textsIn(own?.tools) ?? [];
  const lost = droppedTools({ tools: asked }, policy);
  if (lost.length > 0 && lost.length === asked.length) {
    const reason = `The policies of the run and of the node "${node.id}" leave it none of its tools: ${lost.join(", ")}.`;
    throw new ToolsRejected({ tools: lost, reason });
  }
  const approvals = node.approval_policy ?? graph.approval_policy;
  const overriding = Object.entries(shared).filter(([name]) => OVERRIDES.includes(name));
  return {
    ...stage.defaults,
    ...shared,
    ...(mock === null ? {} : { mock }),
    ...stage.options,
    ...Object.fromEntries(overriding),
    ...(policy === null ? {} : { policy }),
    ...(approvals === undefined ? {} : { approval_policy: plain(approvals) }),
  };
}

function stageOutcome(
  node: Node,
  result: JsonObject,
  { session, inputs, began, stage, policy }: EndedStage,
  done: Partial<Outcome>,
): Outcome {
  const text = textOf(result.visible_text) || textOf(result.text);
  const data = result.data ?? null;
  const lineage = inputs.map(({ id }) => id);
  const said = { text, ...(data === null ? {} : { data }), source: childRun(session.id), lineage };
  const artifact = artifactIn(node, said, { newId, now: time(Date.now()) });
  const { iterations = null, tools_used = [], policy_dropped, status, stop_reason = null, warnings } = result;
  const shared: Partial<Outcome> = {
    ...done,
    text,
    reasoning: reasoningIn(result),
    artifacts: text === "" && data === null ? [] : [artifact],
    usage: usageOf(result, Date.now() - began),
    transcript: result.transcript ?? null,
    metadata: {
      session_id: session.id,
      iterations,
      tools_used,
      stop_reason,
      ...(policy === null ? {} : { policy }),
      ...defined({ warnings, policy_dropped }),
    },
  };
  // A delegated task is complete, as its handle says, even if its agent was stuck or had used up its budget.
  if (node.kind === "subagent" && status !== "failed")
    return completed("subagent_completed", "success", shared);
  // A single call without tools is complete.
  if (status === "done" || !stage.agent) return completed("success", "success", shared);
  const ended = textOf(status);
  return failed("failed", ended, `The run of the stage "${node.id}" ended as ${ended}.`, shared);
}

function usageOf(result: JsonObject, total_duration_ms: number): Usage {
  const number = (value: Json | undefined): number => (typeof value === "number" ? value : 0);
  const models = eventsIn(result, "provider_payload").flatMap(({ metadata }) => {
    const { model } = objectOf(metadata);
    return typeof model === "string" ? [model] : [];
  });
  return {
    input_tokens: number(result.input_tokens),
    output_tokens: number(result.output_tokens),
    total_duration_ms,
    call_count: number(result.iterations),
    total_cost: number(result.cost_usd),
    ...(result.price_known === false ? { price_known: false } : {}),
    models: [...new Set(models)],
  };
}

/** The events of a kind in the transcript of a run's result. */
function eventsIn({ transcript }: JsonObject, kind: string): JsonObject[] {
  const { events } = objectOf(transcript);
  return Array.isArray(events) ? events.filter(isObject).filter((event) => event.kind === kind) : [];
}

/** The reasoning of a run's models; `null`: none. */
function reasoningIn(result: JsonObject): string | null {
  const texts = eventsIn(result, "private_reasoning").map(({ text }) => textOf(text));
  return texts.length === 0 ? null : texts.join("\n\n");
}
