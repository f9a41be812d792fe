/** Begins the runs of a task: the first one, and those that a further request asks for. */
import { NO_CEILINGS } from "../../engine/agent/delegation.ts";
import { intersectPolicies } from "../../engine/agent/policy.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Share } from "../../engine/shares.ts";
import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import type { WorkflowSpec } from "../../engine/workflow/records.ts";
import { selectArtifacts } from "../../engine/workflow/select-artifacts.ts";
import { stagePrompt } from "../../engine/workflow/stage-prompt.ts";
import { TaskClosed, TaskRunning } from "../../errors/task.ts";
import { ignoreMissing, sessionClient } from "../../run/session-client.ts";
import type { TaskSettings } from "../../run/task/handle.ts";
import { nextRun } from "../../run/workflow/next-run.ts";
import type { Json } from "../../skill/manifest.ts";
import type { Conversation, OperationContext } from "../conversation/conversation.ts";
import { forkInto } from "../conversation/fork.ts";
import { compaction } from "../conversation/manual-compaction.ts";
import type { SessionCaller } from "../conversation/rpc.ts";
import type { ConversationStore } from "../conversation/store.ts";
import { type NamedRequest, nameAndContent } from "../named-request.ts";
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
  /** Resolves once the run that is about to begin has begun or failed. */
  #announcing: Promise<unknown> = Promise.resolve();

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
    { work, settings: asked, imported, listed, request }: TaskOperations["spawn_task"]["in"],
    caller: SessionCaller,
  ): Promise<boolean> {
    const conversation = this.#conversation;
    const task = this.#task;
    const { log } = conversation;
    const { run_id: run } = "agent" in work ? work.agent : work.workflow;
    const parent_id = asked.parent?.session_id ?? null;
    const unnamed = imported === null ? null : run;
    const request_hash = request === null ? unnamed : nameAndContent(request);
    const of = { metadata: {}, request_hash, parent_id };
    const created = await conversation.open(caller, { ...of, imported }, false);
    await conversation.ready(caller);
    // A request that is repeated after a day is recognised by the id of its run.
    const known = (): boolean =>
      asked.mode === "workflow" ? task.workflow.here : this.#store.runs.find(run) !== null;
    // In earlier versions of Hull, a workflow's sub-agent was a run without a task. The task takes over such a run.
    const adopts = (): boolean => asked.mode !== "workflow" && known() && task.store.row() === null;
    const begin = (announced: Announced): void => {
      const { settings } = announced;
      conversation.once(request, () => {
        const adopted = adopts();
        if (known() && !adopted) return;
        const created_at = task.store.row()?.created_at ?? log.now();
        const { artifacts } = settings;
        const cycle = { action: "spawn", run, created_at, artifacts } as const;
        if (adopted) return this.#begin(cycle, null, announced, caller);
        conversation.checkActive();
        conversation.checkIdle();
        this.#begin(cycle, work, announced, caller);
      });
    };
    if (request === null ? !known() || adopts() : !conversation.knows(request)) {
      // A new session has no sessions below it, so the check is not needed.
      const asks = listed ? { task_run: run, ...budgetsOf(asked, work) } : null;
      await this.#announced({ settings: asked, caller, newlyBelow: !created, asks }, async (announced) => {
        await task.saved();
        begin(announced);
      });
    } else begin({ settings: asked, granted: null });
    return created;
  }

  /** Which of these runs have begun. Waits for one that is about to begin. */
  async begun(runs: readonly string[]): Promise<string[]> {
    await this.#announcing;
    const last = this.#task.store.row()?.run;
    return runs.filter((run) => run === last || this.#store.runs.find(run) !== null);
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
    const run = next.mode === "workflow" ? runAfter(row) : run_id;
    /** Throws if another request has closed the task or begun a run of it meanwhile. */
    const check = (): void => {
      conversation.checkActive();
      const now = task.row();
      if (now.closed_at !== row.closed_at) throw new TaskClosed({ task: session.id });
      if (now.run !== row.run) throw new TaskRunning({ task: session.id });
    };
    const begin = (announced: Announced): void => {
      check();
      conversation.checkIdle();
      const artifacts = task.carried(row);
      const work = this.#nextWork(row, announced.settings, { run_id: run, artifacts, payload });
      this.#begin({ action, run, created_at: row.created_at, artifacts }, work, announced, caller);
    };
    // Throws if the request of this name asked for something else.
    if (conversation.answerTo(request) === null) {
      const before = { run_id: row.run, artifacts: [], payload: undefined };
      const asks = { task_run: run, ...budgetsOf(next, this.#nextWork(row, next, before)) };
      await this.#announced({ settings: next, caller, newlyBelow: false, asks }, async (announced) => {
        // Writes the handle of the previous run to the session's files while that run is still the last one.
        await task.saved();
        await conversation.unchanging();
        // The same request may have come twice, and have begun its run meanwhile.
        if (!conversation.knows(request)) check();
        await conversation.changing(request, async (removed) => {
          await this.#prepareConversation(row, { session, caller, removed });
          return () => begin(announced);
        });
      });
    }
    task.workflow.look();
  }

  /**
   * Announces the run to the session above, then begins it. Where that fails, the session above learns that, too.
   * @throws TooManyDelegated; ToolsRejected if no budget is left for the run; InputInvalid if the session above is itself
   * below this one
   */
  #announced(announcement: Announcement, begin: (announced: Announced) => Promise<void>): Promise<void> {
    const announced = this.#announce(announcement, begin);
    this.#announcing = Promise.allSettled([this.#announcing, announced]);
    return announced;
  }

  async #announce(
    { settings, caller: { id }, newlyBelow, asks }: Announcement,
    begin: (announced: Announced) => Promise<void>,
  ): Promise<void> {
    const { parent } = settings;
    if (parent === null) return begin({ settings, granted: null });
    const context = this.#conversation.context();
    const askAbove: AskAbove = async (session) =>
      (await sessionClient(context, session).ask("above", null).catch(ignoreMissing))?.session_ids ?? [];
    if (newlyBelow) await checkBelow(id, parent.session_id, askAbove);
    const above = sessionClient(context, parent.session_id);
    const ended = asks === null ? null : this.#task.lastRun();
    const delegate = {
      child: id,
      run_id: parent.run_id,
      ...(asks === null ? {} : { asks: { ...asks, ended } }),
    };
    const asked = above.ask("delegate", delegate);
    // A further run needs no session above.
    const answer = await (parent.run_id === null ? asked.catch(ignoreMissing) : asked);
    const { task_id = parent.task_id, granted = null } = answer ?? {};
    try {
      const budget = granted === null ? {} : { token_budget: granted.tokens };
      await begin({ settings: { ...settings, ...budget, parent: { ...parent, task_id } }, granted });
    } catch (error) {
      if (asks !== null) {
        const over = this.#task.progress() === "over";
        const gone = above.ask("undelegate", { child: id, task_run: asks.task_run, over });
        await gone.catch(this.#conversation.log.faults({ event: "task_not_withdrawn", child: id }));
      }
      throw error;
    }
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
        const compact = await compaction(log, TRUNCATE_WITHOUT_MODEL, { prepared: null, removed });
        compact();
      }
    }
  }

  /**
   * Begins a run of the task and tells watchers, first of all that another cycle begins if one does.
   * @param asked `null`: the run has begun already
   */
  #begin(
    { action, ...row }: Pick<Cycle, "action"> & Pick<TaskRow, "run" | "created_at" | "artifacts">,
    asked: TaskWork | null,
    { settings, granted }: Announced,
    caller: SessionCaller,
  ): void {
    const { log, runs } = this.#conversation;
    const statuses = action === "trigger" ? (["progressed", "running"] as const) : (["running"] as const);
    const events = statuses.map((status) => this.#task.update(settings, status));
    const work = asked === null || granted === null ? asked : within(asked, granted);
    if (work !== null && "agent" in work) runs.start(work.agent, caller, { events });
    else {
      if (work !== null) {
        const { id, request_id, mock_scope } = caller;
        const account = accountIn(work.workflow, id);
        this.#task.workflow.begin(work.workflow, { account, request_id, mock_scope });
      }
      log.append([], { events: () => events });
    }
    this.#task.begun({ ...row, closed_at: null, thrown: false, settings }, action);
  }

  #nextWork(row: TaskRow, next: TaskSettings, run: NextRun): TaskWork {
    return next.mode === "workflow"
      ? { workflow: this.#nextWorkflow(next, run) }
      : { agent: this.#nextSpec(row, next, run) };
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
    const before = runs.specAfter(run);
    const { policies, delegation, deadline } = before;
    const policy = [deployment.settings.policy ?? null, carry.policy].reduce(
      intersectPolicies,
      policies.policy,
    );
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
      ...(delegation === undefined ? {} : { delegation: { ...delegation, parent: above } }),
      ...(deadline === undefined ? {} : { deadline: { at: log.now() + deadline.ms, ms: deadline.ms } }),
    };
  }
}

/** A run that the session above must know before it begins. */
interface Announcement {
  settings: TaskSettings;
  caller: SessionCaller;
  /** Whether this session already exists and was not below that session before. */
  newlyBelow: boolean;
  /** What it may use at most; `null`: the session above has given it its part already. */
  asks: (Share & { task_run: string }) | null;
}

/** `granted`: what the run may use; `null`: what its specification says. */
interface Announced {
  settings: TaskSettings;
  granted: Share | null;
}

const budgetsOf = ({ budgets }: TaskSettings, work: TaskWork): Share =>
  budgets ??
  ("agent" in work
    ? { tokens: work.agent.token_budget, usd: work.agent.total_budget_usd }
    : { tokens: work.workflow.above?.tokens ?? null, usd: work.workflow.above?.usd ?? null });

/** A run with these budgets. */
function within(work: TaskWork, { tokens, usd }: Share): TaskWork {
  if ("agent" in work) return { agent: { ...work.agent, token_budget: tokens, total_budget_usd: usd } };
  const { above = NO_CEILINGS } = work.workflow;
  return { workflow: { ...work.workflow, above: { ...above, tokens, usd } } };
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
