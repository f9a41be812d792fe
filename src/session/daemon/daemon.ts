/**
 * A session's daemon: a run that goes idle, and what wakes it. All decisions follow from stored facts, so a new instance
 * of the object continues seamlessly.
 */

import type { Wake } from "../../engine/agent/records.ts";
import type { AgentSpec, DaemonOptions } from "../../engine/agent/spec.ts";
import type { RunState } from "../../engine/agent/state.ts";
import { wakeText } from "../../engine/agent/texts.ts";
import { wakeOf } from "../../engine/agent/wake.ts";
import {
  afterClockChange,
  cronAfter,
  dueNow,
  idleSchedule,
  nextLook,
  nextWake,
  resumeWait,
  type Schedule,
  ticked,
} from "../../engine/daemon/schedule.ts";
import { type FileEvent, watchedPaths } from "../../engine/daemon/watch.ts";
import type { Message } from "../../engine/messages.ts";
import { termsOf } from "../../engine/run-status.ts";
import { DaemonPathTaken } from "../../errors/daemon.ts";
import { failureClassOf } from "../../errors/failure-class.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { RunInProgress } from "../../errors/session.ts";
import { HullError } from "../../errors.ts";
import { newRunId } from "../../run/agent/daemon-spec.ts";
import { scheduledWake } from "../../run/agent/wake-timer.ts";
import type { Json } from "../../skill/manifest.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { RETRY_MS } from "../conversation/due-times.ts";
import type { SessionAnswer, SessionCaller } from "../conversation/rpc.ts";
import { logRun } from "../conversation/settle.ts";
import type { SessionIdentity } from "../conversation/store.ts";
import { type DaemonNote, forgetDaemon, noteDaemon } from "./directory.ts";
import type { DaemonStatus } from "./listed.ts";
import type { DaemonOperations } from "./rpc.ts";
import { type DaemonRow, DaemonStore, NEW_DAEMON } from "./store.ts";

/** The most paths that one wake names. */
const MAX_WATCHED = 100;
/**
 * The directory stores the time of the daemon's next report plus this many ms. The time is updated when it moves by more
 * than `CHECK_MOVED_MS`.
 */
const CHECK_AFTER_MS = 15 * 60_000;
const CHECK_MOVED_MS = 10 * 60_000;

/** The times of a daemon that is not idle. The due time of its cron expression stays. */
const NOT_IDLE = { idle_at: null, timer_at: null, tick_at: null, ticks: 0 };
const NONE_IN_FLIGHT = { inflight: null, inflight_at: null };
/** The wakes of a daemon that has ended and is not resumed by itself. */
const NO_WAKES = { cron_at: null, asked_at: null, watched: [] };

type Restart = (input: DaemonOperations["restart"]["in"], caller: SessionCaller) => Promise<SessionAnswer>;

export class Daemon {
  readonly store: DaemonStore;
  readonly #conversation: Conversation;
  readonly #restart: Restart;
  /** Set while the daemon is being stopped, so that nothing wakes it. */
  #stopping = false;

  /** @param restart carries out the operation, as for a caller */
  constructor(conversation: Conversation, storage: DurableObjectStorage, restart: Restart) {
    this.#conversation = conversation;
    this.#restart = restart;
    this.store = new DaemonStore(storage, conversation.log.store.tables);
  }

  /** @throws CallNotFound */
  row(): DaemonRow {
    const row = this.store.row();
    if (row === null) throw new CallNotFound({ what: "daemon", id: this.#conversation.id });
    return row;
  }

  status(row: DaemonRow): DaemonStatus {
    const { store } = this.#conversation.log;
    const run = store.runs.find(row.run);
    if (run === null || run.settled_at !== null) return run?.status === "error" ? "failed" : "stopped";
    return "running";
  }

  /** When Hull resumes the failed daemon, Unix ms; `null`: it does not. */
  resumesAt(row: DaemonRow): number | null {
    return this.status(row) === "failed" ? this.#conversation.log.store.due.at("daemon") : null;
  }

  /** Whether something may wake the daemon, now or once it is resumed. */
  mayWake(row: DaemonRow): boolean {
    return this.status(row) === "running" || this.resumesAt(row) !== null;
  }

  /** `active`, or the status in which its run ended or rests. */
  state(row: DaemonRow): string {
    const status = this.run(row)?.status ?? this.#conversation.log.store.runs.find(row.run)?.status ?? "idle";
    return status === "running" ? "active" : status;
  }

  /** The daemon's run in the folded state; `null`: another run has followed it. */
  run({ run: id }: DaemonRow): RunState | null {
    const { run } = this.#conversation.log.state();
    return run?.spec.run_id === id ? run : null;
  }

  /** Iterations of all the daemon's runs together. */
  iterations(row: DaemonRow): number {
    const run = this.run(row);
    return run === null ? row.iterations : row.earlier_iterations + run.iterations;
  }

  /** Wakes the daemon if there is a reason, and sets the time of the next check. */
  look(): void {
    const row = this.#acknowledged();
    if (row !== null && this.resumesAt(row) !== null) {
      this.#conversation.background(this.#resume(row));
      return;
    }
    const run = row === null ? null : this.run(row);
    if (row === null || run?.stage !== "idle" || this.#stopping) {
      this.#conversation.dueAt("daemon", null);
      return;
    }
    const { daemon } = run.spec;
    if (this.#deliver(row, run) || daemon === null) return;
    if (row.asked_at !== null) {
      const feedback = { kind: "resume", content: wakeText("resume") };
      this.#conversation.runs.wake(wakeOf("resume", { feedback }));
      return;
    }
    if (row.watched.length > 0) {
      const feedback = { kind: "watch", content: wakeText("watch", row.watched) };
      this.#conversation.runs.wake(wakeOf("watch", { feedback, watch_paths: row.watched }));
      return;
    }
    const schedule = scheduleOf(row);
    if (schedule !== null) this.#bySchedule(schedule, daemon, run.spec.run_id);
  }

  /** Notes watched files that others changed, even while the run is not idle. */
  filesChanged(changes: readonly FileEvent[]): void {
    const row = this.store.row();
    const daemon = row === null ? null : (this.run(row)?.spec.daemon ?? null);
    if (row === null || daemon === null || !this.mayWake(row)) return;
    const paths = watchedPaths(daemon, changes);
    if (paths.length === 0) return;
    const watched = [...new Set([...row.watched, ...paths])].slice(0, MAX_WATCHED);
    this.store.update({ watched });
    if (row.idle_at === null) return;
    this.#conversation.dueAt("daemon", this.#conversation.log.now());
    queueMicrotask(() => this.#lookNow());
  }

  /** Ends the run; an event in flight returns to the front of the queue. */
  stop(run: string): void {
    const { runs, log } = this.#conversation;
    if (log.state().run?.stage === "idle") runs.end(run, "idle");
    else runs.cancel(run);
  }

  /** Prevents wakes while the work is under way. */
  async stopping<T>(work: () => Promise<T>): Promise<T> {
    this.#stopping = true;
    try {
      return await work();
    } finally {
      this.#stopping = false;
    }
  }

  /** Removes a handled event from the queue; returns the updated row. */
  #acknowledged(): DaemonRow | null {
    const row = this.store.row();
    if (row === null || row.inflight === null || !this.#handled(row)) return row;
    const { inflight } = row;
    this.#conversation.together(() => {
      this.store.removeEvent(inflight);
      this.store.update(NONE_IN_FLIGHT);
    });
    return { ...row, ...NONE_IN_FLIGHT };
  }

  /** Whether the run finished its first iteration with the event that was delivered to it. */
  #handled(row: DaemonRow): boolean {
    const run = this.run(row);
    if (run === null) return false;
    const iterations = run.iterations - (row.inflight_at ?? 0);
    if (run.stage === "idle" || iterations > 1) return true;
    return run.stage === "ended" && iterations > 0 && !isBroken(run);
  }

  /** Number of waiting events, without the one in flight. */
  pending(row: DaemonRow): number {
    return this.store.eventCount() - (row.inflight === null ? 0 : 1);
  }

  /** The row, after a handled event has left the queue. @throws CallNotFound */
  settled(): DaemonRow {
    return this.#acknowledged() ?? this.row();
  }

  /** Delivers the next event unless one is in flight, and stores in the same transaction that it is in flight. */
  #deliver(row: DaemonRow, run: RunState): boolean {
    const [event] = this.store.events(0);
    if (event === undefined || row.inflight !== null) return false;
    const { seq, payload } = event;
    const message = messageOf(payload);
    const messages = this.#isKnown(message, run) ? [] : [message];
    this.#conversation.together(() => {
      this.#conversation.runs.wake(wakeOf("event", { messages }));
      this.store.update({ inflight: seq, inflight_at: run.iterations });
    });
    return true;
  }

  /** Whether the run before failed at its first call with this message, so that the conversation has it already. */
  #isKnown(message: Message, { iterations, spec }: RunState): boolean {
    if (iterations > 0 || !spec.daemon?.failures) return false;
    return JSON.stringify(this.#conversation.log.state().visible.at(-1)) === JSON.stringify(message);
  }

  #bySchedule(stored: Schedule, options: DaemonOptions, run: string): void {
    const now = this.#conversation.log.now();
    const schedule = afterClockChange(stored, options, now);
    const due = dueNow(schedule, now);
    if (due === "cron" || due === "timer") {
      this.#conversation.runs.wake(scheduledWake(due));
      return;
    }
    const next = due === "tick" ? ticked(schedule, options, now) : schedule;
    if (next === null) {
      this.#conversation.runs.end(run, "watchdog");
      return;
    }
    this.#conversation.together(() => {
      this.store.update(next);
      this.#conversation.dueAt("daemon", nextLook(next));
    });
  }

  /** A run begins. Called in the transaction that stores it. */
  started(spec: AgentSpec): void {
    const { daemon } = spec;
    if (daemon === null) return;
    const now = this.#conversation.log.now();
    const before = this.store.row();
    // If the run continues from a snapshot of this session, both counts include the same iterations.
    const counted = before === null ? 0 : this.iterations(before);
    const iterations = Math.max(counted, daemon.earlier_iterations ?? 0);
    const cron_at =
      before !== null && this.resumesAt(before) !== null ? before.cron_at : cronAfter(daemon, now);
    this.#conversation.together(() => {
      const known = before ?? { ...NEW_DAEMON, created_at: now };
      this.store.put({
        ...known,
        ...NOT_IDLE,
        ...NONE_IN_FLIGHT,
        interrupted: false,
        run: spec.run_id,
        cron_at,
        iterations,
        earlier_iterations: iterations,
      });
      this.#changed();
    });
  }

  /** The run is idle: restarts the timers, and handles immediately what arrived meanwhile. */
  rested(): void {
    const row = this.#acknowledged();
    const run = row === null ? null : this.run(row);
    if (row === null || run === null || run.spec.daemon === null) return;
    const now = this.#conversation.log.now();
    const schedule = idleSchedule(run.spec.daemon, row.cron_at, now);
    const iterations = row.earlier_iterations + run.iterations;
    const waits = row.asked_at !== null || row.watched.length > 0 || this.store.eventCount() > 0;
    this.#conversation.together(() => {
      this.store.update({ ...schedule, iterations, saved_at: now });
      this.#conversation.dueAt("daemon", waits ? now : nextLook(schedule));
    });
    if (moved(row.check_at, checkAt(schedule))) this.#conversation.background(this.index());
    const due = dueNow(schedule, now);
    if (waits || (due !== null && due !== "tick")) queueMicrotask(() => this.#lookNow());
  }

  #lookNow(): void {
    try {
      this.look();
    } catch (error) {
      // It stays due, so the alarm handles it.
      this.#conversation.log.fault({ event: "daemon_not_woken" }, error);
    }
  }

  /** The daemon woke: clears its idle timers, and moves a schedule that fired to its next time. */
  woke({ reason }: Wake): void {
    const row = this.store.row();
    const daemon = row === null ? undefined : this.run(row)?.spec.daemon;
    if (daemon === undefined || daemon === null) return;
    const now = this.#conversation.log.now();
    this.#conversation.together(() => {
      this.store.update({
        wake_reason: reason,
        wake_at: now,
        ...NOT_IDLE,
        ...(reason === "resume" ? { asked_at: null } : {}),
        ...(reason === "watch" ? { watched: [] } : {}),
        ...(reason === "cron" ? { cron_at: cronAfter(daemon, now) } : {}),
      });
      this.#conversation.dueAt("daemon", null);
    });
  }

  /** A run has ended. */
  ended(id: string): void {
    const row = this.#acknowledged();
    if (row?.run !== id) return;
    const run = this.run(row);
    // An event that was not handled stays in the queue until the daemon is started again.
    const interrupted = row.idle_at === null && row.inflight === null && run !== null && isBroken(run);
    const now = this.#conversation.log.now();
    const resumes = run === null ? null : resumeAt(run, now);
    this.#conversation.together(() => {
      this.store.update({
        ...NOT_IDLE,
        ...NONE_IN_FLIGHT,
        ...(resumes === null ? NO_WAKES : {}),
        interrupted,
        iterations: this.iterations(row),
        saved_at: now,
      });
      this.#conversation.dueAt("daemon", resumes);
      this.#changed();
    });
  }

  /** A failed daemon does not wait for its resumption any more. */
  endWaiting(row: DaemonRow): void {
    if (this.resumesAt(row) === null) return;
    this.#conversation.together(() => {
      this.store.update(NO_WAKES);
      this.#conversation.dueAt("daemon", null);
    });
  }

  /** Starts the failed daemon again, as for a person. After a refusal it stays failed; after a fault it remains due. */
  async #resume(row: DaemonRow): Promise<void> {
    const { log, runs } = this.#conversation;
    const { tenant, id } = log.store.identity();
    const { request_id, mock_scope, settled_at } = runs.row(row.run);
    const run_id = newRunId();
    const run = this.run(row);
    const failures = run === null ? 1 : failuresUntil(run);
    const request = { name: `resume after ${row.run}`, hash: "" };
    const caller = { tenant, id, request_id, mock_scope };
    const answer = await this.#restart({ run_id, failures, request }, caller);
    if (answer.ok) {
      if (this.row().run !== run_id) return;
      const waited_ms = log.now() - (settled_at ?? 0);
      logRun(log, runs.row(run_id), "daemon_resumed", { attempt: failures, waited_ms });
    } else if (this.resumesAt(row) !== null) {
      const { error, operator } = answer;
      log.fault({ event: "daemon_not_resumed", run_id: row.run }, new HullError(error, operator));
      // Another run of the session may be under way.
      if (error.status >= 500 || error.code === RunInProgress.code) return;
      this.endWaiting(row);
      await this.index();
    }
  }

  /** The session is being removed. */
  async cleared({ tenant, id }: SessionIdentity): Promise<void> {
    if (this.store.row() === null) return;
    await forgetDaemon({ env: this.#conversation.env, tenant }, id);
  }

  /** Schedules an update of the directory, which is repeated until it succeeds. */
  #changed(): void {
    this.#conversation.dueAt("daemon_index", this.#conversation.log.now() + RETRY_MS);
    this.#conversation.background(this.index());
  }

  /** The daemon's entry for the directory; `null`: there is no daemon. */
  note(): DaemonNote | null {
    const session = this.#conversation.log.store.session();
    const row = this.store.row();
    if (session === null || session.state === "deleted" || row === null) return null;
    const { name, persist_path, skill, webhook, created_at } = row;
    const status = this.status(row);
    const schedule = scheduleOf(row);
    const soon = this.#conversation.log.now() + CHECK_AFTER_MS;
    const resumes = this.resumesAt(row);
    const live = status !== "running" ? null : schedule === null ? soon : checkAt(schedule);
    const check_at = resumes === null ? live : resumes + CHECK_AFTER_MS;
    const { tenant, id } = session;
    const run = this.run(row);
    const runs = run === null ? {} : { runs: run.spec.agent ?? null };
    return { tenant, id, name, status, persist_path, skill, ...runs, webhook, check_at, created_at };
  }

  /**
   * Updates the directory.
   * @param claimed the directory knows a daemon of this session, even if none has begun here
   */
  index(claimed: SessionIdentity | null = null): Promise<void> {
    const { env, listing } = this.#conversation;
    return listing.inOrder("daemon_not_indexed", async () => {
      const note = this.note();
      if (note === null && claimed !== null) await forgetDaemon({ env, tenant: claimed.tenant }, claimed.id);
      if (note === null) return;
      await noteDaemon(env, note).catch((error: unknown) => {
        // A repetition would fail, too.
        if (error instanceof DaemonPathTaken) this.#conversation.dueAt("daemon_index", null);
        throw error;
      });
      const now = this.note();
      if (now === null || now.status !== note.status) return;
      this.store.update({ check_at: note.check_at });
      this.#conversation.dueAt("daemon_index", null);
    });
  }
}

/** The schedule of an idle daemon; `null`: it is not idle. */
function scheduleOf({ idle_at, timer_at, cron_at, tick_at, ticks }: DaemonRow): Schedule | null {
  return idle_at === null ? null : { idle_at, timer_at, cron_at, tick_at, ticks };
}

function checkAt(schedule: Schedule): number | null {
  const at = nextWake(schedule);
  return at === null ? null : at + CHECK_AFTER_MS;
}

function moved(known: number | null, wanted: number | null): boolean {
  if (known === null || wanted === null) return known !== wanted;
  return Math.abs(known - wanted) > CHECK_MOVED_MS;
}

/** An event as a message to the model: a text unchanged, anything else as JSON. */
function messageOf(payload: Json): Message {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  return { role: "user", content: [{ type: "text", text }] };
}

/** How often the daemon has failed in a row: since one of its wakes came to its end, or a person resumed it. */
function failuresUntil({ iterations, wakeIterations, spec }: RunState): number {
  return (iterations > wakeIterations ? 0 : (spec.daemon?.failures ?? 0)) + 1;
}

/** When Hull resumes the daemon whose run has ended, Unix ms; `null`: it does not. */
function resumeAt(run: RunState, now: number): number | null {
  const { status, error, spec } = run;
  if (status !== "error" || error === null || failureClassOf(error).kind !== "transient") return null;
  // Whoever delegated a run learns that it has failed.
  if (spec.daemon === null || spec.delegation !== undefined) return null;
  const wait = resumeWait(spec.daemon, failuresUntil(run));
  const { at: deadline = Number.POSITIVE_INFINITY } = spec.deadline ?? {};
  return wait === null || now + wait >= deadline ? null : now + wait;
}

/** Whether the run ended before it finished its current work. A budget may end it before the model answers at all. */
const isBroken = ({ status, taken }: RunState): boolean =>
  termsOf(status).stopped === true || (status === "budget_exhausted" && taken === null);
