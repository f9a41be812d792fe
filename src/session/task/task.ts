/**
 * A session that is a task: its request, and the outcome of its runs. Nearly all of it follows from the session's runs
 * (`work.ts`), so a new instance of the object has the same knowledge.
 */
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import { addSpent, heldBy, type ReturnedShare, type Spent } from "../../engine/shares.ts";
import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import type { WorkflowRecord } from "../../engine/workflow/records.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { TaskClosed } from "../../errors/task.ts";
import { Internal, toProblem } from "../../errors.ts";
import { memoLast } from "../../memo.ts";
import type { RunEvent } from "../../run/events.ts";
import { envelopeOf } from "../../run/task/envelope.ts";
import type { TaskHandle, TaskSettings, TaskStatus } from "../../run/task/handle.ts";
import type { ChildRun } from "../../run/task/parent-event.ts";
import { isStage } from "../../run/workflow/attempt.ts";
import { asJson } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { RETRY_MS } from "../conversation/due-times.ts";
import type { RunRow } from "../conversation/run-rows.ts";
import type { RunEnd } from "../conversation/session-lifecycle.ts";
import type { SessionIdentity } from "../conversation/store.ts";
import type { IndexEntry } from "../index-row.ts";
import { OwedFiles } from "../owed-file.ts";
import { waitAtMost } from "../wait-at-most.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { forgetTask, taskRow } from "./directory.ts";
import { Relay } from "./relay.ts";
import type { TaskWait } from "./rpc.ts";
import { type Cycle, type TaskRow, TaskStore } from "./store.ts";
import { agentWork, howEnded, type Work, workflowWork } from "./work.ts";

/** The most bytes of artifacts that a task carries over, the newest first. */
const MAX_CARRIED = 512 * 1024;

export class Task {
  readonly store: TaskStore;
  readonly relay: Relay;
  readonly workflow: Workflow;
  readonly #conversation: Conversation;
  /** The work of an agent run. It is kept because the result may be long. */
  readonly #agentWork = memoLast(
    ({ row, run }: { row: TaskRow; run: RunRow; state: AgentState }) =>
      agentWork(this.#conversation, this.#id, row, run),
    (a, b) => a.row === b.row && a.run === b.run && a.state === b.state,
  );
  readonly #files: OwedFiles;

  constructor(conversation: Conversation, workflow: Workflow) {
    this.#conversation = conversation;
    this.workflow = workflow;
    this.store = new TaskStore(conversation.log.store);
    this.relay = new Relay(conversation, this);
    this.#files = new OwedFiles(conversation);
  }

  get #id(): string {
    return this.#conversation.id;
  }

  /** @throws CallNotFound */
  row(): TaskRow {
    const row = this.store.row();
    if (row !== null) return row;
    throw new CallNotFound({ what: "task", id: this.#id });
  }

  /** The work of its last run. */
  work(row: TaskRow): Work {
    if (row.settings.mode === "workflow")
      return workflowWork(this.workflow.state(), this.#id, this.workflow.requestId);
    const { log } = this.#conversation;
    const run = log.store.runs.find(row.run);
    if (run === null) throw new Internal({ cause: `the run ${row.run} of a task is not there` });
    return this.#agentWork({ row, run, state: log.state() });
  }

  /** When its last run ended, Unix ms; `null`: it has not ended. */
  #settledAt({ run, settings }: TaskRow): number | null {
    if (settings.mode === "workflow") return this.workflow.state().finished?.at ?? null;
    return this.#conversation.log.store.runs.find(run)?.settled_at ?? null;
  }

  status(row: TaskRow, { how }: Pick<Work, "how"> = this.work(row)): TaskStatus {
    if (row.closed_at !== null) return "cancelled";
    switch (how) {
      case "running":
      case "resting":
        return "running";
      case "cancelled":
        return "cancelled";
      case "lost":
        return "interrupted";
      case "failed":
        // A failed sub-agent completes its task: the envelope says how it ended.
        if (row.settings.mode !== "sub_agent") return "failed";
    }
    return row.settings.carry.retriggerable ? "awaiting" : "completed";
  }

  /** The session above; `null`: none. A stage of a workflow run has a session above without being a task. */
  parent(): { session_id: string; run_id: string | null } | null {
    const row = this.store.row();
    return row === null ? (this.#last()?.delegation?.parent ?? null) : row.settings.parent;
  }

  /** For a stage: resolves when the session above has all events of this one. */
  async reported(): Promise<void> {
    if (this.store.row() === null && this.parent() !== null) await this.relay.flushed();
  }

  /** What the route that began the task's last run answers: the envelope of a sub-agent, else the handle. */
  answer(run: string): JsonObject | null {
    const row = this.store.row();
    if (row?.run !== run) return null;
    return row.settings.mode === "sub_agent" ? this.#result(row, this.work(row)) : asJson(this.handle());
  }

  #last(): AgentSpec | null {
    return this.#conversation.log.state().run?.spec ?? null;
  }

  /** The progress of its last run, for sessions and clients that follow it. */
  progress(): "running" | "resting" | "over" {
    const row = this.store.row();
    if (row === null) return this.#stageProgress();
    const { how } = this.work(row);
    return how === "running" || how === "resting" ? how : "over";
  }

  #stageProgress(): "running" | "resting" | "over" {
    const last = this.#last();
    const run = last === null ? null : this.#conversation.log.store.runs.find(last.run_id);
    if (run === null || run.settled_at !== null) return "over";
    return run.status === "running" ? "running" : "resting";
  }

  facts(): ChildRun {
    const session_id = this.#id;
    const last = this.#last();
    if (this.store.row() === null && last !== null) {
      const parent_run_id = last.delegation?.parent?.run_id ?? null;
      return { run_id: last.run_id, parent_run_id, session_id, name: "", task: "", sub_agent: false };
    }
    const { run, settings } = this.row();
    const { name, task, mode, parent } = settings;
    const parent_run_id = parent?.run_id ?? null;
    return { run_id: run, parent_run_id, session_id, name, task, sub_agent: mode === "sub_agent" };
  }

  /** The usage of its last run, including the runs below it. */
  spent(): Spent {
    return this.work(this.row()).spent;
  }

  /** Its last run, once it has ended. What tasks below the run still hold counts as spent: nobody else may use it. */
  lastRun(): ReturnedShare | null {
    const row = this.store.row();
    if (row === null || this.#settledAt(row) === null) return null;
    const { shares } =
      row.settings.mode === "workflow" ? this.workflow.state() : (this.#conversation.log.state().run ?? {});
    return { task_run: row.run, spent: addSpent(this.work(row).spent, heldBy(shares)) };
  }

  handle(): TaskHandle {
    const row = this.row();
    const { settings, created_at, closed_at } = row;
    const id = this.#id;
    const work = this.work(row);
    const status = this.status(row, work);
    const { error } = work;
    const time = (ms: number): string => new Date(ms).toISOString();
    const over = work.settled_at ?? closed_at;
    const cycles = this.store.cycles();
    const { parent, name, mode, task, carry } = settings;
    const snapshot_path = carry.persist_state ? snapshotPath(id) : null;
    const closed = () => asJson(toProblem(new TaskClosed({ task: id }).data, work.request_id));
    const dropped = settings.policy_dropped ?? work.dropped;
    return {
      _type: "task_handle",
      id,
      name,
      task,
      mode,
      status,
      created_at: time(created_at),
      started_at: time(work.created_at),
      finished_at: over === null || status === "running" ? null : time(over),
      awaiting_started_at: status === "awaiting" && work.settled_at !== null ? time(work.settled_at) : null,
      history: cycles.flatMap((cycle) => (cycle.run === null ? [] : [cycle.task])),
      request: settings.request,
      provenance: {
        task_id: id,
        task_name: name,
        mode,
        parent_task_id: parent?.task_id ?? null,
        parent_stage_id: parent?.stage_id ?? null,
        session_id: id,
        parent_session_id: parent?.session_id ?? null,
        snapshot_path,
        run_id: work.id,
        run_path: work.path,
      },
      result: work.settled_at === null ? null : this.#result(row, work),
      error:
        mode === "sub_agent" && status === "completed"
          ? null
          : (error ?? (closed_at === null ? null : closed())),
      artifact_count: row.artifacts.length + work.artifacts.length,
      has_transcript: work.has_transcript,
      parent_task_id: parent?.task_id ?? null,
      parent_stage_id: parent?.stage_id ?? null,
      child_run_id: work.id,
      child_run_path: work.path,
      execution: settings.execution,
      snapshot_path,
      ...(dropped === undefined ? {} : { policy_dropped: dropped }),
      audit: cycles.map(({ at, action, run: begun }) => ({ at: time(at), action, run_id: begun })),
    };
  }

  async wait({ timeout_ms, until: end }: TaskWait): Promise<void> {
    const until = timeout_ms === null ? null : Date.now() + timeout_ms;
    for (;;) {
      const status = this.status(this.row());
      if (status !== "running" && (status !== "awaiting" || end === "cycle")) return;
      const left = until === null ? null : until - Date.now();
      if (left !== null && left <= 0) return;
      const change = this.#conversation.runs.change();
      await (left === null ? change : waitAtMost(change, left));
    }
  }

  /** Stops the run under way. After that, the task accepts no more input. */
  close(): void {
    const row = this.store.row();
    const { log, runs } = this.#conversation;
    if (row === null) runs.cancelAny();
    if (row === null || row.closed_at !== null) return;
    this.#conversation.together(() => {
      const at = log.now();
      this.store.put({ ...row, closed_at: at });
      this.store.addCycle({ at, action: "close", run: null, task: "" });
    });
    if (this.#settledAt(row) !== null) this.#settled();
    else if (row.settings.mode !== "workflow") runs.cancel(row.run);
    else if (this.workflow.state().stopped === null)
      this.workflow.note([{ type: "stopped", at: log.now(), kill: false, reason: "Its task was closed." }]);
  }

  /** The artifacts that the next run receives. */
  carried(row: TaskRow): WorkflowArtifact[] {
    if (row.settings.carry.artifact_mode === "none") return [];
    let left = MAX_CARRIED;
    const all = [...row.artifacts, ...this.work(row).artifacts];
    return all
      .toReversed()
      .filter((artifact) => {
        left -= JSON.stringify(artifact).length;
        return left >= 0;
      })
      .reverse();
  }

  /** Whether its run has not ended. */
  isRunning(): boolean {
    const row = this.store.row();
    return row !== null && this.status(row) === "running";
  }

  /** Writes the task's present state to the directory. A failed write is logged and repeated when it is due. */
  index(): Promise<void> {
    return this.#conversation.listing.inOrder("task_not_noted", async () => {
      const entry = await this.entry();
      if (entry === null) return;
      await entry.statement.run();
      entry.written();
    });
  }

  /** The task's present row for the directory; `null`: there is no task. Each row of its runs is followed by one. */
  async entry(): Promise<IndexEntry | null> {
    const row = this.store.row();
    const session = this.#conversation.log.store.session();
    if (row === null || session === null || session.state === "deleted") return null;
    const status = this.status(row);
    const { name, mode, parent } = row.settings;
    const { tenant, id } = session;
    const statement = await taskRow(
      { env: this.#conversation.env, tenant },
      {
        id,
        name,
        mode,
        status,
        parent_task_id: parent?.task_id ?? null,
        created_at: row.created_at,
      },
    );
    const written = (): void => {
      if (this.status(this.row()) === status) this.#conversation.dueAt("task_index", null);
    };
    return { statement, written };
  }

  /** Reacts to records of the session's workflow run, if that run is the task's. */
  journalled(records: readonly WorkflowRecord[]): void {
    const row = this.store.row();
    // A new run becomes the task's run only after this call.
    if (row === null || row.settings.mode !== "workflow") return;
    const { run_id, graph } = this.workflow.state().spec;
    if (row.run !== run_id) return;
    const asks = records.some(
      (record) =>
        record.type === "waits" &&
        (graph.nodes[record.node]?.wait?.approval ?? graph.nodes[record.node]?.wait?.event) !== undefined,
    );
    if (asks) this.#report("awaiting_input");
    if (records.some(({ type }) => type === "finished")) {
      this.again();
    } else if (row.settings.parent !== null) this.relay.due();
  }

  /** A run of the session begins. */
  started({ delegation }: AgentSpec): void {
    if (delegation === undefined || delegation.parent === null) return;
    const { store } = this.#conversation.log;
    this.relay.follow(store.runs.list(2, Number.MAX_SAFE_INTEGER).length < 2);
  }

  /** A run of the session continues after a rest. */
  followed(): void {
    const { delegation } = this.#conversation.log.state().run?.spec ?? {};
    if (delegation !== undefined && delegation.parent !== null) this.relay.follow();
  }

  /** A run of the session rests until somebody answers. */
  awaitsInput(): void {
    this.#report("awaiting_input");
  }

  /** Called when a run ends: returns the status event, unless watchers already have it. */
  ends(run: string, end: RunEnd): RunEvent[] {
    const row = this.store.row();
    return row?.run === run ? this.#unreportedEvent(row, this.status(row, { how: howEnded(end) })) : [];
  }

  /** A run of the session has ended. */
  ended(run: string): void {
    if (this.store.row()?.run === run) this.#settled();
  }

  /** Repeats what may have failed at the end of its run. */
  again(): void {
    this.#settled();
    void this.index();
  }

  /** Its session is being removed. */
  async cleared({ tenant, id }: SessionIdentity): Promise<void> {
    if (this.store.row() === null) return;
    // The session above would keep the task's share of its budget.
    await this.relay.flushed();
    await forgetTask({ env: this.#conversation.env, tenant }, id);
  }

  /** Whether the session reports to a session above. Reads no records, since reading them may kill the process. */
  reports(): boolean {
    const row = this.store.row();
    if (row !== null) return row.settings.parent !== null;
    return isStage(this.#conversation.log.store.session()?.metadata ?? {});
  }

  /** Does what a new status requires, except writing the row of the directory. Repeating it does no harm. */
  #settled(): void {
    const row = this.store.row();
    if (row === null) return;
    const status = this.status(row);
    this.#conversation.together(() => {
      this.#report(status);
      this.#conversation.dueAt("task_index", this.#conversation.log.now() + RETRY_MS);
    });
    this.#conversation.runs.changed();
    if (row.settings.parent !== null) this.relay.ensure();
  }

  /** Reports a status to watchers, once. */
  #report(status: TaskStatus | "awaiting_input"): void {
    const row = this.store.row();
    const news = row === null ? [] : this.#unreportedEvent(row, status);
    if (news.length > 0) this.#conversation.log.append([], { events: () => news });
  }

  /** The event that reports a status, which counts as reported; none if it was reported before. */
  #unreportedEvent({ run, reported, settings }: TaskRow, status: TaskStatus | "awaiting_input"): RunEvent[] {
    const shown = status === "awaiting" ? "completed" : status;
    if (`${run} ${shown}` === reported) return [];
    this.store.note({ reported: `${run} ${shown}` });
    return [this.update(settings, shown)];
  }

  /** The event that tells watchers about a status. */
  update(
    { name }: TaskSettings,
    status: Exclude<TaskStatus, "awaiting"> | "awaiting_input" | "progressed",
  ): RunEvent {
    return { event: "task_update", data: { task_id: this.#id, name, status } };
  }

  /** Stores a task whose run has begun, in the same transaction. Watchers have already learned that it runs. */
  begun(row: Omit<TaskRow, "reported">, action: Cycle["action"]): void {
    const { settings, run } = row;
    const { task } = settings;
    const again = this.store.row() !== null;
    this.store.put({ ...row, reported: `${run} running` });
    if (again) this.store.addCycle({ at: this.#conversation.log.now(), action, run, task });
    if (settings.mode === "workflow" && settings.parent !== null) this.relay.due();
    this.#conversation.dueAt("task_index", this.#conversation.log.now() + RETRY_MS);
  }

  /** Resolves when the handle of an ended task is among its files; `undefined`: it already is, or is not wanted. */
  saved(): Promise<boolean> | undefined {
    const row = this.store.row();
    if (row?.settings.carry.persist_state !== true) return undefined;
    const settled_at = this.#settledAt(row);
    const since = settled_at === null ? 0 : Math.max(settled_at, row.closed_at ?? 0);
    return this.#files.saved({ since, files: { [snapshotPath(this.#id)]: () => this.handle() } });
  }

  #result({ settings }: TaskRow, { result, error, spent: { tokens } }: Work): JsonObject | null {
    const { mode, token_budget } = settings;
    if (mode === "sub_agent")
      return envelopeOf({ session_id: this.#id, result, error, tokens, token_budget });
    if (result === undefined) return null;
    const { transcript: _, trace: __, ...shown } = result;
    return shown;
  }
}

/** The path of the task's handle among its session's files. */
const snapshotPath = (id: string): string => `tasks/${id}.json`;
