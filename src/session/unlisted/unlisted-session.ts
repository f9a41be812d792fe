/**
 * The session of one idempotent or asynchronous call. No list shows it, and the call is its only run. Hull removes it a
 * day after the run's end, or after 30 days for a response. The code that drives the run is the same as for runs inside
 * a request. Everything is stored before it is sent, so the run continues if its process dies.
 */

import type { Deployment } from "../../deployment.ts";
import type { Bindings } from "../../env.ts";
import { ExecutionCancelled } from "../../errors/request.ts";
import { ExecutionLost } from "../../errors/run.ts";
import { HullError, Internal, toHullError } from "../../errors.ts";
import type { Background } from "../../log.ts";
import { detachedContext, type LogFields, type RunContext } from "../../run/context.ts";
import type { RunEvent } from "../../run/events.ts";
import { dropInput, releaseTemporary } from "../../run/files.ts";
import type { RunOutput } from "../../run/handle.ts";
import { anonymousRunId, operationOf } from "../../run/operation.ts";
import { closeChildren } from "../../run/task/sub-agent.ts";
import { RETRY_MS } from "../conversation/due-times.ts";
import type { RunRow } from "../conversation/run-rows.ts";
import type { SessionListing } from "../conversation/session-listing.ts";
import type { SessionLog } from "../conversation/session-log.ts";
import type { ConversationStore } from "../conversation/store.ts";
import { type RunTrace, tracePage } from "../conversation/trace.ts";
import { removeObjects } from "../r2-objects.ts";
import { RunAttempts, RunSettled, WATCH_MS } from "../run-attempts.ts";
import { beginningFacts, entryOf, type RunEntry, type RunFacts } from "../run-entry.ts";
import { agentFacts, callFacts, hasEnded, storedFacts } from "../run-facts.ts";
import { forgetRuns, noteRuns } from "../run-index.ts";
import {
  type CallRow,
  CallStore,
  highestOf,
  type Outcome,
  type StoredInput,
  type UnansweredRuns,
} from "./call-store.ts";
import { clearRunFiles, holdBody, keysOf, keysOfCall, objectsOf, openBody, runFiles } from "./contents.ts";
import { type CallAttempt, executeCall, hasStarted, type KnownRun } from "./execute.ts";
import { doneEvent, failure, logEnd, stateOf, stopProcesses } from "./finish.ts";
import type {
  Begun,
  BegunSkill,
  ExecutionAnswer,
  ExecutionCall,
  ExecutionEvents,
  ExecutionStatus,
  KnownCall,
} from "./rpc.ts";

/** How long a result is kept after the run's end, in ms. A response is kept as long as its vendor keeps one. */
const KEPT_MS = 24 * 3_600_000;
const RESPONSE_KEPT_MS = 30 * KEPT_MS;
/**
 * Longer than the runner remembers an execution. Until then, a new run with this id needs another name at the runner.
 */
const REMOVED_MS = 15 * 60_000;

interface UnlistedOptions {
  storage: DurableObjectStorage;
  deployment: Deployment;
  background: Background;
  log: SessionLog;
  listing: SessionListing;
}

export class UnlistedSession extends RunAttempts<CallAttempt> {
  readonly #deployment: Deployment;
  readonly #env: Bindings;
  readonly #storage: DurableObjectStorage;
  readonly #store: ConversationStore;
  readonly #calls: CallStore;
  readonly #listing: SessionListing;
  #armed = false;

  constructor({ storage, deployment, background, log, listing }: UnlistedOptions) {
    super(log, background);
    this.#listing = listing;
    this.#deployment = deployment;
    this.#env = deployment.env;
    this.#storage = storage;
    this.#store = log.store;
    this.#calls = new CallStore(storage.sql, log.store);
  }

  /** Whether this object is the session of a call. */
  get here(): boolean {
    return this.#calls.row() !== null;
  }

  /** Begins the run, unless the same call already did. A run that failed before it took effect begins again. */
  begin(call: ExecutionCall): Begun {
    const known = this.attach(call);
    const before = this.#calls.row();
    const keys = keysOfCall(call);
    const [tenant = ""] = call.caller.split("/");
    if (known !== null) {
      const used = new Set(before === null ? [] : keysOf(before.input));
      const unused = keys.filter((key) => !used.has(key));
      if (unused.length > 0) this.background(dropInput({ env: this.#env, tenant }, unused));
      return known;
    }
    // If the answer of this function was lost, the same input comes again.
    const spent = before === null ? [] : objectsOf(before).filter((key) => !keys.includes(key));
    const now = this.log.now();
    const { id, caller, skill: name, digest, request_hash, request_id, mock_scope = "" } = call;
    const { generations, highest } = this.#unanswered(before);
    const { [request_hash]: own, ...others } = generations;
    const generation = own ?? highest + 1;
    // Drops events that an earlier run gathered and has not stored.
    this.log.events.take();
    this.#store.prepare();
    this.#store.transaction(() => {
      if (before !== null) this.#calls.empty([], now);
      const times = { created_at: now, updated_at: now };
      const plain = { state: "active" as const, parent_id: null, branched_at: null, metadata: {} };
      this.#store.replaceSession({ id, tenant, ...times, request_hash, ...plain });
      const unanswered = { generations: others, highest: Math.max(generation, highest) };
      const input = this.#keepInput(call, { spent, unanswered });
      this.#calls.put({ generation, caller, name, digest, input });
      const run = { id: runIdOf(id, generation), request_id, mock_scope, created_at: now };
      const listed = JSON.stringify(beginningFacts({ kind: "call", name, model: null }));
      this.#store.runs.add({ ...run, first_event: 1, first_record: 0, listed });
      if (own !== undefined) this.#store.submitted.note(run.id, "handed_in");
      const taken = keys.length === 0 ? null : now + RETRY_MS;
      this.#store.due.set({ watch: now + WATCH_MS, expiry: null, input: taken });
    });
    this.log.forget();
    this.#removeObjects(spent);
    if (keys.length > 0) this.background(this.takeOverInput());
    const row = this.#store.runs.live();
    if (row !== null) {
      this.startAttempt(row);
      const run = this.runRow(row);
      const listed = (): Promise<void> =>
        noteRuns(this.#env, [{ tenant, run }]).catch(() =>
          this.#store.due.set({ run_index: this.log.now() + RETRY_MS }),
        );
      // After the row of an earlier run is removed.
      this.background(this.#listing.inOrder("run_not_indexed", listed));
    }
    return "started";
  }

  /**
   * Makes the tenant's file index forget the input, which from now on is removed with the run. It is due until that has
   * succeeded: the index would remove the input a day after it was stored.
   */
  async takeOverInput(): Promise<void> {
    const call = this.#calls.row();
    if (call === null) return;
    const [tenant = ""] = call.caller.split("/");
    await releaseTemporary({ env: this.#env, tenant }, keysOf(call.input));
    // Another run may have begun meanwhile, with an input of its own.
    if (this.#calls.row()?.input.body === call.input.body) this.#store.due.set({ input: null });
  }

  /** Attaches to a run that was begun; `null` if there is none, or if it failed before it took effect. */
  attach({ caller, request_hash }: KnownCall): Begun | null {
    const known = this.#kept(caller);
    if (known === null) return null;
    const { run } = known;
    if (this.#store.session()?.request_hash !== request_hash) return "other_request";
    this.ensure();
    return run.settled_at === null ? "attached" : "finished";
  }

  begun(caller: string): BegunSkill | null {
    const known = this.#kept(caller);
    return known === null ? null : { slug: known.call.name, version: known.call.digest };
  }

  async answer(caller: string): Promise<ExecutionAnswer | null> {
    const asked = this.#known(caller);
    if (asked === null) return null;
    this.ensure();
    while (this.#known(caller)?.run.settled_at === null && this.current !== null) await this.change();
    const outcome = this.#known(caller)?.call.outcome ?? null;
    if (outcome === null) throw new Internal({ cause: "the execution broke off" });
    if (!outcome.ok) return outcome;
    const { headers, timings } = outcome;
    return { ok: true, headers, timings, body: await openBody(this.#env, this.#store.long, outcome.body) };
  }

  async follow(caller: string, after: number, early: boolean): Promise<ExecutionEvents | null> {
    if (this.#known(caller) === null) return null;
    this.ensure();
    if (this.#store.lastEvent() === 0) await this.current?.opened.promise;
    const known = this.#known(caller);
    if (known === null) return null;
    const { call, run, id } = known;
    if (early && call.outcome?.ok === false && !hasStarted(this.#store)) return call.outcome;
    // A number above the last event belongs to an earlier run of this id.
    const from = Math.min(after, this.#store.lastEvent());
    const over = run.done_event !== null && from >= run.done_event;
    const body = over
      ? new Blob([]).stream()
      : this.log.events.follow(id, from, { last: ({ event }) => event === "done" });
    return { ok: true, body };
  }

  status(caller: string): ExecutionStatus | null {
    if (this.#known(caller) === null) return null;
    this.ensure();
    const known = this.#known(caller);
    if (known === null) return null;
    const { call, run } = known;
    const { name: skill, outcome } = call;
    const { created_at, settled_at: finished_at } = run;
    const run_id = operationOf(call) === "runs" ? anonymousRunId(run.id) : null;
    const result = outcome?.ok ? { headers: outcome.headers, size: outcome.size } : null;
    const error = outcome?.ok === false ? outcome.error : null;
    return { run_id, skill, status: stateOf(run), created_at, finished_at, result, error };
  }

  steps(caller: string, page: { after: number; limit: number }): string | null {
    const known = this.#known(caller);
    if (known === null) return null;
    // As for a run of a session: a secret that is cut off could no longer be found.
    const records = Array.from(this.#store.records(), (record) => this.log.answered(record));
    const trace: RunTrace = { ...tracePage(records, page), recovered: known.run.recoveries > 0 };
    return JSON.stringify(trace);
  }

  async input(caller: string): Promise<Uint8Array | ReadableStream<Uint8Array> | null> {
    const text = this.#known(caller)?.call.input.text ?? null;
    return text === null ? null : openBody(this.#env, this.#store.long, text);
  }

  async cancel(caller: string, keeps = false): Promise<"cancelled" | "removed" | "ended" | null> {
    const known = this.#known(caller);
    if (known === null) return null;
    if (known.run.settled_at !== null) {
      this.stopAgain();
      if (keeps) return "ended";
      this.#remove(known.call);
      return "removed";
    }
    await this.#stop(known, new ExecutionCancelled({ id: known.id }), "cancelled");
    return "cancelled";
  }

  /** Makes sure that the run under way is being driven. */
  watch(): void {
    if (this.#store.runs.live() === null) this.#store.due.set({ watch: null });
    else this.ensure();
  }

  /** The stored run, if the caller may see it. */
  #known(caller: string): KnownRun | null {
    const call = this.#calls.row();
    if (call === null || call.caller !== caller) return null;
    if (!this.#armed) this.background(this.#store.due.rearm());
    this.#armed = true;
    return expired(call, this.log.now()) ? null : this.#withRun(call);
  }

  /** The stored run, unless it failed before it took effect: such a run begins again. */
  #kept(caller: string): KnownRun | null {
    const known = this.#known(caller);
    if (known === null) return null;
    const { call, run } = known;
    return call.begun || run.settled_at === null || run.status === "cancelled" ? known : null;
  }

  /**
   * The runs whose processes the runner may have, the last one among them. The next run of the same request has the name
   * of its earlier one: the runner begins the process once at most, and the run follows it. A request with another input
   * would get the answer to that of the earlier one.
   */
  #unanswered(call: CallRow | null): UnansweredRuns {
    const session = this.#store.session();
    if (call === null || session === null) return { generations: {}, highest: -1 };
    const { generation, begun, input } = call;
    const perhaps = !begun && this.#store.submitted.known(runIdOf(session.id, generation)) === "handed_in";
    const last = perhaps ? { [session.request_hash ?? ""]: generation } : {};
    return { generations: { ...input.unanswered?.generations, ...last }, highest: highestOf(call) };
  }

  #withRun(call: CallRow | null): KnownRun | null {
    const session = this.#store.session();
    if (call === null || session === null) return null;
    const run = this.#store.runs.find(runIdOf(session.id, call.generation));
    return run === null ? null : { call, run, id: session.id };
  }

  #keepInput(
    { id, skill, digest, text, files, bot }: ExecutionCall,
    { spent, unanswered }: { spent: string[]; unanswered: UnansweredRuns },
  ): StoredInput {
    const keep = (name: string, content: Uint8Array | { key: string; size: number }) => {
      if (!(content instanceof Uint8Array)) return content;
      this.#store.long.write(name, content);
      return { name };
    };
    return {
      text: text === null ? null : keep("text", text),
      files: files.map(({ filename, mime, content }, index) => ({
        filename,
        mime,
        place: keep(`file-${index}`, content),
      })),
      body: `${operationOf({ name: skill, digest }) === "responses" ? "responses" : "executions"}/${id}/body-${crypto.randomUUID()}`,
      ...(bot === undefined ? {} : { bot }),
      ...(spent.length === 0 ? {} : { spent }),
      unanswered,
    };
  }

  protected override newAttempt({ id }: RunRow): CallAttempt {
    return {
      run: id,
      abort: new AbortController(),
      rerun: false,
      settled: false,
      opened: Promise.withResolvers<void>(),
    };
  }

  protected override interrupted({ id }: RunRow, error: unknown): void {
    this.log.fault({ event: "execution_broke_off", id }, error);
  }

  protected override madeProgress({ progress }: RunRow): boolean {
    return this.progress() > progress;
  }

  /** Counts durable progress: settled effects, executions that reached the runner, output of a script. */
  protected override progress(): number {
    const records = this.#store.lastRecord();
    const memo = this.#store.runs.live()?.memo === null ? 0 : 1;
    const call = this.#calls.row();
    // A run attempt may repeat a model's words, so only a script's output, which is sent once, counts.
    const seen = records === 0 && (call === null || operationOf(call) === null) ? this.#store.lastEvent() : 0;
    return this.#store.submitted.progress() + records + memo + seen;
  }

  /** @param attempt the one that drives the run; absent: nothing of the run happens with this context */
  #context({ call, run }: KnownRun, attempt?: CallAttempt): RunContext {
    const { request_id: requestId, mock_scope: mockScope, created_at: startedAt } = run;
    const [tenant = ""] = call.caller.split("/");
    const { bot } = call.input;
    const beforeEffects = async (): Promise<void> => {
      if (attempt?.settled === true) throw new RunSettled();
      this.#calls.noteBegun();
    };
    const origin = {
      requestId,
      tenant,
      mockScope,
      startedAt,
      beforeEffects,
      ...(bot === undefined ? {} : { bot }),
    };
    return detachedContext(this.#deployment, origin, this.background);
  }

  protected override giveUp(): void {
    const known = this.#withRun(this.#calls.row());
    if (known === null) return;
    // The runner may have begun its process.
    if (this.#store.submitted.ids().length > 0) this.#calls.noteBegun();
    this.background(this.#stop(known, new ExecutionLost({ id: known.id }), "error"));
  }

  /** Ends a run from outside immediately, then stops what it was doing. */
  #stop(known: KnownRun, error: HullError, state: "error" | "cancelled"): Promise<void> {
    const context = this.#context(known);
    const attempt = this.attemptOf(known.run.id);
    const { outcome, events } = failure(context, error);
    const stop = this.#store.submitted.ids().length > 0 ? this.log.now() + WATCH_MS : null;
    this.#settle(known, context, state, { outcome, events, stop });
    attempt?.abort.abort();
    // A call of a skill delegates nothing.
    if (operationOf(known.call) !== null) this.background(this.#closeChildren(context));
    return this.#stopAtRunner(known);
  }

  /** Stops at the runner what the process that ended a run may have died before stopping. */
  stopAgain(): void {
    const known = this.#store.due.at("stop") === null ? null : this.#withRun(this.#calls.row());
    if (known === null || known.run.settled_at === null) this.#store.due.set({ stop: null });
    else this.background(this.#stopAtRunner(known));
  }

  /** It stays due until the runner was asked. */
  async #stopAtRunner(known: KnownRun): Promise<void> {
    const { due, submitted } = this.#store;
    const at = due.at("stop");
    await stopProcesses(this.#context(known), known.run.id, submitted.runners());
    if (at !== null && due.at("stop") === at) due.set({ stop: null });
  }

  /** Ends what a stopped run delegated. Reading its records may kill the process; by then the end is on disk. */
  async #closeChildren(context: RunContext): Promise<void> {
    await this.#store.sync();
    const { run } = this.log.state();
    if (run !== null) await closeChildren(context, run);
  }

  protected override async drive(attempt: CallAttempt, row: RunRow): Promise<void> {
    try {
      await this.#drive(attempt, row);
    } finally {
      attempt.opened.resolve();
    }
  }

  async #drive(attempt: CallAttempt, row: RunRow): Promise<void> {
    const known = this.#withRun(this.#calls.row());
    if (known === null || known.run.id !== row.id || known.run.settled_at !== null) return;
    const context = this.#context(known, attempt);
    try {
      const place = { deployment: this.#deployment, log: this.log };
      const { id, call } = known;
      const files = () => runFiles(this.#storage, this.#env, { id, generation: call.generation });
      const output = await executeCall(known, attempt, { ...place, context, files });
      if (!attempt.settled) await this.#keep(known, attempt, context, output);
    } catch (error) {
      if (attempt.settled) return;
      if (!(error instanceof HullError) && goesOn(known.call)) throw error;
      this.#settle(known, context, "error", failure(context, toHullError(error)));
    }
  }

  /** Stores the output. @throws what breaks off its body */
  async #keep(known: KnownRun, attempt: CallAttempt, context: RunContext, output: RunOutput): Promise<void> {
    const { body: key } = known.call.input;
    if (key === null) return;
    const held = await holdBody(this.#env, key, output.body);
    // The run was cancelled and removed meanwhile, so nobody will read the body.
    if (attempt.settled) return this.#removeObjects(held instanceof Uint8Array ? [] : [held.key]);
    if (held instanceof Uint8Array) this.#store.transaction(() => this.#store.long.write("body", held));
    const [body, size] = held instanceof Uint8Array ? [{ name: "body" }, held.length] : [held, held.size];
    const outcome: Outcome = { ok: true, headers: output.headers, body, size, timings: context.timings };
    this.#settle(known, context, "done", { outcome, events: [doneEvent(context, true, output)] });
  }

  /** Ends the run exactly once, with its last events. @param stop when to stop again what the runner does for it */
  #settle(
    { run, call, id }: KnownRun,
    context: RunContext,
    status: "done" | "error" | "cancelled",
    { outcome, events, stop = null }: { outcome: Outcome; events: RunEvent[]; stop?: number | null },
  ): void {
    const current = this.#store.runs.find(run.id);
    if (current === null || current.settled_at !== null) return;
    const settled_at = this.log.now();
    const code = outcome.ok ? null : outcome.error.code;
    const listed = JSON.stringify(this.#factsFrom(call, { status, code }, context.log));
    const expires = settled_at + (operationOf(call) === "responses" ? RESPONSE_KEPT_MS : KEPT_MS);
    this.log.appendUnseen(
      [],
      () => events,
      (done_event) => {
        this.#store.runs.update(run.id, { status, settled_at, done_event, listed });
        this.#calls.settle(outcome, expires);
        // Due until the row is written, since the process may die before that.
        this.#store.due.set({ watch: null, expiry: expires, run_index: settled_at + RETRY_MS, stop });
      },
    );
    this.attemptOf(run.id)?.opened.resolve();
    this.settled(run.id);
    this.#listing.repeat();
    logEnd(context, { id, call, run: current, state: status }, outcome);
  }

  /** The row of the run in the tenant's list of runs. */
  runRow(run: RunRow): RunEntry {
    return entryOf({ id: this.#store.identity().id, session: null }, run, this.#facts(run));
  }

  #facts(run: RunRow): RunFacts {
    const known = storedFacts(run.listed);
    const { status, settled_at } = run;
    if (settled_at !== null && hasEnded(known)) return known;
    const call = this.#calls.row();
    const outcome = call?.outcome;
    const code = outcome?.ok === false ? outcome.error.code : null;
    return this.#factsFrom(call, { status, code }, {});
  }

  /** @param log of the attempt that ends the call; empty: it is not at hand */
  #factsFrom(
    call: CallRow | null,
    { status, code }: { status: RunRow["status"]; code: string | null },
    log: LogFields,
  ): RunFacts {
    // If the run was stopped from outside, reading its records may be what kills the process.
    const stopped = status === "cancelled" || code === ExecutionLost.code;
    const run = stopped && !this.log.loaded ? null : this.log.state().run;
    const facts = callFacts(log, { name: call?.name ?? null, state: status, code });
    if (run === null) return facts;
    // The call of an agent run is done however that run ended.
    const isRun = call !== null && operationOf(call) === "runs";
    const of = agentFacts(run, isRun && status === "done" ? run.status : status);
    return { ...of, kind: facts.kind, name: facts.name, code: code ?? of.code };
  }

  /** Continues the run if it is under way, or else writes its row again. */
  relist(): void {
    this.background(this.#store.due.rearm());
    if (this.#store.runs.live() === null) this.#listing.repeat();
    else this.ensure();
  }

  /** Removes the run in one step without waiting. A later run has its own rows and R2 keys. */
  #remove(call: CallRow): void {
    const spent = objectsOf(call);
    const { id, tenant } = this.#store.identity();
    const owner = { env: this.#env, tenant };
    this.background(this.#listing.inOrder("run_not_forgotten", () => forgetRuns(owner, [id])));
    const expires = this.log.now() + REMOVED_MS;
    this.#store.transaction(() => {
      this.#calls.empty(spent, expires);
      this.#store.due.set({ watch: null, expiry: expires });
    });
    this.log.forget();
    this.log.events.close();
    this.#removeObjects(spent);
  }

  /** Removes R2 objects. Those that cannot be removed now are removed with the session. */
  #removeObjects(keys: readonly string[]): void {
    if (keys.length === 0) return;
    const removed = removeObjects(this.#env.FILES, keys);
    this.background(removed.catch(this.log.faults({ event: "objects_not_removed" })));
  }

  /** Empties the session, unless a new run began while R2 was being cleared. */
  async expire(): Promise<void> {
    const call = this.#calls.row();
    if (call === null) return;
    if (!expired(call, this.log.now())) {
      this.#store.due.set({ expiry: call.expires_at });
      return;
    }
    const keys = objectsOf(call);
    await removeObjects(this.#env.FILES, keys);
    const { id } = this.#store.session() ?? { id: "" };
    await clearRunFiles(this.#env, id, highestOf(call));
    const now = this.#calls.row();
    if (now?.generation !== call.generation || now.expires_at !== call.expires_at) return;
    const cleared = this.#store.clear();
    this.log.forget();
    this.log.events.close();
    await cleared;
  }
}

/** The run's name at the runner, which remembers earlier runs of the same id for some minutes. */
function runIdOf(id: string, generation: number): string {
  return generation === 0 ? id : `${id}-${generation}`;
}

/**
 * Whether a later run attempt can continue where an earlier one broke off: from its records, or with the process that
 * the runner has. A new attempt at a single model call would only pay for the call again.
 */
const goesOn = (call: CallRow): boolean => operationOf(call)?.startsWith("llm/") !== true;

const expired = ({ expires_at }: CallRow, now: number): boolean => expires_at !== null && expires_at <= now;
