/**
 * A session's workflow run and its next steps. Everything is stored before it is acted on, so a new instance of the object
 * continues the run. Attempts have names, so a new instance follows them without repeating them.
 */
import { least } from "../../engine/least.ts";
import type { AttemptKey, CrashPoint } from "../../engine/workflow/answers.ts";
import { undoes } from "../../engine/workflow/compensation.ts";
import { crashAt } from "../../engine/workflow/crash.ts";
import { runDocument, runResult } from "../../engine/workflow/document.ts";
import { broken, decide, givenUp, nextVirtualTime, openAttempts } from "../../engine/workflow/next.ts";
import { failed } from "../../engine/workflow/outcomes.ts";
import type { Outcome, WorkflowRecord, WorkflowSpec } from "../../engine/workflow/records.ts";
import { visitOf, type WorkflowState } from "../../engine/workflow/state.ts";
import { attemptId } from "../../engine/workflow/trace.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { HullError } from "../../errors.ts";
import { newId } from "../../llm/transcript.ts";
import type { RunContext } from "../../run/context.ts";
import { ignoreMissing, sessionClient } from "../../run/session-client.ts";
import { carryOutAttempt, childSessions, stopAttempt } from "../../run/workflow/attempt.ts";
import { endCommands } from "../../run/workflow/verify.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { RETRY_MS } from "../conversation/due-times.ts";
import type { SessionIdentity } from "../conversation/store.ts";
import { OwedFiles } from "../owed-file.ts";
import { countRecovery, WATCH_MS } from "../run-attempts.ts";
import { forgetWorkflowRun, listedAs, noteWorkflowRun } from "./directory.ts";
import { Batch, Journal, type Origin } from "./journal.ts";
import { longOutcome } from "./outputs.ts";

/** Records are stored as soon as they are at least this many. */
const MAX_TOGETHER = 32;

/** After this many such batches in a row, other requests have their turn, among them one that stops the run. */
const MAX_BATCHES = 16;

const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

export class Workflow {
  readonly #conversation: Conversation;
  readonly #journalled: (records: readonly WorkflowRecord[]) => void;
  readonly #files: OwedFiles;
  readonly #journal: Journal;
  /** Attempts that this instance of the object executes, by name. */
  readonly #working = new Map<string, AbortController>();
  /**
   * Attempts that this instance has stored and not executed yet. Any other attempt may have begun in an earlier
   * instance.
   */
  readonly #fresh = new Set<string>();
  /**
   * Attempts that broke off in this instance, by name: how often in a row, and the session's last event then. The alarm
   * keeps the instance in memory while there are any.
   */
  readonly #brokenOff = new Map<string, { times: number; event: number }>();
  /** Sessions of stages that this instance executes, each with its run. */
  readonly #stages = new Map<string, string>();
  readonly #waiting = new Set<PromiseWithResolvers<void>>();
  #storing = false;
  /** The write of the index that has not begun. */
  #nextIndex: Promise<void> | null = null;
  /** Whether this instance is ending: it stores nothing and answers nothing any more. */
  #dying = false;

  /** @param journalled called in the transaction that stores the records, before their events are stored */
  constructor(
    conversation: Conversation,
    storage: DurableObjectStorage,
    journalled: (records: readonly WorkflowRecord[]) => void,
  ) {
    this.#conversation = conversation;
    this.#journal = new Journal(conversation, storage.sql);
    this.#journalled = journalled;
    this.#files = new OwedFiles(conversation);
  }

  /** @throws CallNotFound if the session has no workflow run */
  state(): WorkflowState {
    const state = this.#journal.state();
    if (state === null) throw new CallNotFound({ what: WORKFLOW_RUN, id: this.#conversation.id });
    return state;
  }

  /** Id of the request that began the run. */
  get requestId(): string {
    return this.#journal.origin.request_id;
  }

  /** Whether the session has a workflow run. */
  get here(): boolean {
    return this.#journal.state() !== null;
  }

  /** Stores the beginning of the run, or of the next run after one has ended. Call it within `Conversation.once`. */
  begin(spec: WorkflowSpec, origin: Origin): void {
    const { log } = this.#conversation;
    this.#journal.begin(origin);
    const at = log.now();
    const signals = (spec.test?.signals ?? []).map((signal): WorkflowRecord => {
      return { type: "event", at, id: newId(), ...signal };
    });
    this.#append([{ type: "begun", at, spec }, ...signals]);
    this.#conversation.dueAt("workflow", log.now() + WATCH_MS);
    this.#conversation.dueAt("workflow_index", log.now() + RETRY_MS);
  }

  /** Resolves once the whole state is in memory, and never if this instance is ending; `undefined`: it is in memory. */
  ready(): Promise<void> | undefined {
    return this.#dying ? new Promise(() => {}) : this.#journal.ready();
  }

  /** The run's own time, Unix ms: a test may be ahead of the clock. */
  now(): number {
    return this.#conversation.log.now() + (this.#journal.state()?.ahead ?? 0);
  }

  /** Executes what is due now and schedules the rest. */
  look(): void {
    this.note([]);
  }

  /** Stores records from outside together with what follows from them, and schedules the rest. */
  note(given: readonly WorkflowRecord[]): void {
    if (this.#journal.state() === null || this.#dying) return;
    // A session that is being removed begins nothing more.
    if (this.#conversation.log.store.session()?.state === "deleted") return;
    const reading = this.ready();
    if (reading === undefined) this.#intact(() => this.#goOn(new Batch(this.#journal.state(), given)));
    else {
      this.#append(given);
      this.#conversation.background(reading.then(() => this.look()));
    }
  }

  /**
   * Decides, stores and schedules until nothing more follows now.
   * @param batch records that are known and not stored yet
   */
  #goOn(batch: Batch): void {
    const { log } = this.#conversation;
    let batches = 0;
    for (let next = batch; ; ) {
      if (next.records.at(-1)?.type === "crashed") {
        this.#store(next);
        return;
      }
      const state = next.state ?? this.state();
      const now = log.now() + state.ahead;
      const decision = this.#orBroken(next, () => decide(state, now, newId));
      if (decision === null) continue;
      const { records, wake } = decision;
      if (records.length === 0) {
        const skipped = nextVirtualTime(state);
        if (skipped !== null && skipped > now) {
          next.add([{ type: "skipped", at: now, by: skipped - now }]);
          continue;
        }
        this.#store(next);
        this.#dispatch(wake === null ? null : wake - state.ahead);
        return;
      }
      if (records.some((record) => record.type === "ended" && longOutcome(record) !== null)) {
        this.#store(next);
        this.#conversation.dueAt("workflow", log.now() + WATCH_MS);
        this.#conversation.background(this.#decided(this.state(), records));
        return;
      }
      // A task adds events for such records, and these must come after the events of earlier records.
      const announce = records.some(({ type }) => type === "waits" || type === "finished");
      if (announce || next.records.length >= MAX_TOGETHER) {
        this.#store(next);
        batches += 1;
        if (batches === MAX_BATCHES) {
          this.#conversation.dueAt("workflow", log.now() + WATCH_MS);
          this.#conversation.background(nextTurn().then(() => this.look()));
          return;
        }
        next = new Batch(this.#journal.state());
      }
      this.#orBroken(next, () => next.add(records));
    }
  }

  /** Does a step of the engine. If that throws, every later process would fail at it too, so the run is given up. */
  #orBroken<T>(batch: Batch, step: () => T): T | null {
    try {
      return step();
    } catch (error) {
      const run = this.state().spec.run_id;
      const { log } = this.#conversation;
      log.fault({ event: "workflow_step_failed", run }, error);
      const cause = this.#conversation.context(this.#journal.origin).redacted(String(error));
      batch.add([broken(batch.state ?? this.state(), cause, log.now())]);
      return null;
    }
  }

  /** Drops the state in memory if the work fails, since it may be ahead of storage. */
  #intact(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** Stores decided records that have long outcomes, unless the state has changed meanwhile. */
  async #decided(state: WorkflowState, records: readonly WorkflowRecord[]): Promise<void> {
    if (this.#storing) return;
    this.#storing = true;
    try {
      await this.#journal.keepLong(state.spec.run_id, records);
      if (this.#journal.state() === state) this.#append(records);
    } catch (error) {
      this.#conversation.log.fault({ event: "output_not_stored" }, error);
      return;
    } finally {
      this.#storing = false;
    }
    this.look();
  }

  /** Resolves once the run has ended. @throws CallNotFound if it is removed */
  async ended(): Promise<void> {
    while (this.state().finished === null) {
      const waiting = Promise.withResolvers<void>();
      this.#waiting.add(waiting);
      await waiting.promise;
    }
  }

  /** The whole result of the last run if it has this id and has ended, else `null`. */
  async result(run: string): Promise<JsonObject | null> {
    if (!this.here) return null;
    await this.ready();
    const state = this.state();
    const ended = state.spec.run_id === run && state.finished !== null;
    return ended ? runResult(runDocument(state, new Map())) : null;
  }

  /** Resolves when the record of an ended run is among the files; `undefined`: it already is, or is not wanted. */
  saved(): Promise<boolean> | undefined {
    const { spec, finished } = this.#journal.state() ?? {};
    const path = spec?.persist_path;
    if (path === undefined || finished == null) return undefined;
    const document = async (): Promise<JsonObject> => {
      await this.ready();
      return runDocument(this.state(), new Map());
    };
    return this.#files.saved({ since: finished.at, files: { [path]: document } });
  }

  /** Writes the run's present state to the index. */
  index(): Promise<void> {
    const { deployment, env, listing, log } = this.#conversation;
    this.#nextIndex ??= listing.inOrder("workflow_not_indexed", async () => {
      this.#nextIndex = null;
      const state = this.#journal.state();
      const session = log.store.session();
      if (state === null || session === null || session.state === "deleted") return;
      const owner = { env, tenant: session.tenant };
      await noteWorkflowRun(owner, session.id, state, deployment.settings.redactor);
      if (this.#journal.state() === state) this.#conversation.dueAt("workflow_index", null);
    });
    return this.#nextIndex;
  }

  /** The session is closed or abandoned. */
  closed(): void {
    const state = this.#journal.state();
    if (state === null || state.finished !== null || state.stopped !== null) return;
    this.note([{ type: "stopped", at: this.now(), kill: false, reason: "Its session was closed." }]);
  }

  /** The session is being removed: stops all work and informs those who wait. */
  async cleared({ tenant, id }: SessionIdentity): Promise<void> {
    if (this.#journal.state() === null) return;
    for (const abort of this.#working.values()) abort.abort();
    this.#working.clear();
    for (const waiting of this.#waiting) waiting.reject(new CallNotFound({ what: WORKFLOW_RUN, id }));
    this.#waiting.clear();
    const children = this.#journal.runs().flatMap(childSessions);
    const context = this.#conversation.context({ request_id: this.requestId });
    const remove = (child: string) => sessionClient(context, child).ask("remove", null).catch(ignoreMissing);
    await Promise.all([...children.map(remove), this.#endCommands(context)]);
    await this.#journal.written();
    await forgetWorkflowRun({ env: this.#conversation.env, tenant }, id);
  }

  /** An earlier instance may have begun commands that still run. */
  async #endCommands(context: RunContext): Promise<void> {
    const { log, files } = this.#conversation;
    const row = log.store.session();
    if (row === null || log.store.submitted.ids().length === 0) return;
    await endCommands(this.state(), context, files.workspaceId(row));
  }

  /** Drops what is in memory, since it may differ from storage. */
  forget(): void {
    this.#journal.forget();
  }

  /** The run that has this session as a stage; `null`: none has. */
  runOfStage(child: string): string | null {
    if (!this.here) return null;
    const known = this.#stages.get(child);
    if (known !== undefined) return known;
    // An earlier instance of the object began it.
    return this.#journal.runs().find((run) => childSessions(run).includes(child))?.spec.run_id ?? null;
  }

  #append(records: readonly WorkflowRecord[]): void {
    this.#intact(() => this.#store(new Batch(this.#journal.state(), records)));
  }

  /** Stores records as one row, and their events as another one. */
  #store(batch: Batch): void {
    const { records, events } = batch;
    if (records.length === 0) return;
    const before = this.#journal.state();
    this.#conversation.together(() => {
      this.#journal.append(batch);
      const { log } = this.#conversation;
      this.#journalled(records);
      log.store.appendEvents(events.map((event) => log.redacted(event)));
      if (records.some(({ type }) => type === "finished"))
        this.#conversation.dueAt("workflow_index", log.now() + RETRY_MS);
    });
    const { run_id } = this.state().spec;
    for (const record of records) if (record.type === "started") this.#fresh.add(attemptId(run_id, record));
    this.#conversation.log.events.announce();
    if (before === null || listedAs(before) !== listedAs(this.state()))
      this.#conversation.background(this.index());
    for (const waiting of this.#waiting) waiting.resolve();
    this.#waiting.clear();
    if (records.some(({ type }) => type === "crashed")) this.#die();
  }

  /** Ends this instance where the run's author wants to test a crash. The next instance begins immediately. */
  #die(): void {
    this.#dying = true;
    const { log, background, die } = this.#conversation;
    this.#conversation.dueAt("workflow", log.now());
    background(die());
  }

  /** Whether this instance is ending. Ends it here if the run's author asked for a crash at this point. */
  #isOver(key: AttemptKey, at: CrashPoint["at"]): boolean {
    const point = this.#dying ? null : crashAt(this.state(), { ...key, at });
    if (point !== null) this.#append([{ type: "crashed", at: this.now(), point }]);
    return this.#dying;
  }

  /** Begins attempts that nothing executes, and stops those that are no longer wanted. */
  #dispatch(wake: number | null): void {
    const state = this.state();
    const { log } = this.#conversation;
    const { run_id } = state.spec;
    const open = new Map(openAttempts(state).map((key) => [attemptId(run_id, key), key]));
    for (const [name, abort] of this.#working) {
      const key = open.get(name);
      if (key === undefined || !wanted(state, key)) abort.abort();
    }
    for (const [name, key] of open) if (!this.#working.has(name)) this.#work(name, key);
    const watch = open.size > 0 ? this.#watchAt(log.now()) : null;
    this.#conversation.dueAt("workflow", least(wake, watch));
  }

  /** When to check on running attempts. Keeps a time that is near enough, so that not every stage sets the alarm. */
  #watchAt(now: number): number {
    const latest = now + WATCH_MS;
    const known = this.#conversation.log.store.due.at("workflow");
    return known !== null && known > now && known < latest ? known : latest;
  }

  #work(name: string, key: AttemptKey): void {
    const state = this.state();
    const abort = new AbortController();
    if (!wanted(state, key)) abort.abort();
    this.#working.set(name, abort);
    const work = this.#attempt(state, key, abort.signal)
      .then(async (outcome) => {
        // The run was removed, and another one may have its name by now.
        if (this.#working.get(name) !== abort) return;
        const record: WorkflowRecord = { type: "ended", at: this.now(), ...key, outcome };
        await this.#journal.keepLong(state.spec.run_id, [record]);
        this.#working.delete(name);
        await this.ready();
        if (isOpen(this.state(), name) && !this.#isOver(key, "answered")) this.note([record]);
      })
      .catch((error: unknown) => {
        if (this.#working.get(name) === abort) this.#working.delete(name);
        this.#conversation.log.fault({ event: "attempt_broke_off", attempt: name }, error);
        this.#brokeOff(name, key);
      });
    this.#conversation.background(work);
  }

  /**
   * Counts an attempt that broke off, and gives the run up after too many in a row. Otherwise the next check executes the
   * attempt again, under the same name.
   */
  #brokeOff(name: string, key: AttemptKey): void {
    const state = this.#journal.state();
    if (state === null || this.#dying || !isOpen(state, name)) return;
    const event = this.#conversation.log.store.lastEvent();
    const before = this.#brokenOff.get(name) ?? { times: 0, event };
    const times = countRecovery(before.times, event > before.event);
    if (times !== null) this.#brokenOff.set(name, { times, event });
    else this.note(givenUp(state, key, this.now()));
  }

  async #attempt(state: WorkflowState, key: AttemptKey, signal: AbortSignal): Promise<Outcome> {
    const { log, files } = this.#conversation;
    const { origin } = this.#journal;
    const { skills } = state.spec;
    const pinned = skills === undefined ? {} : { pinned: skills };
    const context = this.#conversation.context(origin, pinned);
    const known = {
      known: (execution: string) => log.store.submitted.known(execution),
      note: (...noted: Parameters<typeof log.store.submitted.note>) => {
        log.store.submitted.note(...noted);
        const [, fact] = noted;
        if (fact === "admitted") this.#isOver(key, "called");
      },
    };
    let stage: string | null = null;
    const announce = (child: string): void => {
      stage = child;
      this.#stages.set(child, state.spec.run_id);
    };
    const stops = async (): Promise<void> => {
      if (this.#isOver(key, "called")) await new Promise(() => {});
    };
    const called = state.spec.test?.crashes === undefined ? null : stops;
    const here = { session: log.store.identity().id, announce, account: origin.account };
    const place = { context, ...here, workspace: files, known, signal, called };
    const again = !this.#fresh.delete(attemptId(state.spec.run_id, key));
    if (signal.aborted) {
      // An earlier instance may have begun it and died before it could stop it.
      const outcome = again ? await stopAttempt(state, key, place) : null;
      return outcome ?? failed("error", "cancelled", "The run was stopped.");
    }
    try {
      return await carryOutAttempt(state, key, place, again);
    } catch (error) {
      if (signal.aborted) return failed("error", "cancelled", "The run was stopped.");
      if (error instanceof HullError)
        return failed("error", error.code, context.redacted(String(error.data.detail ?? error.message)));
      throw error;
    } finally {
      if (stage !== null) this.#stages.delete(stage);
    }
  }
}

const WORKFLOW_RUN = "workflow run";

/** Whether an attempt has begun and not ended. */
const isOpen = (state: WorkflowState, name: string): boolean =>
  openAttempts(state).some((key) => attemptId(state.spec.run_id, key) === name);

/** Whether an attempt may continue. In a stopped run, only compensations may. */
const wanted = (state: WorkflowState, key: AttemptKey): boolean =>
  state.stopped === null || undoes(state, visitOf(state, key));
