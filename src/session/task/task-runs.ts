/** Begins the runs of a task: the first one, and those that a further request asks for. */
import { intersectPolicies } from "../../engine/agent/policy.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import type { WorkflowSpec } from "../../engine/workflow/records.ts";
import { selectArtifacts } from "../../engine/workflow/select-artifacts.ts";
import { stagePrompt } from "../../engine/workflow/stage-prompt.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { HullError } from "../../errors.ts";
import { detachedContext } from "../../run/context.ts";
import { sessionClient } from "../../run/session-client.ts";
import type { TaskSettings } from "../../run/task/handle.ts";
import { nextRun } from "../../run/workflow/again.ts";
import type { Json } from "../../skill/manifest.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { forkInto } from "../conversation/fork.ts";
import { compaction } from "../conversation/manual-compaction.ts";
import type { SessionCaller } from "../conversation/rpc.ts";
import type { ConversationStore, SessionRow } from "../conversation/store.ts";
import type { NamedRequest } from "../named-request.ts";
import { type AskAbove, checkBelow } from "./lineage.ts";
import type { TaskOperations, TaskWork } from "./rpc.ts";
import type { Cycle, TaskRow } from "./store.ts";
import type { Task } from "./task.ts";

/** A request for a further run of a task. */
interface FurtherRun {
  action: Cycle["action"];
  run_id: string;
  task: string;
  /** Data that the model reads in addition to the task. */
  payload?: Json;
  request: NamedRequest;
}

/** The session of an operation, and who called it. */
export interface OperationContext {
  session: SessionRow;
  caller: SessionCaller;
}

/** How to compact a conversation before the next run: without a model. */
const TRUNCATE_WITHOUT_MODEL = {
  strategy: "truncate",
  keep_first: 0,
  keep_last: 2,
  summary: null,
  options: null,
} as const;

export class TaskRuns {
  readonly #conversation: Conversation;
  readonly #task: Task;

  constructor(conversation: Conversation, task: Task) {
    this.#conversation = conversation;
    this.#task = task;
  }

  get #store(): ConversationStore {
    return this.#conversation.log.store;
  }

  /**
   * Creates the session unless it exists, and begins the task's first run unless it has begun. Returns whether it
   * created the session.
   */
  async spawn(
    { work, settings: asked, imported, request }: TaskOperations["spawn_task"]["in"],
    caller: SessionCaller,
  ): Promise<boolean> {
    const conversation = this.#conversation;
    const task = this.#task;
    const { log } = conversation;
    const { run_id: run } = "agent" in work ? work.agent : work.workflow;
    let settings = asked;
    const parent_id = settings.parent?.session_id ?? null;
    const request_hash = imported === null ? null : (request?.name ?? run);
    const of = { metadata: {}, request_hash, parent_id };
    const created = await conversation.open(caller, { ...of, imported }, false);
    const session = await conversation.ready(caller);
    // A request that is repeated after a day is recognised by the id of its run.
    const known = (): boolean =>
      settings.mode === "workflow" ? task.workflow.here : this.#store.run(run) !== null;
    // In earlier versions of Hull, a workflow's sub-agent was a run without a task. The task takes over such a run.
    const adopts = (): boolean => settings.mode !== "workflow" && known() && task.store.row() === null;
    if (request === null ? !known() || adopts() : !conversation.knows(request)) {
      // A new session has no sessions below it, so the check is not needed.
      settings = await this.#announceToParent(settings, caller, !created);
      await task.saved();
    }
    conversation.once(request, () => {
      const adopted = adopts();
      if (known() && !adopted) return null;
      const created_at = task.store.row()?.created_at ?? log.now();
      if (adopted) {
        log.append([], { events: () => [task.update(settings, "running")] });
      } else {
        conversation.active(session);
        conversation.quiet(session);
        this.#begin(work, settings, caller);
      }
      const { artifacts } = settings;
      const fresh = { closed_at: null, thrown: false };
      task.begun(
        { run, created_at, ...fresh, settings, artifacts },
        { action: "spawn", task: settings.task },
      );
      return null;
    });
    return created;
  }

  /** Begins a further run, unless the same request has begun it. */
  async startNext(
    { action, run_id, task: text, payload, request }: FurtherRun,
    row: TaskRow,
    { session, caller }: OperationContext,
  ): Promise<void> {
    const conversation = this.#conversation;
    const task = this.#task;
    const { settings } = row;
    // A request asked for this run. The session above did not, even if one of its runs asked for the first run.
    const own = settings.parent === null ? null : { ...settings.parent, run_id: null };
    const next: TaskSettings = { ...settings, task: text, parent: own };
    if (!conversation.knows(request)) {
      await this.#announceToParent(next, caller, false).catch(ignoreMissing);
      // Writes the handle of the previous run to the session's files while that run is still the last one.
      await task.saved();
      await conversation.changing((removed) => this.#prepareConversation(row, { session, caller, removed }));
    }
    conversation.once(request, () => {
      conversation.active(session);
      conversation.quiet(session);
      const artifacts = task.carried(row);
      const run = next.mode === "workflow" ? runAfter(row) : run_id;
      const work =
        next.mode === "workflow"
          ? { workflow: this.#nextWorkflow(next, { run_id: run, artifacts, payload }) }
          : { agent: this.#nextSpec(row, next, { run_id, artifacts, payload }) };
      this.#begin(work, next, caller);
      const { created_at } = row;
      const fresh = { closed_at: null, thrown: false };
      task.begun({ run, created_at, ...fresh, settings: next, artifacts }, { action, task: text });
      return null;
    });
    task.workflow.look();
  }

  /**
   * Announces the run to the session above before the run begins.
   * @param newlyBelow whether this session already exists and was not below that session before
   * @throws TooManyDelegated; InputInvalid if the session above is itself below this one
   */
  async #announceToParent(
    settings: TaskSettings,
    { tenant, id }: SessionCaller,
    newlyBelow: boolean,
  ): Promise<TaskSettings> {
    const { parent } = settings;
    if (parent === null) return settings;
    const { log, deployment, background } = this.#conversation;
    const origin = { requestId: crypto.randomUUID(), tenant, startedAt: log.now() };
    const context = detachedContext(deployment, origin, background);
    const askAbove: AskAbove = async (session) =>
      (await sessionClient(context, session).ask("above", null).catch(ignoreMissing))?.session_ids ?? [];
    if (newlyBelow) await checkBelow(id, parent.session_id, askAbove);
    const above = sessionClient(context, parent.session_id);
    const { task_id } = await above.ask("delegate", { child: id, run_id: parent.run_id });
    return { ...settings, parent: { ...parent, task_id } };
  }

  /** Brings the conversation into the form in which the next run starts. */
  async #prepareConversation(
    row: TaskRow,
    { session, caller, removed }: OperationContext & { removed: AbortSignal },
  ): Promise<void> {
    const { env, log, files } = this.#conversation;
    switch (row.settings.carry.transcript_mode) {
      case "inherit":
        return;
      case "reset":
        log.add([{ type: "session_reset" }], { write: () => this.#store.touch(log.now()) });
        return;
      case "fork": {
        const dst = `${session.id}.${this.#task.store.cycles().length}`;
        const { request_id } = caller;
        await forkInto({ env, log, files }, session, { dst, keep_first: null, request: dst, request_id });
        removed.throwIfAborted();
        this.#store.addChild(dst);
        return;
      }
      case "compact": {
        const run_id = `compact-${this.#store.lastRecord()}`;
        const by = { session, caller, run_id, prepared: null };
        const compact = await compaction(this.#conversation, TRUNCATE_WITHOUT_MODEL, { ...by, removed });
        compact();
      }
    }
  }

  /** Begins a run of the task and tells watchers. */
  #begin(work: TaskWork, settings: TaskSettings, { id, request_id, mock_scope }: SessionCaller): void {
    const { log, runs } = this.#conversation;
    const running = this.#task.update(settings, "running");
    if ("agent" in work) {
      runs.start(work.agent, { request_id, mock_scope }, { events: [running] });
      return;
    }
    const account = accountIn(work.workflow, id);
    this.#task.workflow.begin(work.workflow, { account, request_id, mock_scope });
    log.append([], { events: () => [running] });
  }

  #nextWorkflow({ task: text, carry }: TaskSettings, { run_id, artifacts, payload }: NextRun): WorkflowSpec {
    const { context_policy, policy, resume_workflow: resumes = true } = carry;
    const shown = selectArtifacts(artifacts, context_policy);
    const asked = { run_id, task: withPayload(text, payload), artifacts: shown, policy, resumes };
    return nextRun(this.#task.workflow.state(), asked, this.#conversation.log.now());
  }

  #nextSpec(
    { run }: TaskRow,
    { stage, carry, task: text, parent }: TaskSettings,
    { run_id, artifacts, payload }: NextRun,
  ): AgentSpec {
    const { runs, deployment, log } = this.#conversation;
    const before = runs.specOf(run);
    const { policies, delegation, deadline } = before;
    const policy = [deployment.settings.policy ?? null, carry.policy].reduce(
      intersectPolicies,
      policies.policy,
    );
    const memo = this.#store.run(before.run_id)?.memo ?? null;
    const input = withPayload(text, payload);
    const { context_policy } = carry;
    const shown = selectArtifacts(artifacts, context_policy);
    const prompt =
      stage === null ? input : stagePrompt(stage, input, shown, { render: context_policy.render });
    const above = parent === null ? null : { session_id: parent.session_id, run_id: null };
    return {
      ...before,
      run_id,
      prompt: [{ role: "user", content: [{ type: "text", text: prompt }] }],
      policies: { ...policies, policy },
      call: memo === null ? before.call : { ...before.call, mock: JSON.parse(memo) },
      ...(delegation === undefined ? {} : { delegation: { ...delegation, parent: above } }),
      ...(deadline === undefined ? {} : { deadline: { at: log.now() + deadline.ms, ms: deadline.ms } }),
    };
  }
}

/** What a further run begins with. */
interface NextRun {
  run_id: string;
  artifacts: WorkflowArtifact[];
  payload: Json | undefined;
}

/** Id of the next workflow run of the same task. */
function runAfter({ run }: TaskRow): string {
  const [first = run, count = "1"] = run.split(".r");
  return `${first}.r${Number(count) + 1}`;
}

/** Name of the soft ledger in which a workflow's calls count. */
const accountIn = ({ above }: WorkflowSpec, session: string): string =>
  `session:${above?.account ?? session}`;

const withPayload = (text: string, payload: Json | undefined): string =>
  payload === undefined ? text : `${text}\n\n<payload>\n${JSON.stringify(payload, null, 2)}\n</payload>`;

/** If a session above was removed, there is nobody to inform, and nothing is above it. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof HullError) || error.code !== CallNotFound.code) throw error;
}
