/**
 * The runs of a session, one at a time (design.md §2.3, §2.4): begun, carried on after the death of the process that had
 * them, waited for, stopped; each settled exactly once.
 */
import type { Rest } from "../../engine/agent/drive.ts";
import { driveAgent } from "../../engine/agent/drive.ts";
import type { AgentRecord, AgentRecordBody, Wake } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { AgentState, RunState } from "../../engine/agent/state.ts";
import type { Bindings } from "../../env.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { RunCancelled, RunInProgress, RunLost } from "../../errors/session.ts";
import { type ErrorData, HullError } from "../../errors.ts";
import type { AgentParts, RunPlace } from "../../run/agent/parts.ts";
import { doneEvents, lostEvents } from "./done.ts";
import { placeOf } from "./place.ts";
import type { Wait } from "./rpc.ts";
import type { Also, SessionLog } from "./session-log.ts";
import type { RunRow, SessionRow } from "./store.ts";

/** A run whose process died is taken up again after this long at the latest; also keeps a silent one in memory. */
export const WATCH_MS = 15_000;
/** Lives in a row that get nothing done before a run is given up. */
const MAX_RECOVERIES = 3;
/** Records that come from outside: a run that gets these only gets nowhere. */
const FROM_OUTSIDE: readonly AgentRecord["type"][] = [
  "message_received",
  "feedback_received",
  "approval_decided",
  "client_tool_answered",
  "woke",
];

export interface RunsOptions {
  log: SessionLog;
  env: Bindings;
  parts: AgentParts;
  background: (work: Promise<unknown>) => void;
  session: () => SessionRow;
  /** Told when a run rests: what can only go on when something comes from outside. */
  rested: (step: Rest["step"]) => void;
}

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
  start(spec: AgentSpec, requestId: string): void {
    const { store } = this.#log;
    const live = store.liveRun();
    if (live !== null) throw new RunInProgress({ session: this.#options.session().id, run: live.id });
    const now = this.#log.now();
    const first_event = store.lastEvent() + 1;
    this.#log.add([{ type: "run_started", run: spec.run_id, spec }], {
      write: () => {
        const first_record = store.lastRecord();
        store.addRun({ id: spec.run_id, request_id: requestId, created_at: now, first_event, first_record });
        store.touch(now);
        store.setDue({ watch: now + WATCH_MS });
      },
    });
    this.#live(this.row(spec.run_id));
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
    return row === null || this.#log.state().run?.stage === "idle" ? null : row;
  }

  /** Sees to it that a run which is to go on does. */
  ensure(): void {
    const row = this.#log.store.liveRun();
    if (row !== null && row.status === "running" && this.#life === null) this.#resume(row);
  }

  /** Waits until the run has ended, or, with `idle`, until it rests. */
  async wait(id: string, wait: Wait): Promise<void> {
    this.ensure();
    for (;;) {
      const row = this.row(id);
      const rests = row.status !== "running" && this.#life === null;
      if (wait === "none" || row.settled_at !== null || (wait === "idle" && rests)) return;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /**
   * Stores records that reach the run from outside, or wait for the next one.
   * @param goOn whether they let a run that rests go on
   */
  receive(bodies: readonly AgentRecordBody[], goOn: boolean, also: Also = {}): void {
    const { store } = this.#log;
    const row = store.liveRun();
    const records = bodies.map((body) => this.#log.record(body));
    const { write, ...events } = also;
    this.#log.append(records, {
      ...events,
      write: (state, last) => {
        write?.(state, last);
        if (row === null || !goOn) return;
        this.#noteStatus(row, state);
        store.setDue({ watch: this.#log.now() + WATCH_MS });
      },
    });
    this.#life?.incoming.push(...records);
    if (row === null || !goOn) return;
    this.#goOn(row.id);
  }

  /** Wakes a run that is idle; answers whether it was. */
  wake(wake: Wake, first: readonly AgentRecordBody[] = [], also: Also = {}): boolean {
    const { run } = this.#log.state();
    if (run?.stage !== "idle") return false;
    this.receive([...first, { type: "woke", run: run.spec.run_id, wake }], true, also);
    return true;
  }

  /** Lets a run that rests be looked at again, e.g. since an approval has expired. */
  kick(): void {
    const { store } = this.#log;
    const row = store.liveRun();
    if (row === null || row.status === "running") return this.ensure();
    store.transaction(() => {
      store.updateRun(row.id, { status: "running" });
      store.setDue({ watch: this.#log.now() + WATCH_MS });
    });
    this.#goOn(row.id);
  }

  #goOn(id: string): void {
    if (this.#life === null) this.#live(this.row(id));
    else this.#life.again = true;
  }

  /** Ends a run that is under way. */
  cancel(id: string): void {
    const row = this.row(id);
    if (row.settled_at !== null) return;
    const { data } = new RunCancelled({ run: id });
    this.#settleFrom(row, { type: "run_settled", run: id, status: "cancelled", error: data });
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
    const recoveries = this.#gotOn(row) ? 1 : row.recoveries + 1;
    if (recoveries > MAX_RECOVERIES) return this.#giveUp(row);
    store.updateRun(row.id, { recoveries, progress: store.lastRecord() });
    store.setDue({ watch: this.#log.now() + WATCH_MS });
    this.#live({ ...row, recoveries }, true);
  }

  /** Whether the lives since the last recovery have done anything. */
  #gotOn({ progress }: RunRow): boolean {
    for (const record of this.#log.store.records(progress)) {
      if (!FROM_OUTSIDE.includes(record.type)) return true;
    }
    return false;
  }

  /** @param resumed whether an earlier life may have died in the middle of something */
  #live(row: RunRow, resumed = false): void {
    const abort = new AbortController();
    const { id: run, status } = row;
    const life: Life = { run, status, abort, incoming: [], again: false, over: false };
    this.#life = life;
    // In a later turn: what begins it may be in the middle of a transaction.
    const ended = Promise.resolve()
      .then(() => this.#drive(life, row, resumed))
      .catch((error: unknown) => {
        // Where nothing can be stored now, e.g. while a new version is deployed, a later life goes on from what is.
        if (!(error instanceof RunOver)) this.#note(row, "run_broke_off", { error: String(error) });
        life.again = false;
      })
      .finally(() => {
        if (this.#life !== life) return;
        this.#life = null;
        if (life.again && !life.over) this.#live(this.row(run));
        else this.#changed();
      });
    this.#options.background(ended);
  }

  async #drive(life: Life, row: RunRow, resumed: boolean): Promise<void> {
    const log = this.#log;
    const { parts } = this.#options;
    if (log.store.run(row.id)?.settled_at !== null) return;
    const state = log.state();
    const { run } = state;
    if (run === null || run.spec.run_id !== row.id || !log.intact()) return this.#giveUp(row);
    if (resumed) this.#tellRestart(run);
    const append = (records: readonly AgentRecord[]): void => this.#append(life, row, records);
    try {
      const rest = await driveAgent(state, {
        effects: parts.effects(run.spec, this.#place(row)),
        vault: parts.vault(run.spec),
        append,
        incoming: () => life.incoming.splice(0),
        now: log.now,
        signal: life.abort.signal,
      });
      if (rest.step.type === "wait" && !life.again && !life.over) this.#rest(life, rest.step);
      this.#options.rested(rest.step);
    } catch (error) {
      if (!(error instanceof HullError)) throw error;
      const { run_id } = run.spec;
      append([log.record({ type: "run_settled", run: run_id, status: "error", error: error.data })]);
    }
  }

  #append(life: Life, row: RunRow, records: readonly AgentRecord[]): void {
    if (life.over) throw new RunOver();
    const settles = records.some(({ type }) => type === "run_settled");
    if (settles) return this.#settle(row, records);
    this.#log.append(records, {
      write: (state) => {
        life.status = this.#noteStatus({ ...row, status: life.status }, state);
      },
    });
  }

  #settle(row: RunRow, records: readonly AgentRecord[]): void {
    const { store } = this.#log;
    const settled_at = this.#log.now();
    this.#log.append(records, {
      events: (state) => {
        const facts = { run_id: row.id, session_id: this.#options.session().id };
        const run = { ...facts, created_at: row.created_at, settled_at };
        const own = store.records(row.first_record - 1);
        return doneEvents(state, row, () => this.#options.parts.resultOf(state, run, own));
      },
      write: (state, last) => this.#noteEnd(row, state.run?.status ?? "error", settled_at, last),
    });
    this.#ended(row, this.#log.state());
  }

  /** Settles a run without its life. */
  #settleFrom(row: RunRow, settled: AgentRecordBody & { type: "run_settled" }): void {
    const executions = this.#log.store.handedIn();
    this.#settle(row, [this.#log.record(settled)]);
    this.#stop(row, executions, settled.error);
  }

  #giveUp(row: RunRow): void {
    const { store } = this.#log;
    const { data } = new RunLost({ run: row.id });
    const executions = store.handedIn();
    const settled: AgentRecordBody = { type: "run_settled", run: row.id, status: "error", error: data };
    const facts = { run_id: row.id, session_id: this.#options.session().id };
    this.#log.appendUnseen([settled], lostEvents(row, facts, data), (last) =>
      this.#noteEnd(row, "error", this.#log.now(), last),
    );
    this.#ended(row, null);
    this.#stop(row, executions, data);
  }

  #noteEnd(row: RunRow, status: RunRow["status"], settled_at: number, done_event: number): void {
    const { store } = this.#log;
    store.updateRun(row.id, { status, settled_at, done_event });
    store.touch(settled_at);
    store.setDue({ watch: null, approval: null });
    store.clearHandedIn();
  }

  #ended(row: RunRow, state: AgentState | null): void {
    if (this.#life?.run === row.id) this.#life.over = true;
    this.#note(row, "run", {
      status: state?.run?.status ?? "error",
      duration_ms: this.#log.now() - row.created_at,
      iterations: state?.run?.iterations,
      recoveries: row.recoveries,
      code: state === null ? "run_lost" : state.run?.error?.code,
    });
    this.#changed();
  }

  #stop(row: RunRow, executions: readonly string[], error: ErrorData | null): void {
    const life = this.#life;
    if (life?.run === row.id) life.abort.abort(error === null ? undefined : new HullError(error));
    const stopped = this.#options.parts.stop(this.#place(row), executions);
    this.#options.background(
      stopped.catch((fault: unknown) => this.#note(row, "run_not_stopped", { error: String(fault) })),
    );
  }

  /** Nothing goes on until something comes; only what is due still has an alarm. */
  #rest(life: Life, step: Extract<Rest["step"], { type: "wait" }>): void {
    const { store } = this.#log;
    store.transaction(() => {
      if (life.status !== step.status) store.updateRun(life.run, { status: step.status });
      store.setDue({ watch: null, approval: step.for === "approval" ? step.until : null });
    });
    life.status = step.status;
  }

  /** A life that died within a model's answer told a part of it, which is void now. */
  #tellRestart(run: RunState): void {
    const { store } = this.#log;
    const last = store.event(store.lastEvent());
    if (last?.event !== "delta" && last?.event !== "thought") return;
    store.appendEvent({ event: "round", data: { round: run.iterations - 1, restarted: true } });
    this.#log.events.announce();
  }

  /** Writes the status where it is another one. */
  #noteStatus({ id, status: known }: RunRow, { run }: AgentState): RunRow["status"] {
    const status = run?.status ?? known;
    if (status !== known) this.#log.store.updateRun(id, { status });
    return status;
  }

  #place({ id: run_id, request_id, created_at: startedAt }: RunRow): RunPlace {
    const { env, background, session } = this.#options;
    return placeOf({
      ...{ env, background, store: this.#log.store, session: session(), run_id, request_id, startedAt },
      emit: (event) => {
        if (this.#life?.run === run_id && !this.#life.over) this.#log.emit(event);
      },
    });
  }

  #changed(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  #note(row: RunRow, event: string, facts: Record<string, unknown>): void {
    const session_id = this.#options.session().id;
    const line = { event, session_id, run_id: row.id, request_id: row.request_id, ...facts };
    console.log(JSON.stringify(this.#log.redact(line)));
  }
}
