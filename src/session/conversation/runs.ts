/**
 * The runs of a session, one at a time (design.md §2.3, §2.4): begun, carried on after the death of the process that had
 * them, waited for, stopped.
 */
import { driveAgent, type Rest } from "../../engine/agent/drive.ts";
import type { AgentRecord, AgentRecordBody, Wake } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import type { Bindings } from "../../env.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { RunCancelled, RunInProgress } from "../../errors/session.ts";
import { type ErrorData, HullError } from "../../errors.ts";
import type { RunPlace } from "../../run/agent/parts.ts";
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { placeOf } from "./place.ts";
import { gotOn, MAX_RECOVERIES, tellRestart } from "./recovery.ts";
import type { Wait } from "./rpc.ts";
import type { RunRow } from "./run-rows.ts";
import type { Also, SessionLog } from "./session-log.ts";
import { type EndOptions, logRun, loseRun, settleRun } from "./settle.ts";

/** A run whose process died is taken up again after this long at the latest; also keeps a silent one in memory. */
export const WATCH_MS = 15_000;

/** What a run rests for. */
export type WaitStep = Extract<Rest["step"], { type: "wait" }>;

interface RunsOptions extends EndOptions {
  env: Bindings;
  background: (work: Promise<unknown>) => void;
  workspace: WorkspaceAccess;
  /** Told when a run begins; what it writes is stored with that. */
  started: (spec: AgentSpec) => void;
  /** Told when a run rests; what it writes is stored with that. */
  rested: (step: WaitStep) => void;
  /** Told when a run is woken; what it writes is stored with that. */
  woke: (wake: Wake) => void;
  /** Told when a run has ended. */
  ended: (run: string) => void;
}

/** Messages speak for themselves. */
export const MESSAGE_WAKE: Wake = {
  reason: "message",
  feedback: null,
  messages: [],
  watch_paths: [],
  resumed: false,
};

/** The part of a run that lives in memory. */
interface Life {
  run: string;
  /** As its row has it. */
  status: RunRow["status"];
  abort: AbortController;
  /** Stored, and not yet seen by the driver. */
  incoming: AgentRecord[];
  /** Something came while the driver was about to rest. */
  again: boolean;
  /** It was settled. */
  over: boolean;
  /** To be kept with the next records; `null`: as it is. */
  memo: string | null;
  /** Further members of the result. */
  further: () => JsonObject;
}

/** A life that learns that its run was settled without it. */
class RunOver extends Error {}

export class Runs {
  readonly #options: RunsOptions;
  readonly #log: SessionLog;
  readonly #waiting = new Set<() => void>();
  #life: Life | null = null;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#log = options.log;
  }

  /** Begins a run. @throws RunInProgress */
  start(spec: AgentSpec, by: Pick<RunRow, "request_id" | "mock_scope">): void {
    const { store } = this.#log;
    const live = store.liveRun();
    if (live !== null) throw new RunInProgress({ session: this.#options.session().id, run: live.id });
    const now = this.#log.now();
    const first_event = store.lastEvent() + 1;
    this.#log.add([{ type: "run_started", run: spec.run_id, spec }], {
      write: () => {
        const first_record = store.lastRecord();
        store.addRun({ id: spec.run_id, ...by, created_at: now, first_event, first_record });
        store.touch(now);
        store.setDue({ watch: now + WATCH_MS });
        this.#options.started(spec);
      },
    });
    this.#live(this.row(spec.run_id), false);
  }

  /** @throws CallNotFound */
  row(id: string): RunRow {
    const row = this.#log.store.run(id);
    if (row === null) throw new CallNotFound({ what: "run", id });
    return row;
  }

  /** The run under way where it leaves the conversation half said: no one else may change it now. */
  busy(): RunRow | null {
    const row = this.#log.store.liveRun();
    if (row === null) return null;
    return this.#log.state().run?.stage === "idle" && this.#life === null ? null : row;
  }

  /** Sees to it that a run which is to go on does. */
  ensure(): void {
    const row = this.#log.store.liveRun();
    if (row !== null && row.status === "running" && this.#life === null) this.#resume(row);
  }

  /** Waits until the run has ended, or, with `idle`, until it rests. */
  async wait(id: string, wait: Wait): Promise<void> {
    for (;;) {
      const row = this.row(id);
      const rests = row.status !== "running" && this.#life === null;
      if (wait === "none" || row.settled_at !== null || (wait === "idle" && rests)) return;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /**
   * Stores records that come from outside, for the run under way or the next one.
   * @param goOn whether they let a run that rests go on
   */
  receive(bodies: readonly AgentRecordBody[], goOn: boolean): void {
    const { store } = this.#log;
    const row = store.liveRun();
    const goes = row !== null && goOn;
    const records = bodies.map((body) => this.#log.record(body));
    const write: Also["write"] = (state) => {
      if (!goes) return;
      this.#noteStatus(row, state);
      store.setDue({ watch: this.#log.now() + WATCH_MS });
      this.#tellWakes(records);
    };
    this.#log.append(records, { write });
    this.#life?.incoming.push(...records);
    if (goes) this.#goOn(row.id);
  }

  /** Wakes a run that is idle, and answers whether it was. @param first what comes with the wake */
  wake(wake: Wake, first: readonly AgentRecordBody[] = []): boolean {
    const { run } = this.#log.state();
    if (run?.stage !== "idle") return false;
    this.receive([...first, { type: "woke", run: run.spec.run_id, wake }], true);
    return true;
  }

  /** Lets a run that rests be looked at again, since an approval has expired. */
  kick(): void {
    const { store } = this.#log;
    const row = store.liveRun();
    if (row === null || row.status === "running") {
      store.setDue({ approval: null });
      this.ensure();
      return;
    }
    store.transaction(() => {
      store.updateRun(row.id, { status: "running" });
      store.setDue({ watch: this.#log.now() + WATCH_MS, approval: null });
    });
    this.#goOn(row.id);
  }

  /** Ends a run that is under way. */
  cancel(id: string): void {
    const row = this.row(id);
    if (row.settled_at !== null) return;
    const { data } = new RunCancelled({ run: id });
    const executions = this.#log.store.handedIn.ids();
    this.#settle(row, [this.#log.record({ type: "run_settled", run: id, status: "cancelled", error: data })]);
    this.#stop(row, executions, data);
  }

  /** Ends a run that is idle, with a status that says why. */
  end(id: string, status: "idle" | "watchdog"): void {
    const row = this.row(id);
    if (row.settled_at !== null || this.#log.state().run?.stage !== "idle") return;
    this.#settle(row, [this.#log.record({ type: "run_settled", run: id, status, error: null })]);
  }

  /** Ends whatever run is under way. */
  cancelAny(): void {
    const row = this.#log.store.liveRun();
    if (row !== null) this.cancel(row.id);
  }

  /** What is under way in memory ends without a word: its storage is gone. */
  abandon(): void {
    if (this.#life !== null) {
      this.#life.over = true;
      this.#life.abort.abort(new RunCancelled({ run: this.#life.run }));
    }
    this.#changed();
  }

  /** Takes up a run that an earlier life left behind. Noted before anything is loaded, since that may be what kills. */
  #resume(row: RunRow): void {
    const { store } = this.#log;
    const recoveries = gotOn(this.#log, row) ? 1 : row.recoveries + 1;
    if (recoveries > MAX_RECOVERIES) {
      this.#giveUp(row);
      return;
    }
    store.transaction(() => {
      store.updateRun(row.id, { recoveries, progress: store.lastRecord() });
      store.setDue({ watch: this.#log.now() + WATCH_MS });
    });
    this.#live({ ...row, recoveries }, true);
  }

  #goOn(id: string): void {
    if (this.#life === null) this.#live(this.row(id), false);
    else this.#life.again = true;
  }

  /** Begins the next life at once; where nothing can be read now, a later one is begun by the alarm. */
  #goesOn(id: string): boolean {
    try {
      this.#live(this.row(id), false);
      return true;
    } catch {
      return false;
    }
  }

  /** @param resumed whether an earlier life may have died in the middle of something */
  #live(row: RunRow, resumed: boolean): void {
    const abort = new AbortController();
    const { id: run, status } = row;
    const begun = { incoming: [], again: false, over: false, memo: null, further: () => ({}) };
    const life: Life = { run, status, abort, ...begun };
    this.#life = life;
    // In a later turn: what begins it may be in the middle of a transaction.
    const ended = Promise.resolve()
      .then(() => this.#drive(life, row, resumed))
      .catch((error: unknown) => {
        // Where nothing can be stored now, e.g. while a new version is deployed, a later life goes on from what is.
        life.again = false;
        if (!(error instanceof RunOver))
          logRun(this.#options, row, "run_broke_off", { error: String(error) });
      })
      .finally(() => {
        if (this.#life !== life) return;
        this.#life = null;
        if (!life.again || life.over || !this.#goesOn(run)) this.#changed();
      });
    this.#options.background(ended);
  }

  async #drive(life: Life, row: RunRow, resumed: boolean): Promise<void> {
    const log = this.#log;
    const { run } = log.state();
    if (log.store.run(row.id)?.settled_at !== null) return;
    if (run === null || run.spec.run_id !== row.id || !log.intactSince(row.first_record)) {
      this.#giveUp(row);
      return;
    }
    if (resumed) tellRestart(log, run);
    const append = (records: readonly AgentRecord[]): void => this.#append(life, row, records);
    const { signal } = life.abort;
    try {
      const { parts } = this.#options;
      const { effects, vault, further } = await parts.begin(run.spec, this.#place(row), signal);
      if (life.over) return;
      life.further = further;
      // What came until now is part of the state that the driver begins with.
      life.incoming = [];
      const incoming = (): AgentRecord[] => life.incoming.splice(0);
      const { now } = log;
      const { step } = await driveAgent(log.state(), { effects, vault, append, incoming, now, signal });
      if (step.type === "wait" && !life.again && !life.over) this.#rest(life, step);
    } catch (error) {
      if (!(error instanceof HullError)) throw error;
      append([log.record({ type: "run_settled", run: row.id, status: "error", error: error.data })]);
    }
  }

  #append(life: Life, row: RunRow, records: readonly AgentRecord[]): void {
    if (life.over) throw new RunOver();
    if (records.some(({ type }) => type === "run_settled")) {
      this.#settle(row, records);
      return;
    }
    const all = [...records, ...this.#missedWake(records)];
    if (all.length > records.length) life.again = true;
    const write: Also["write"] = (state) => {
      life.status = this.#noteStatus({ ...row, status: life.status }, state);
      if (life.memo !== null) this.#log.store.updateRun(row.id, { memo: life.memo });
      this.#tellWakes(all);
    };
    this.#log.append(all, { write });
    life.memo = null;
  }

  /** A message that came too late to keep a run going, and before it was idle, wakes it at once. */
  #missedWake(records: readonly AgentRecord[]): AgentRecord[] {
    const idle = records.find((record) => record.type === "went_idle");
    const { waiting } = this.#log.state();
    if (idle === undefined || !waiting.some(({ delivery }) => delivery !== "wait_for_completion")) return [];
    return [this.#log.record({ type: "woke", run: idle.run, wake: MESSAGE_WAKE })];
  }

  #tellWakes(records: readonly AgentRecord[]): void {
    for (const record of records) if (record.type === "woke") this.#options.woke(record.wake);
  }

  #settle(row: RunRow, records: readonly AgentRecord[]): void {
    const life = this.#life;
    settleRun(this.#options, row, records, life?.run === row.id ? life : { further: () => ({}), memo: null });
    this.#ended(row);
  }

  #giveUp(row: RunRow): void {
    const executions = this.#log.store.handedIn.ids();
    const error = loseRun(this.#options, row);
    this.#ended(row);
    this.#stop(row, executions, error);
  }

  #ended({ id }: RunRow): void {
    if (this.#life?.run === id) this.#life.over = true;
    this.#options.ended(id);
    this.#changed();
  }

  /** Ends what goes on for a run that was settled without its doing. */
  #stop(row: RunRow, executions: readonly string[], error: ErrorData): void {
    if (this.#life?.run === row.id) this.#life.abort.abort(new HullError(error));
    const stopped = this.#options.parts.stop(this.#place(row), executions);
    this.#options.background(
      stopped.catch((fault: unknown) =>
        logRun(this.#options, row, "run_not_stopped", { error: String(fault) }),
      ),
    );
  }

  /** Nothing goes on until something comes; only what is due still has an alarm. */
  #rest(life: Life, step: WaitStep): void {
    const { store } = this.#log;
    store.transaction(() => {
      if (life.status !== step.status) store.updateRun(life.run, { status: step.status });
      store.setDue({ watch: null, approval: step.for === "approval" ? step.until : null });
      this.#options.rested(step);
    });
    life.status = step.status;
  }

  /** Writes the status where it is another one. A daemon that goes idle is so when there is nothing left to do first. */
  #noteStatus({ id, status: known }: RunRow, { run }: AgentState): RunRow["status"] {
    const now = run?.status ?? known;
    const status = now === "idle" ? known : now;
    if (status !== known) this.#log.store.updateRun(id, { status });
    return status;
  }

  #place({ id: run_id, request_id, mock_scope, created_at: startedAt, memo }: RunRow): RunPlace {
    const { env, background, workspace, session } = this.#options;
    return placeOf({
      ...{ env, background, workspace, store: this.#log.store, session: session() },
      ...{ run_id, request_id, mock_scope, startedAt, memo },
      remember: (value) => {
        if (this.#life?.run === run_id) this.#life.memo = JSON.stringify(value);
      },
      emit: (event) => {
        if (this.#life?.run !== run_id || this.#life.over) return;
        try {
          this.#log.emit(event);
        } catch (error) {
          // A store that takes no more is noticed by the run's next step.
          console.error(JSON.stringify({ event: "event_not_stored", run_id, error: String(error) }));
        }
      },
    });
  }

  #changed(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}
