/** Executes a model's call of `sub_agent`: a run in a session of its own, whose answer is the call's result. */

import { firstOf } from "../../cut.ts";
import { plainResult } from "../../engine/agent/call-results.ts";
import { refusal } from "../../engine/agent/delegation.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import { skillCalled } from "../../engine/agent/skill-prefix.ts";
import { LOAD_SKILL } from "../../engine/agent/skills.ts";
import type { AgentSkill, AgentSpec, Ceilings } from "../../engine/agent/spec.ts";
import type { RunState } from "../../engine/agent/state.ts";
import type { AgentEffectContext, PlannedCall } from "../../engine/agent/step.ts";
import type { Spent } from "../../engine/shares.ts";
import { isFaultCategory } from "../../engine/tool-fault.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { HullError, Internal } from "../../errors.ts";
import { logFault } from "../../log.ts";
import { readFrames } from "../../model/frames.ts";
import { objectOf, textOf, textsIn } from "../../skill/json.ts";
import { SUB_AGENT } from "../../skill/tool-names.ts";
import type { RunContext } from "../context.ts";
import { eventOf, type RunEvent } from "../events.ts";
import { calledWith, ownInstructions } from "../own-skill.ts";
import { type SessionClient, sessionClient } from "../session-client.ts";
import { type ChildTask, childSpec } from "./child-spec.ts";
import type { TaskHandle, TaskSettings } from "./handle.ts";
import { parentEvents } from "./parent-event.ts";

interface Below {
  context: RunContext;
  /** The specification of the run that delegates. */
  spec: AgentSpec;
  emit: (event: RunEvent) => void;
}

/** A run for another session, and its settings as a task. */
interface Delegated {
  spec: AgentSpec;
  settings: TaskSettings;
}

/**
 * Starts the sub-agent, or finds the one that an earlier run attempt started, and waits for its envelope, which is the
 * call's result.
 */
export async function runSubAgent(
  planned: PlannedCall,
  above: Ceilings,
  { context, spec: parent, emit }: Below,
  at: AgentEffectContext,
): Promise<AgentToolResult> {
  const asked = childAsked(planned, parent);
  if (typeof asked === "string") return plainResult("error", asked, "schema_validation");
  const started = Date.now();
  const refused = refusal(above, started);
  if (refused !== null) return rejected(refused);
  const id = childOf(at);
  const run_id = `${at.run}_${at.effect}`;
  const session = sessionClient(context, id);
  try {
    const spec = childSpec(parent, above, { run_id, session_id: id }, asked);
    const name = firstOf(context.redacted(asked.name), 128);
    const settings = settingsOf({ ...asked, name }, above, spec);
    // A child sends its events to a session above. Without one, this run must emit them, unless an earlier run attempt
    // has already emitted what it saw.
    const unseen = above.session_id === null && !planned.again;
    const follow = unseen ? () => relayChildEvents(context, session, settings, run_id, at, emit) : null;
    const { task, spent } = await delegated(context, session, { spec, settings }, at.signal, follow);
    return { ...answerOf(task), spent, duration_ms: Date.now() - started };
  } catch (error) {
    if (at.signal.aborted || !(error instanceof HullError)) throw error;
    if (error.code === "tool_rejected" || error.code === "too_many_delegated") return rejected(error.message);
    throw error;
  }
}

interface NamedTask extends ChildTask {
  name: string;
}

/** What the call asks of a child; a text: what is wrong with it. */
function childAsked({ call, forked }: PlannedCall, spec: AgentSpec): NamedTask | string {
  if (forked !== undefined) return { ...workOf(forked.skill, forked.task, spec), allowed: null };
  const { task, agent, name, instructions, tools } = call.arguments ?? {};
  if (typeof task !== "string" || task.trim() === "")
    return "sub_agent needs a task: a string that says what to do.";
  const { agents = [] } = spec;
  const chosen = textOf(agent) === "" ? undefined : agentCalled(textOf(agent), agents);
  if (textOf(agent) !== "" && chosen === undefined) return noAgent(textOf(agent), agents);
  const work = chosen === undefined ? { name: "task", task, system: "" } : workOf(chosen, task, spec);
  const system = [work.system, textOf(instructions)].filter((text) => text !== "").join("\n\n");
  return { ...work, name: textOf(name) || work.name, system, allowed: textsIn(tools) };
}

/** The work of a child that carries out a skill. */
function workOf(
  skill: AgentSkill,
  task: string,
  { session_id, skills }: AgentSpec,
): Omit<NamedTask, "allowed"> {
  const system = ownInstructions(skill, { session_id, input: task, skills });
  return { name: skill.name, task, system, skill: calledWith(skill, task) };
}

/** The agent that a name means; one that is served as `plugin--name` also by the name that texts of its plugin use. */
const agentCalled = (given: string, agents: readonly AgentSkill[]): AgentSkill | undefined =>
  skillCalled(given, agents) ?? agents.find(({ name }) => name.endsWith(`--${given}`));

function noAgent(given: string, agents: readonly AgentSkill[]): string {
  const known =
    agents.length === 0 ? "The run has none" : `There are: ${agents.map(({ name }) => name).join(", ")}`;
  return `There is no agent ${JSON.stringify(given)}. ${known}; without agent, one works that knows nothing but the task.`;
}

/**
 * Begins a run in a session of its own, or finds the run that was begun under its id, and waits for its end. An aborted
 * signal closes it.
 * @param begun called once the run has begun
 * @throws TooManyDelegated from the session above, and the signal's reason
 */
export async function delegated(
  context: RunContext,
  session: SessionClient,
  { spec, settings }: Delegated,
  signal: AbortSignal,
  begun: (() => Promise<void>) | null = null,
): Promise<{ task: TaskHandle; spent: Spent }> {
  await session.ask("spawn_task", {
    work: { agent: spec },
    settings,
    imported: null,
    listed: false,
    wait: false,
    request: null,
  });
  const followed = begun?.();
  const { task, spent } = await ended(context, session, signal);
  await followed;
  return { task, spent };
}

/** The session of the child that a call begins. The same work has the same name in every run attempt. */
const childOf = ({ run, effect }: Pick<AgentEffectContext, "run" | "effect">): string => `${run}.${effect}`;

/** Ends what the calls of a run that was stopped may have begun. It never rejects. */
export async function closeChildren(context: RunContext, { spec, calls }: RunState): Promise<void> {
  const open = calls.filter(({ stage, call }) => stage === "started" && DELEGATING.includes(call.name));
  await Promise.all(
    open.map(({ effect }) => close(context, sessionClient(context, childOf({ run: spec.run_id, effect })))),
  );
}

/** A sub-agent that executes a skill begins when the model loads the skill. */
const DELEGATING: readonly string[] = [SUB_AGENT, LOAD_SKILL];

/** Ends a child, if it was begun. It never rejects. */
async function close(context: RunContext, session: SessionClient): Promise<void> {
  await session.ask("task_close", { request: null }).catch((error: unknown) => {
    if (CallNotFound.matches(error)) return;
    logFault(context, { event: "delegate_not_closed", child: session.id }, error);
  });
}

/** Waits for the end. If the run is stopped, stops the delegated run, too. */
async function ended(context: RunContext, session: SessionClient, signal: AbortSignal) {
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => {});
  const stop = (): void => {
    context.background(close(context, session));
    stopped.reject(signal.reason);
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    signal.throwIfAborted();
    return await Promise.race([
      session.ask("task_wait", { timeout_ms: null, until: "end" }),
      stopped.promise,
    ]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function settingsOf({ task, name }: NamedTask, above: Ceilings, spec: AgentSpec): TaskSettings {
  const { session_id, run_id } = above;
  return {
    name,
    task,
    mode: "sub_agent",
    request: { task, system: spec.system === "" ? null : spec.system, ...NOTHING_ASKED },
    stage: null,
    carry: ONCE,
    execution: null,
    artifacts: [],
    parent: session_id === null ? null : { session_id, run_id, task_id: null },
    token_budget: spec.token_budget,
  };
}

/** The request members of a task whose caller set none of them. */
export const NOTHING_ASKED = {
  payload: null,
  research_questions: [],
  action_items: [],
  workflow_stages: [],
  verification_steps: [],
};

/** The settings of a task that runs only once. */
export const ONCE: TaskSettings["carry"] = {
  artifact_mode: "none",
  transcript_mode: "inherit",
  context_policy: {},
  persist_state: false,
  retriggerable: false,
  policy: null,
};

/** The text that the model reads: the envelope, or why there is none. */
function answerOf({ result, status, error }: TaskHandle): AgentToolResult {
  const envelope = result ?? { ok: false, status, error: objectOf(error).detail ?? null };
  const { ok, error: fault } = envelope;
  const category = objectOf(fault).category;
  const content = JSON.stringify(envelope, null, 2);
  const failed = isFaultCategory(category) ? category : "tool_error";
  return {
    ...plainResult(ok === true ? "ok" : "error", content, ok === true ? null : failed),
    value: envelope,
    retryable: false,
  };
}

function rejected(reason: string): AgentToolResult {
  const content = JSON.stringify({ error: "tool_rejected", tool: "sub_agent", reason });
  return plainResult("rejected", content, "tool_rejected");
}

/** Characters of one event, and bytes of all events. */
const MAX_EVENT = 40 * 1024 * 1024;
const MAX_BYTES = 256 * 1024 * 1024;

/** Emits the events as they come. A failure here does not fail the run: its answer does not depend on these events. */
async function relayChildEvents(
  context: RunContext,
  session: SessionClient,
  { name, task }: TaskSettings,
  run_id: string,
  { run: parent_run_id, signal }: AgentEffectContext,
  emit: (event: RunEvent) => void,
): Promise<void> {
  const of = { run_id, parent_run_id, session_id: session.id, name, task, sub_agent: true };
  const broken = (reason: string) => new Internal({ cause: `events of ${run_id}: ${reason}` });
  try {
    const body = await session.events(run_id, 0);
    await readFrames(
      body,
      {
        framing: "sse",
        max_event: MAX_EVENT,
        max_bytes: MAX_BYTES,
        signal,
        unusable: broken,
        cutOff: broken,
      },
      ({ event = "", data }) => {
        const sent = eventOf(event, data);
        for (const shown of parentEvents(sent, of)) emit(shown);
        return sent.event === "done";
      },
    );
  } catch (error) {
    if (!signal.aborted) logFault(context, { event: "events_not_sent", run_id }, error);
  }
}
