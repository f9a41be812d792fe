/**
 * The runs of a session, one at a time: starts them, resumes them after the death of their process, waits for them and
 * stops them.
 */

import { type Applied, applyAll } from "../../engine/agent/apply.ts";
import { driveAgent } from "../../engine/agent/drive.ts";
import type { AgentRecord, AgentRecordBody, Wake } from "../../engine/agent/records.ts";
import { skillsOf } from "../../engine/agent/skill-text.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { type AgentState, entersNextCall } from "../../engine/agent/state.ts";
import { wakeOf } from "../../engine/agent/wake.ts";
import { least } from "../../engine/least.ts";
import { termsOf } from "../../engine/run-status.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { RunCancelled, RunInProgress } from "../../errors/session.ts";
import { type ErrorData, HullError, Internal } from "../../errors.ts";
import type { Background } from "../../log.ts";
import { systemClock } from "../../model/clock.ts";
import { noteUses } from "../../registry/uploaded-objects.ts";
import type { AgentRuntime, PreparedRun, RunEnvironment } from "../../run/agent/runtime.ts";
import { detachedContext, type SpanNote } from "../../run/context.ts";
import type { RunEvent } from "../../run/events.ts";
import { runAttributes, tracedRun } from "../../run/gen-ai.ts";
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { type RunAttempt, RunAttempts, RunSettled, WATCH_MS } from "../run-attempts.ts";
import { agentFacts } from "../run-facts.ts";
import type { Wait } from "./rpc.ts";
import type { RunRow } from "./run-rows.ts";
import type { RunLifecycle, WaitStep } from "./session-lifecycle.ts";
import type { AppendOptions } from "./session-log.ts";
import { type EndOptions, logAttempt, logEnd, logRun, loseRun, settleRun, unwatched } from "./settle.ts";

interface RunsOptions extends EndOptions {
  runtime: AgentRuntime;
  background: Background;
  workspace: WorkspaceAccess;
  lifecycle: RunLifecycle;
}

/** How long Hull tries to stop at the runner what it does for a run that was stopped, and for how many runs. */
const STOPPED_MS = 10 * 60_000;
const MOST_STOPPED = 10;

/** Records that come from outside: they alone do not show that a run progresses. */
const FROM_OUTSIDE: readonly AgentRecord["type"][] = [
  "message_received",
  "feedback_received",
  "approval_decided",
  "client_tool_answered",
  "woke",
];

/** `again`: a record arrived while the driver was about to rest. */
interface AgentRunAttempt extends RunAttempt {
  status: RunRow["status"];
  /** Stored records that the driver has not seen yet. */
  incoming: AgentRecord[];
  /** Wakes the driver after a record came. */
  wake: () => void;
  /** Value to store with the next records; `null`: unchanged. */
  memo: string | null;
  /** Returns more members of the result. */
  further: () => JsonObject;
  /** Closes what the effects of this run attempt hold open. */
  close: () => void;
  /** The run as prepared before it began; `null`: this attempt prepares it. */
  prepared: PreparedRun | null;
  /** Spans of this run attempt; absent: nobody wants them. */
  spans?: SpanNote[] | undefined;
  /** The fault that ended the run in this attempt; absent: none. */
  fault?: HullError;
  /** Writes the log line of the settled run. */
  log?: () => void;
}

export class Runs extends RunAttempts<AgentRunAttempt> {
  readonly #options: RunsOptions;

  constructor(options: RunsOptions) {
    super(options.log, options.background);
    this.#options = options;
  }

  /**
   * Begins a run.
   * @param events stored after the run's own first events
   * @param prepared absent: the run was prepared elsewhere
   * @throws RunInProgress
   */
  start(
    spec: AgentSpec,
    { request_id, mock_scope }: Pick<RunRow, "request_id" | "mock_scope">,
    { events = [], prepared = null }: { events?: readonly RunEvent[]; prepared?: PreparedRun | null } = {},
  ): void {
    this.checkNone();
    const { store } = this.log;
    const now = this.log.now();
    const first_event = store.lastEvent() + 1;
    const { skills } = this.log.state();
    // A result is read from the records of its run alone, so they say what was active before.
    const active = skills.length === 0 ? {} : { skills };
    this.log.add([{ type: "run_started", run: spec.run_id, spec, ...active }], {
      events: () => [...events],
      write: ({ run }) => {
        const first_record = store.lastRecord();
        store.runs.add({
          id: spec.run_id,
          request_id,
          mock_scope,
          created_at: now,
          first_event,
          first_record,
          listed: run === null ? null : JSON.stringify(agentFacts(run, "running")),
        });
        store.due.set({ watch: now + WATCH_MS });
        this.#options.lifecycle.begins(spec);
      },
    });
    const row = this.row(spec.run_id);
    this.startAttempt(row, { attempt: { ...this.newAttempt(row), prepared } });
    this.#noteSkills(spec);
  }

  /** A run may take over the skills of another run, whatever has become of them since. */
  #noteSkills(spec: AgentSpec): void {
    const uploads = skillsOf(spec).flatMap(({ uploaded, digest }) =>
      uploaded && digest !== undefined ? [digest] : [],
    );
    const { deployment, background } = this.#options;
    if (uploads.length > 0) background(noteUses(deployment.env, uploads));
  }

  /** @throws CallNotFound */
  row(id: string): RunRow {
    const row = this.log.store.runs.find(id);
    if (row === null) throw new CallNotFound({ what: "run", id });
    return row;
  }

  /** The specification for another run like this one, with the mocks that are left. @throws CallNotFound */
  specAfter(id: string): AgentSpec {
    const row = this.row(id);
    const { run } = this.log.state();
    const [first] = run?.spec.run_id === id ? [] : this.log.store.runRecords(row);
    const spec = first?.type === "run_started" ? first.spec : run?.spec;
    if (spec?.run_id !== id) throw new Internal({ cause: `the record that begins ${id} cannot be read` });
    return row.memo === null ? spec : { ...spec, call: { ...spec.call, mock: JSON.parse(row.memo) } };
  }

  /** Throws if a run is under way, also an idle one. @throws RunInProgress */
  checkNone(): void {
    const { store } = this.log;
    const live = store.runs.live();
    if (live !== null) throw new RunInProgress({ session: store.identity().id, run: live.id });
  }

  /** The run under way if it occupies the conversation, so that nothing else may change it now. */
  busy(): RunRow | null {
    const row = this.log.store.runs.live();
    if (row === null) return null;
    return this.log.state().run?.stage === "idle" && this.current === null ? null : row;
  }

  /** Waits until the run has ended, or, with `idle`, until it rests. */
  async wait(id: string, wait: Wait): Promise<void> {
    for (;;) {
      const row = this.row(id);
      const rests = row.status !== "running" && this.current === null;
      if (wait === "none" || row.settled_at !== null || (wait === "idle" && rests)) return;
      await this.change();
    }
  }

  /**
   * Stores records from outside, for the run under way or the next one.
   * @param goOn whether the records let a resting run continue
   */
  receive(bodies: readonly AgentRecordBody[], goOn: boolean): void {
    const { store } = this.log;
    const row = store.runs.live();
    const goes = row !== null && goOn;
    const batch = this.log.applied(bodies);
    const records = batch.map(({ record }) => record);
    const write: AppendOptions["write"] = (state) => {
      if (!goes) return;
      this.#noteStatus(row, state);
      store.due.set({ watch: this.log.now() + WATCH_MS });
      this.#reportWakes(records);
      this.#options.lifecycle.resumes(row.status);
    };
    this.log.append(batch, { write });
    this.current?.incoming.push(...records);
    this.current?.wake();
    if (goes) this.proceed(row.id);
  }

  /** Wakes an idle run; returns whether it was idle. @param first records to store before the wake */
  wake(wake: Wake, first: readonly AgentRecordBody[] = []): boolean {
    const { run } = this.log.state();
    if (run?.stage !== "idle") return false;
    this.receive([...first, { type: "woke", run: run.spec.run_id, wake }], true);
    return true;
  }

  /** Lets the driver check a resting run again, because an approval has expired. */
  kick(): void {
    const { store } = this.log;
    const row = store.runs.live();
    if (row === null || row.status === "running") {
      store.due.set({ approval: null });
      this.ensure();
      return;
    }
    store.transaction(() => {
      store.runs.update(row.id, { status: "running" });
      store.due.set({ watch: this.log.now() + WATCH_MS, approval: null });
      this.#options.lifecycle.resumes(row.status);
    });
    this.proceed(row.id);
  }

  /** Cancels a run under way. */
  cancel(id: string): void {
    const row = this.row(id);
    if (row.settled_at !== null) return;
    const { data } = new RunCancelled({ run: id });
    const executions = this.log.store.submitted.ids();
    this.#settle(row, this.log.applied([{ type: "run_settled", run: id, status: "cancelled", error: data }]));
    this.#stop(row, executions, data);
  }

  /** Ends an idle run. @param status why it ends */
  end(id: string, status: "idle" | "watchdog"): void {
    const row = this.row(id);
    if (row.settled_at !== null || this.log.state().run?.stage !== "idle") return;
    this.#settle(row, this.log.applied([{ type: "run_settled", run: id, status, error: null }]));
  }

  /** Cancels the run under way, if there is one. */
  cancelAny(): void {
    const row = this.log.store.runs.live();
    if (row !== null) this.cancel(row.id);
  }

  /** Drops the run in memory without an event, because its storage is gone. */
  abandon(): void {
    this.drop((run) => new RunCancelled({ run }));
  }

  protected override newAttempt({ id: run, status }: RunRow): AgentRunAttempt {
    return {
      run,
      status,
      abort: new AbortController(),
      incoming: [],
      wake: () => {},
      rerun: false,
      settled: false,
      memo: null,
      further: () => ({}),
      close: () => {},
      prepared: null,
    };
  }

  protected override progress(): number {
    return this.log.store.lastRecord();
  }

  protected override madeProgress(row: RunRow): boolean {
    const records = this.log.store.records(row.progress);
    return records.some(({ type }) => !FROM_OUTSIDE.includes(type));
  }

  protected override interrupted(row: RunRow, error: unknown): void {
    logRun(this.log, row, "run_broke_off", { error: String(error) });
  }

  protected override async drive(attempt: AgentRunAttempt, row: RunRow, resumed: boolean): Promise<void> {
    try {
      await this.#drive(attempt, row, resumed);
    } finally {
      attempt.close();
      if (!attempt.settled) logAttempt(this.#options, row, attempt);
      attempt.log?.();
    }
  }

  async #drive(attempt: AgentRunAttempt, row: RunRow, resumed: boolean): Promise<void> {
    const log = this.log;
    const { run } = log.state();
    if (log.store.runs.find(row.id)?.settled_at !== null) return;
    if (run === null || run.spec.run_id !== row.id || !log.intactSince(row.first_record)) {
      this.giveUp(row);
      return;
    }
    if (resumed) log.sendRestart();
    const append = (batch: readonly Applied[]): void => this.#append(attempt, row, batch);
    const { signal } = attempt.abort;
    try {
      const { runtime } = this.#options;
      const environment = this.#environment(row, attempt.prepared);
      attempt.spans = environment.context.spans;
      const { effects, vault, further, close } = await runtime.begin(run.spec, environment, signal);
      attempt.close = close;
      if (attempt.settled) return;
      attempt.further = further;
      // The driver's initial state includes all records that arrived until now.
      attempt.incoming = [];
      const inbox = {
        take: (): AgentRecord[] => attempt.incoming.splice(0),
        watch: (wake: () => void) => {
          attempt.wake = wake;
        },
      };
      const clock = { ...systemClock, now: log.now };
      const onFault = (fault: HullError): void => {
        attempt.fault = fault;
      };
      const rest = await tracedRun(environment.context, run.spec, null, async (span) => {
        const driving = driveAgent(log.state(), { effects, vault, append, inbox, clock, signal, onFault });
        // A run that was settled meanwhile has its end in the log.
        const reached = await driving.catch((error: unknown) => {
          if (!(error instanceof RunSettled)) throw error;
          return null;
        });
        span.set(() => {
          const { run: last } = reached?.state ?? log.state();
          return runAttributes(last?.spec.run_id === row.id ? last : run, run);
        });
        return reached;
      });
      if (rest?.step.type === "wait" && !attempt.rerun && !attempt.settled) this.#rest(attempt, rest.step);
    } catch (error) {
      if (!(error instanceof HullError)) throw error;
      attempt.fault = error;
      const settled = { type: "run_settled" as const, run: row.id, status: "error" as const };
      append(log.applied([{ ...settled, error: error.data }]));
    }
  }

  #append(attempt: AgentRunAttempt, row: RunRow, batch: readonly Applied[]): void {
    if (attempt.settled) throw new RunSettled();
    if (batch.some(({ record }) => record.type === "run_settled")) {
      this.#settle(row, batch);
      return;
    }
    const all = [...batch, ...this.#missedWake(batch)];
    if (all.length > batch.length) attempt.rerun = true;
    const write: AppendOptions["write"] = (state) => {
      attempt.status = this.#noteStatus({ ...row, status: attempt.status }, state);
      if (attempt.memo !== null) this.log.store.runs.update(row.id, { memo: attempt.memo });
      this.#reportWakes(all.map(({ record }) => record));
    };
    this.log.append(all, { write });
    attempt.memo = null;
  }

  /** If a message arrives too late to keep the run going, but before it is idle, this wakes the run immediately. */
  #missedWake(batch: readonly Applied[]): Applied[] {
    const last = batch.at(-1);
    if (last === undefined || batch.every(({ record }) => record.type !== "went_idle")) return [];
    const { waiting, run } = last.after;
    if (run === null || !waiting.some(entersNextCall)) return [];
    const woke = this.log.record({ type: "woke", run: run.spec.run_id, wake: wakeOf("message") });
    return applyAll(last.after, [woke]);
  }

  #reportWakes(records: readonly AgentRecord[]): void {
    for (const record of records) if (record.type === "woke") this.#options.lifecycle.wakes(record.wake);
  }

  #settle(row: RunRow, batch: readonly Applied[]): void {
    const attempt = this.attemptOf(row.id);
    settleRun(this.#options, row, batch, attempt ?? { further: () => ({}), memo: null });
    const state = this.log.state();
    const log = (): void => logEnd(this.#options, row, state, attempt ?? {});
    // The log line includes spans, which are complete only when the run attempt ends.
    if (attempt === null || attempt.spans === undefined) log();
    else attempt.log = log;
    this.#ended(row);
  }

  protected override giveUp(row: RunRow): void {
    const executions = this.log.store.submitted.ids();
    const error = loseRun(this.#options, row);
    this.settled(row.id);
    // What follows may read the records that kill the process. By then the end is on disk.
    this.background(this.log.store.sync().then(() => this.#options.lifecycle.ended(row.id)));
    this.#stop(row, executions, error);
  }

  #ended({ id }: RunRow): void {
    this.settled(id);
    this.#options.lifecycle.ended(id);
  }

  /** Stops what a run is doing after it was settled from outside. */
  #stop(row: RunRow, executions: readonly string[], error: ErrorData): void {
    this.attemptOf(row.id)?.abort.abort(new HullError(error));
    this.background(this.#stopAtRunner(row, executions));
  }

  /** Stops at the runner what the process that ended a run may have died before stopping. */
  stopAgain(): void {
    const { store } = this.log;
    const since = this.log.now() - STOPPED_MS;
    const stopped = store.runs
      .list(MOST_STOPPED, Number.MAX_SAFE_INTEGER)
      .filter(({ status, settled_at }) => (settled_at ?? 0) > since && termsOf(status).stopped === true);
    const executions = store.submitted.ids();
    if (stopped.length === 0 || executions.length === 0) store.due.set({ stop: null });
    else for (const row of stopped) this.background(this.#stopAtRunner(row, executions));
  }

  /** It stays due until the runner was asked. */
  async #stopAtRunner(row: RunRow, executions: readonly string[]): Promise<void> {
    const { store } = this.log;
    const at = store.due.at("stop");
    // To read the records of a run that was given up may kill the process.
    const { run } = this.log.loaded ? this.log.state() : { run: null };
    const files = run?.spec.run_id === row.id ? run.spec.delegation?.files : undefined;
    try {
      await this.#options.runtime.stop(this.#environment(row), executions, files);
    } catch (fault) {
      logRun(this.log, row, "run_not_stopped", { error: String(fault) });
      return;
    }
    // Another run may have been stopped meanwhile, or the session removed.
    if (at === null || store.due.at("stop") !== at) return;
    store.due.set({ stop: null });
    if (store.runs.live() === null) store.submitted.clear();
  }

  /**
   * Rests until a record arrives, an approval expires, or the run's deadline passes. Other due times keep their alarm.
   */
  #rest(attempt: AgentRunAttempt, step: WaitStep): void {
    const { store } = this.log;
    const approval = least(step.until, this.log.state().run?.spec.deadline?.at);
    store.transaction(() => {
      if (attempt.status !== step.status) store.runs.update(attempt.run, { status: step.status });
      store.due.set({ ...unwatched(this.#options.lifecycle), approval });
      this.#options.lifecycle.rests(step);
    });
    attempt.status = step.status;
  }

  /** Updates the status in the row, but does not write `idle`: a daemon that goes idle may have work to do first. */
  #noteStatus({ id, status: known }: RunRow, { run }: AgentState): RunRow["status"] {
    const now = run?.status ?? known;
    const status = now === "idle" ? known : now;
    if (status !== known) this.log.store.runs.update(id, { status });
    return status;
  }

  #environment(
    { id: run_id, request_id: requestId, mock_scope: mockScope, created_at: startedAt, memo }: RunRow,
    prepared: PreparedRun | null = null,
  ): RunEnvironment {
    const { deployment, background, workspace } = this.#options;
    const { store } = this.log;
    const { id: session_id, tenant } = store.identity();
    const origin = { requestId, mockScope, tenant, startedAt };
    return {
      context: prepared?.context ?? detachedContext(deployment, origin, background),
      workspace,
      session_id,
      run_id,
      records: store,
      known: store.submitted,
      artifact: (id) => store.artifacts.latest(id),
      memo: memo === null ? null : JSON.parse(memo),
      prepared,
      remember: (value) => {
        const attempt = this.attemptOf(run_id);
        if (attempt !== null) attempt.memo = JSON.stringify(value);
      },
      emit: (event) => {
        if (this.attemptOf(run_id)?.settled === false) this.log.emit(event, run_id);
      },
    };
  }
}
