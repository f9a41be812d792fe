/** Executes one attempt of a workflow's node: a run in a session of its own, or a command. */
import { firstOf } from "../../cut.ts";
import { narrowed, refusal } from "../../engine/agent/delegation.ts";
import { droppedTools, mayExecute } from "../../engine/agent/policy.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { sha256 } from "../../engine/sha256.ts";
import type { AttemptKey, Usage } from "../../engine/workflow/answers.ts";
import { artifactOf, type WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import { undoes } from "../../engine/workflow/compensation.ts";
import type { Node } from "../../engine/workflow/graph.ts";
import { mocksOf, placesUsed } from "../../engine/workflow/mock-script.ts";
import { consumedBy, itemsOf } from "../../engine/workflow/next.ts";
import { artifactIn, completed, failed } from "../../engine/workflow/outcomes.ts";
import {
  NO_USAGE,
  OUTCOME_UNKNOWN,
  type Outcome,
  type RecordedCalls,
} from "../../engine/workflow/records.ts";
import { fitted } from "../../engine/workflow/select-artifacts.ts";
import { stagePrompt, stageTexts } from "../../engine/workflow/stage-prompt.ts";
import { time, visitOf, type WorkflowState } from "../../engine/workflow/state.ts";
import { visitId } from "../../engine/workflow/trace.ts";
import { providedFor } from "../../engine/workflow/trial.ts";
import { commandParts, commandText, NO_OUTPUT } from "../../engine/workspace-tools/command-result.ts";
import { workspaceTools } from "../../engine/workspace-tools/definitions.ts";
import { PUBLIC_TENANT } from "../../env.ts";
import { ToolsRejected } from "../../errors/llm.ts";
import { newId } from "../../llm/transcript.ts";
import type { RunView } from "../../session/conversation/answers.ts";
import { defined, isObject, objectOf, textOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import { agentSpec } from "../agent/options.ts";
import type { RunContext } from "../context.ts";
import { judgedAlone } from "../handler/policy.ts";
import { llmHost } from "../llm-host.ts";
import { ignoreMissing, type SessionClient, sessionClient } from "../session-client.ts";
import { withToolsAbove } from "../task/child-spec.ts";
import type { TaskSettings } from "../task/handle.ts";
import { delegated, NOTHING_ASKED, ONCE } from "../task/sub-agent.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { runBash } from "../workspace-tools/bash.ts";
import { ceilingsOfAttempt } from "./ceilings.ts";
import { inputFault } from "./input-contract.ts";
import { plain, policyOf, type Stage, stageOf, withCommandEnvironment, withNamed } from "./stage.ts";

/** What an attempt needs from the object in which the run lives. */
interface AttemptPlace {
  context: RunContext;
  /** The run's own session. */
  session: string;
  /** Called with the session of an attempt, before it sends its events to the run's session. */
  announce: (child: string) => void;
  /** Name of the soft ledger that its calls count in. */
  account: string;
  workspace: WorkspaceAccess;
  known: KnownExecutions;
  signal: AbortSignal;
  /**
   * Call it once the attempt's work has begun elsewhere; if a test lets the process die there, it never returns. `null`:
   * no test does.
   */
  called: (() => Promise<void>) | null;
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

/** The id of the command's execution. A later run attempt follows the same execution. */
const executionOf = (run: string, { node, visit, attempt }: AttemptKey): string =>
  `wfx_${sha256(`${run}/${node}/${visit}/${attempt}`).slice(0, 32)}`;

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
  const consumed = consumedBy(state, visit);
  const wrong = inputFault(node, consumed);
  if (wrong !== null) return failed("error", "input_contract", wrong);
  const inputs = fitted(consumed, node.context_policy ?? {});
  if (node.kind === "verify") return verified(node, await verifyText(state, node, key, inputs, place, again));
  const item = key.item === undefined ? null : { at: key.item, all: itemsOf(node, consumed) };
  const shown = item === null ? inputs : itemInputs(item.all[item.at], node);
  const of = item === null ? null : { place: item.at + 1, of: item.all.length };
  return runStage(state, node, key, { prompt: promptOf(node, spec.task, shown, of), inputs: shown }, place);
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
      ? await asTask(begin, settingsOf(state, node, { stage, inputs, session: place, agent, key }))
      : await asStage(begin, announce, {
          workflow_run_id: spec.run_id,
          node_id: node.id,
          visit: key.visit,
          attempt: key.attempt,
        });
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
  const { policy } = agent.policies;
  return stageOutcome(node, objectOf(view.result ?? {}), inputs, { ...done, began, stage, policy });
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
    name: firstOf(node.task_label ?? node.id, 128),
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

/** Stops what an attempt began in an earlier run attempt. @throws a failure that a later run attempt can overcome */
export async function stopAttempt(
  { spec }: WorkflowState,
  key: AttemptKey,
  context: RunContext,
): Promise<void> {
  const id = stageSession(spec.run_id, key);
  const session = sessionClient(context, id);
  const task = spec.graph.nodes[key.node]?.kind === "subagent";
  const stopped = task
    ? session.ask("task_close", { request: null })
    : session.ask("cancel", { run_id: childRun(id) });
  await stopped.catch(ignoreMissing);
}

/**
 * The options of a stage's run, within all policies: its defaults, then those of the workflow run, then the node's. A
 * model chosen for the workflow run applies to every node.
 * @throws ToolsRejected if the other policies leave none of the tools that the node's own policy names
 */
function stageOptions(state: WorkflowState, node: Node, key: AttemptKey, stage: Stage): JsonObject {
  const { spec } = state;
  const { graph, options } = spec;
  const mock = mocksOf(state, key);
  const { max_concurrent: _, deadline_ms: __, ...shared } = options;
  const own = plain(stage.options.policy);
  const policy = policyOf([spec.policy, graph.capability_policy, own]);
  const lost = droppedTools(own, policy);
  if (lost.length > 0 && Array.isArray(own?.tools) && lost.length === own.tools.length) {
    const reason = `The policies of the run leave the node "${node.id}" none of its tools: ${lost.join(", ")}.`;
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
  inputs: readonly WorkflowArtifact[],
  at: {
    child_run_id: string;
    child_session_id: string;
    recorded: RecordedCalls;
    mocks_used?: number[];
    began: number;
    stage: Stage;
    policy: JsonObject | null;
  },
): Outcome {
  const text = textOf(result.visible_text) || textOf(result.text);
  const data = result.data ?? null;
  const { began, stage, policy, ...names } = at;
  const lineage = inputs.map(({ id }) => id);
  const said = { text, ...(data === null ? {} : { data }), source: at.child_run_id, lineage };
  const artifact = artifactIn(node, said, { newId, now: time(Date.now()) });
  const { iterations = null, tools_used = [], policy_dropped, status, stop_reason = null, warnings } = result;
  const shared: Partial<Outcome> = {
    ...names,
    text,
    reasoning: reasoningIn(result),
    artifacts: text === "" && data === null ? [] : [artifact],
    usage: usageOf(result, Date.now() - began),
    transcript: result.transcript ?? null,
    metadata: {
      session_id: at.child_session_id,
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

interface VerifyText {
  text: string;
  /** What models read about the command: its text, then how it ended. */
  report: string;
  /** The exit code of the command; `null`: there was no command, or it did not end by itself. */
  exit_code: number | null;
  /** Whether the command may or may not have taken effect. */
  unknown?: boolean;
  ran: Outcome | null;
}

const NOTHING_RAN = { text: "", report: "", exit_code: null };

/** The text that a verify node checks: what its command printed, without Hull's own lines, or what its agent said. */
async function verifyText(
  state: WorkflowState,
  node: Node,
  key: AttemptKey,
  inputs: readonly WorkflowArtifact[],
  place: AttemptPlace,
  again: boolean,
): Promise<VerifyText> {
  const { spec } = state;
  const command = node.verify?.command;
  if (command === undefined) {
    if (node.mode !== "agent") return { ...NOTHING_RAN, ran: null };
    const prompt = promptOf(node, spec.task, inputs, null);
    const ran = await runStage(state, node, key, { prompt, inputs }, place);
    return { text: ran.text, report: ran.text, exit_code: null, ran };
  }
  const { context, workspace, known, signal, called } = place;
  const mock = providedFor(spec.test?.commands, key);
  const { policy: outer = null, ceiling = null } = spec.above?.policies ?? {};
  const limits = policyOf([context.settings.policy, ceiling, outer]);
  const policy = policyOf([limits, spec.policy, spec.graph.capability_policy, node.capability_policy]);
  const refused =
    context.tenant === PUBLIC_TENANT
      ? "commands are for callers with a key"
      : mock === undefined && context.settings.workspace_tools.enabled === "never"
        ? "this deployment has no workspace tools"
        : !mayExecute(policy)
          ? "the side-effect ceiling is below process_exec"
          : bashIsRefused(limits, command)
            ? "the policy of the deployment, or of the session above, refuses such a call of Bash"
            : null;
  if (refused !== null) {
    const message = `The command of the node "${node.id}" may not run: ${refused}.`;
    return { ...NOTHING_RAN, ran: failed("error", "tool_rejected", message) };
  }
  if (mock !== undefined) {
    await called?.();
    const { exit_code, output } = mock;
    const remark = exit_code === null ? "it did not end by itself" : null;
    const end = { exit_code, remark, notKept: [], offline: false, memory_bytes: null };
    return { ...printed(commandText(command, output, end), exit_code), ran: null };
  }
  const execution = executionOf(spec.run_id, key);
  const result = await runBash(
    {
      args: { command, ...defined({ timeout_ms: node.timeout_ms }) },
      call_id: execution,
      execution,
      // Other commands of the workflow continue when this one is stopped.
      run: execution,
      again,
      cwd: spec.cwd ?? "",
      ...defined({ variables: spec.variables }),
      skill: null,
      own_stderr: true,
      signal,
    },
    { context, workspace, known, emit: () => {}, skills: { toRun: async () => [] }, skillsKey: "" },
  );
  const unknown = result.error_category === "cancelled";
  return { ...printed(result.content, result.exit_code ?? null), unknown, ran: null };
}

/** Whether a policy above the run refuses the command, as it would refuse a model that calls Bash with it. */
function bashIsRefused(policy: JsonObject | null, command: string): boolean {
  return workspaceTools(["Bash"], []).some(
    (bash) => judgedAlone(policy, bash, { command }).verdict === "deny",
  );
}

/** What a command printed on both outputs, and the report about it. @param content the text of its result */
function printed(content: string, exit_code: number | null): Omit<VerifyText, "ran"> {
  const report = content === NO_OUTPUT ? "" : content;
  return { text: commandParts(content, exit_code, "").stdout, report, exit_code };
}

/** Checks the text of a verify node. */
function verified(node: Node, { text, report, exit_code, unknown, ran }: VerifyText): Outcome {
  if (ran !== null && ran.branch === "error") return ran;
  const {
    command,
    assert_text,
    expect_text,
    expect_status = command === undefined ? undefined : 0,
  } = node.verify ?? {};
  const checks = [
    { check: "expect_status", wanted: expect_status, ok: exit_code === expect_status },
    { check: "assert_text", wanted: assert_text, ok: text.includes(assert_text ?? "") },
    { check: "expect_text", wanted: expect_text, ok: text.includes(expect_text ?? "") },
  ].flatMap(({ wanted, ...check }) => (wanted === undefined ? [] : [{ ...check, wanted }]));
  const ok = checks.every((check) => check.ok);
  const verification = { ok, exit_status: exit_code, checks };
  const made = { newId, now: time(Date.now()) };
  const artifact = artifactIn(node, { text: report, data: verification }, made);
  const shared: Partial<Outcome> = {
    text,
    artifacts: [artifact],
    verification,
    usage: ran?.usage ?? NO_USAGE,
    transcript: ran?.transcript ?? null,
    child_run_id: ran?.child_run_id ?? null,
    child_session_id: ran?.child_session_id ?? null,
    metadata: ran?.metadata ?? {},
    ...defined({ recorded: ran?.recorded, mocks_used: ran?.mocks_used }),
  };
  if (ok) return completed("verified", "passed", shared);
  if (unknown)
    return failed("failed", OUTCOME_UNKNOWN, `The node "${node.id}" lost its command. ${report}`, shared);
  const wrong = checks
    .filter((check) => !check.ok)
    .map(({ check, wanted }) => `${check} ${JSON.stringify(wanted)}`);
  const message = `The node "${node.id}" found ${wrong.join(" and ")} not fulfilled.`;
  return failed("failed", "verification_failed", message, shared);
}
