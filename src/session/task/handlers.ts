/** The operations of a session that is a task, or that delegates tasks, by name (`rpc.ts`). */
import { intersectPolicies } from "../../engine/agent/policy.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import type { WorkflowSpec } from "../../engine/workflow/records.ts";
import { selectArtifacts } from "../../engine/workflow/select-artifacts.ts";
import { stagePrompt } from "../../engine/workflow/stage-prompt.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { TaskClosed, TaskNotAwaiting, TaskRunning } from "../../errors/task.ts";
import { HullError } from "../../errors.ts";
import { detachedContext } from "../../run/context.ts";
import { sessionClient } from "../../run/session-client.ts";
import type { TaskSettings } from "../../run/task/handle.ts";
import { nextRun } from "../../run/workflow/again.ts";
import { ceilingsBelow } from "../../run/workflow/ceilings.ts";
import type { Json } from "../../skill/manifest.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { forkInto } from "../conversation/fork.ts";
import { compaction } from "../conversation/manual-compaction.ts";
import type { Handlers, SessionCaller } from "../conversation/rpc.ts";
import type { SessionRow } from "../conversation/store.ts";
import type { NamedRequest } from "../named-request.ts";
import { ROW_MS, waitAtMost } from "../wait-at-most.ts";
import type { Delegates } from "./delegates.ts";
import { type AskAbove, checkBelow, Lineage } from "./lineage.ts";
import type { TaskOperations, TaskWork } from "./rpc.ts";
import type { Cycle, TaskRow } from "./store.ts";
import type { Task } from "./task.ts";

/** A task that ends within this time, in ms, gets only one row in the list, unless the caller waits for it there. */
const BEGUN_MS = 250;

/** A request for a further run of a task. */
interface Again {
  action: Cycle["action"];
  run_id: string;
  task: string;
  /** Data that the model reads in addition to the task. */
  payload?: Json;
  request: NamedRequest;
}

export function taskHandlers(
  conversation: Conversation,
  task: Task,
  delegates: Delegates,
): Handlers<TaskOperations> {
  const { log, runs, files, env, deployment, background } = conversation;
  const { store } = log;

  /** Wraps an operation on a task that must exist. */
  const within404 =
    <I, O>(
      work: (input: I, row: TaskRow, at: { session: SessionRow; caller: SessionCaller }) => O | Promise<O>,
    ) =>
    async (input: I, caller: SessionCaller): Promise<O> => {
      const session = await conversation.ready(caller, "task");
      return work(input, task.row(), { session, caller });
    };

  const lineage = new Lineage();

  /**
   * Announces the run to the session above before the run begins.
   * @param newlyBelow whether this session already exists and was not below that session before
   * @throws TooManyDelegated; InputInvalid if the session above is itself below this one
   */
  const announced = async (
    settings: TaskSettings,
    { tenant, id }: SessionCaller,
    newlyBelow: boolean,
  ): Promise<TaskSettings> => {
    const { parent } = settings;
    if (parent === null) return settings;
    const origin = { requestId: crypto.randomUUID(), tenant, startedAt: log.now() };
    const context = detachedContext(deployment, origin, background);
    const askAbove: AskAbove = async (session) =>
      (await sessionClient(context, session).ask("above", null).catch(ignoreMissing))?.session_ids ?? [];
    if (newlyBelow) await checkBelow(id, parent.session_id, askAbove);
    const above = sessionClient(context, parent.session_id);
    const { task_id } = await above.ask("delegate", { child: id, run_id: parent.run_id });
    return { ...settings, parent: { ...parent, task_id } };
  };

  /** The id of the session's task; `null`: it is no task. */
  const ownTask = ({ id }: SessionCaller): string | null => (task.store.row() === null ? null : id);

  /** Brings the conversation into the form in which the next run starts. */
  const carry = async (
    row: TaskRow,
    { session, caller, removed }: { session: SessionRow; caller: SessionCaller; removed: AbortSignal },
  ): Promise<void> => {
    switch (row.settings.carry.transcript_mode) {
      case "inherit":
        return;
      case "reset":
        log.add([{ type: "session_reset" }], { write: () => store.touch(log.now()) });
        return;
      case "fork": {
        const dst = `${session.id}.${task.store.cycles().length}`;
        const { request_id } = caller;
        await forkInto({ env, log, files }, session, { dst, keep_first: null, request: dst, request_id });
        removed.throwIfAborted();
        store.addChild(dst);
        return;
      }
      case "compact": {
        const run_id = `compact-${store.lastRecord()}`;
        const call = {
          strategy: "truncate" as const,
          keep_first: 0,
          keep_last: 2,
          summary: null,
          options: null,
        };
        const by = { session, caller, run_id, prepared: null };
        const compact = await compaction(conversation, call, { ...by, removed });
        compact();
      }
    }
  };

  /** Begins a run of the task and tells watchers. */
  const begin = (
    work: TaskWork,
    settings: TaskSettings,
    { id, request_id, mock_scope }: SessionCaller,
  ): void => {
    const running = task.update(settings, "running");
    if ("agent" in work) {
      runs.start(work.agent, { request_id, mock_scope }, { events: [running] });
      return;
    }
    const account = accountIn(work.workflow, id);
    task.workflow.begin(work.workflow, { account, request_id, mock_scope });
    log.append([], { events: () => [running] });
  };

  /** Waits until the task has ended, or for this time, and returns it; `null`: no limit. */
  const waited = async (timeout_ms: number | null) => {
    await task.wait(timeout_ms);
    const row = task.row();
    const handle = task.handle();
    const failed = handle.status === "failed" && !row.thrown;
    if (failed) task.store.noteThrown();
    if (handle.status !== "running") await task.relay.flushed();
    return { task: handle, thrown: failed ? handle.error : null, spent: task.spent() };
  };

  const again = async (
    { action, run_id, task: text, payload, request }: Again,
    row: TaskRow,
    { session, caller }: { session: SessionRow; caller: SessionCaller },
  ): Promise<void> => {
    const known = conversation.knows(request);
    const { settings } = row;
    // A request asked for this run. The session above did not, even if one of its runs asked for the first run.
    const own = settings.parent === null ? null : { ...settings.parent, run_id: null };
    const next: TaskSettings = { ...settings, task: text, parent: own };
    if (!known) {
      await announced(next, caller, false).catch(ignoreMissing);
      // Writes the handle of the previous run to the session's files while that run is still the last one.
      await task.saved();
      await conversation.changing((removed) => carry(row, { session, caller, removed }));
    }
    conversation.once(request, () => {
      conversation.active(session);
      conversation.quiet(session);
      const artifacts = task.carried(row);
      const run = next.mode === "workflow" ? runAfter(row) : run_id;
      if (next.mode === "workflow") {
        const { context_policy, policy, resume_workflow: resumes = true } = next.carry;
        const shown = selectArtifacts(artifacts, context_policy);
        const asked = { run_id: run, task: withPayload(text, payload), artifacts: shown, policy, resumes };
        begin({ workflow: nextRun(task.workflow.state(), asked, log.now()) }, next, caller);
      } else {
        const agent = nextSpec(runs.specOf(row.run), next, { run_id, artifacts, payload });
        begin({ agent }, next, caller);
      }
      const { created_at } = row;
      const fresh = { closed_at: null, thrown: false };
      task.begun({ run, created_at, ...fresh, settings: next, artifacts }, { action, task: text });
      return null;
    });
    task.workflow.look();
  };

  /** Id of the next workflow run of the same task. */
  const runAfter = ({ run }: TaskRow): string => {
    const [first = run, count = "1"] = run.split(".r");
    return `${first}.r${Number(count) + 1}`;
  };

  const nextSpec = (
    before: AgentSpec,
    { stage, carry: carried, task: text, parent }: TaskSettings,
    {
      run_id,
      artifacts,
      payload,
    }: { run_id: string; artifacts: WorkflowArtifact[]; payload: Json | undefined },
  ): AgentSpec => {
    const { policies, delegation, deadline } = before;
    const policy = [deployment.settings.policy ?? null, carried.policy].reduce(
      intersectPolicies,
      policies.policy,
    );
    const memo = store.run(before.run_id)?.memo ?? null;
    const input = withPayload(text, payload);
    const { context_policy } = carried;
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
  };

  /**
   * Creates the session unless it exists, and begins the task's first run unless it has begun. Returns whether it
   * created the session.
   */
  const spawn = async (
    { work, settings: asked, imported, request }: TaskOperations["spawn_task"]["in"],
    caller: SessionCaller,
  ): Promise<boolean> => {
    const { run_id: run } = "agent" in work ? work.agent : work.workflow;
    let settings = asked;
    const parent_id = settings.parent?.session_id ?? null;
    const request_hash = imported === null ? null : (request?.name ?? run);
    const of = { metadata: {}, request_hash, parent_id };
    const created = await conversation.open(caller, { ...of, imported }, false);
    const session = await conversation.ready(caller);
    // A request that is repeated after a day is recognised by the id of its run.
    const known = (): boolean =>
      settings.mode === "workflow" ? task.workflow.here : store.run(run) !== null;
    // In earlier versions of Hull, a workflow's sub-agent was a run without a task. The task takes over such a run.
    const adopts = (): boolean => settings.mode !== "workflow" && known() && task.store.row() === null;
    if (request === null ? !known() || adopts() : !conversation.knows(request)) {
      // A new session has no sessions below it, so the check is not needed.
      settings = await announced(settings, caller, !created);
      await task.saved();
    }
    const begun = (): null => {
      const adopted = adopts();
      if (known() && !adopted) return null;
      const created_at = task.store.row()?.created_at ?? log.now();
      if (adopted) {
        log.append([], { events: () => [task.update(settings, "running")] });
      } else {
        conversation.active(session);
        conversation.quiet(session);
        begin(work, settings, caller);
      }
      const { artifacts } = settings;
      const fresh = { closed_at: null, thrown: false };
      task.begun(
        { run, created_at, ...fresh, settings, artifacts },
        { action: "spawn", task: settings.task },
      );
      return null;
    };
    conversation.once(request, begun);
    return created;
  };

  return {
    async spawn_task(asked, caller) {
      const created = await lineage.below(asked.settings.parent?.session_id ?? null, () =>
        spawn(asked, caller),
      );
      task.workflow.look();
      if (asked.listed) {
        const indexed = created ? task.indexNew() : task.index();
        background(indexed);
        await waitAtMost(indexed, ROW_MS);
      } else {
        if (created) background(conversation.listing.write());
        setTimeout(() => {
          if (task.isRunning()) background(task.index());
        }, BEGUN_MS);
      }
      return asked.wait ? waited(null) : { task: task.handle(), thrown: null, spent: task.spent() };
    },
    task: within404(() => task.handle()),
    task_wait: within404(({ timeout_ms }) => waited(timeout_ms)),
    task_input: within404(async ({ run_id, task: text, request }, row, at) => {
      if (!conversation.knows(request)) mayRun(row, at.session.id);
      await again({ action: "input", run_id, task: text, request }, row, at);
      return task.handle();
    }),
    task_trigger: within404(async ({ run_id, payload, request }, row, at) => {
      const { id } = at.session;
      if (!conversation.knows(request)) {
        const status = task.status(row);
        if (row.closed_at !== null) throw new TaskClosed({ task: id });
        if (status !== "awaiting") throw new TaskNotAwaiting({ task: id, status });
      }
      await again({ action: "trigger", run_id, task: row.settings.task, payload, request }, row, at);
      return task.handle();
    }),
    task_resume: within404(async ({ run_id, request }, row, at) => {
      const { id } = at.session;
      if (run_id !== null) {
        if (!conversation.knows(request) && task.status(row) === "running")
          throw new TaskRunning({ task: id });
        conversation.setState(at.session, "active");
        const session = await conversation.ready(at.caller);
        await again({ action: "resume", run_id, task: row.settings.task, request }, row, { ...at, session });
        return task.handle();
      }
      conversation.setState(at.session, "active");
      conversation.once(request, () => {
        if (row.closed_at === null) return null;
        task.store.put({ ...row, closed_at: null });
        task.store.addCycle({ at: log.now(), action: "resume", run: null, task: "" });
        return null;
      });
      await waitAtMost(task.index(), ROW_MS);
      return task.handle();
    }),
    task_close: within404(async ({ request }) => {
      conversation.once(request, () => {
        task.close();
        return null;
      });
      await waitAtMost(task.index(), ROW_MS);
      return task.handle();
    }),
    async said(_, caller) {
      await conversation.ready(caller);
      const { visible, summary } = log.state();
      return { visible, summary };
    },
    async ceilings(_, caller) {
      await conversation.ready(caller);
      const { workflow } = task;
      const left = workflow.here ? ceilingsBelow(workflow.state(), caller.id) : delegates.ceilings();
      return { ...left, task_id: ownTask(caller) };
    },
    async above(_, caller) {
      await conversation.ready(caller);
      return { session_ids: lineage.above(task.parent()?.session_id ?? null) };
    },
    async delegate(input, caller) {
      conversation.active(await conversation.ready(caller));
      delegates.add(input);
      return { task_id: ownTask(caller) };
    },
    async relay(input, caller) {
      await conversation.ready(caller);
      return delegates.relay(input);
    },
  };

  function mayRun(row: TaskRow, id: string): void {
    if (row.closed_at !== null) throw new TaskClosed({ task: id });
    if (task.status(row) === "running") throw new TaskRunning({ task: id });
  }
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
