/**
 * One session: its stored state and its runs. Operations (`operations.ts`) act on it. Parts that build on it, e.g. a
 * daemon, learn about its changes through `SessionLifecycle`.
 */

import type { Deployment } from "../../deployment.ts";
import type { SessionState } from "../../engine/agent/records.ts";
import type { Bindings } from "../../env.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { IdempotencyKeyReused } from "../../errors/request.ts";
import { RunInProgress, SessionExists, SessionNotActive } from "../../errors/session.ts";
import type { Background } from "../../log.ts";
import type { AgentRuntime } from "../../run/agent/runtime.ts";
import { detachedContext, type RunContext } from "../../run/context.ts";
import type { RunEvent } from "../../run/events.ts";
import { askTenant } from "../../run/ledger.ts";
import type { SessionKind } from "../../run/session-client.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { isKeyed, type Named, type NamedRequest, nameIn } from "../named-request.ts";
import { removeBelow, sessionPrefix } from "../r2-objects.ts";
import { forgetRuns } from "../run-index.ts";
import { forgetSession } from "../session-index.ts";
import type { SessionView } from "./answers.ts";
import { documentStream } from "./documents.ts";
import { type DueKind, RETRY_MS } from "./due-times.ts";
import { adopt, isBeingMade } from "./fork.ts";
import type {
  Adopted,
  ForkStep,
  LongText,
  SessionCaller,
  SessionDocument,
  SessionEventsCall,
  SessionOperations,
} from "./rpc.ts";
import { Runs } from "./runs.ts";
import { SessionFiles } from "./session-files.ts";
import type { SessionLifecycle } from "./session-lifecycle.ts";
import { SessionListing } from "./session-listing.ts";
import { SessionLog } from "./session-log.ts";
import { ConversationStore, type SessionRow } from "./store.ts";
import { answeredBy, streamEnd } from "./stream-end.ts";
import { sessionView } from "./views.ts";

/** When a session is removed, Hull removes the index rows of this many runs. Rows of older runs expire by age. */
const MAX_RUNS = 10_000;

/** What a Durable Object provides to its session. */
export interface SessionHost {
  storage: DurableObjectStorage;
  deployment: Deployment;
  background: Background;
  runtime: AgentRuntime;
  /** Stores everything, then ends this instance of the object; the next request or alarm starts a new one. */
  die: () => Promise<void>;
  /** Unix ms. */
  now?: () => number;
}

export class Conversation {
  readonly deployment: Deployment;
  readonly env: Bindings;
  readonly background: Background;
  readonly runtime: AgentRuntime;
  readonly die: () => Promise<void>;
  readonly log: SessionLog;
  readonly files: SessionFiles;
  readonly runs: Runs;
  readonly listing: SessionListing;
  readonly #store: ConversationStore;
  readonly #lifecycle: SessionLifecycle;
  /** Set while a longer change of the conversation is under way. `by` names its request. It aborts when the session is removed. */
  #changing: { by: NamedRequest; abort: AbortController; over: Promise<void> } | null = null;
  #armed = false;
  #adopting: Promise<unknown> = Promise.resolve();
  /** The removal under way of what a removed session left; `null`: none. */
  #clearing: Promise<void> | null = null;

  /** @param lifecycle the constructor never calls it */
  constructor(
    { storage, deployment, background: keep, runtime, die, now = Date.now }: SessionHost,
    lifecycle: SessionLifecycle,
  ) {
    const { env, settings } = deployment;
    this.#lifecycle = lifecycle;
    this.deployment = deployment;
    this.env = env;
    this.runtime = runtime;
    this.die = die;
    const { redactor: answers, eventRedactor: events } = settings;
    this.#store = new ConversationStore(storage);
    const log = new SessionLog(this.#store, now, { answers, events });
    this.log = log;
    // What must be done again is due.
    this.background = (work) => keep(work.catch(log.faults({ event: "background_failed" })));
    this.files = new SessionFiles({ storage, env, now, store: this.#store, lifecycle });
    const { background } = this;
    this.listing = new SessionListing({ log, deployment, background, lifecycle });
    const workspace = this.files.byRun;
    this.runs = new Runs({ log, deployment, runtime, background, workspace, lifecycle });
  }

  /**
   * Prepares the session for a caller's request and makes sure that its run is being driven.
   * @param what the caller's name for the session
   * @throws CallNotFound
   */
  async ready(caller: SessionCaller, what: SessionKind = "session"): Promise<SessionRow> {
    const row = this.#existing(caller);
    if (row === null) throw new CallNotFound({ what, id: caller.id });
    if (!this.#armed) {
      await this.#store.due.rearm();
      this.listing.again();
    }
    this.#armed = true;
    this.runs.ensure();
    const ready = this.#lifecycle.ready();
    if (ready !== undefined) await ready;
    return row;
  }

  /** Id of the session; `""`: there is none. */
  get id(): string {
    return this.#store.session()?.id ?? "";
  }

  /** @throws CallNotFound */
  view(): SessionView {
    return sessionView(this.log, this.#row());
  }

  exists(caller: SessionCaller): boolean {
    return this.#existing(caller) !== null;
  }

  /**
   * Throws if the session that this request made is removed. Begun again under the same id, a run would find the outcomes
   * that the runner still has of the removed one.
   * @param made as `nameAndContent` makes it
   * @throws CallNotFound IdempotencyKeyReused
   */
  checkRemoved(made: string): void {
    const row = this.#store.session();
    if (row?.state !== "deleted" || row.request_hash === null || isBeingMade(this.#store, row)) return;
    if (!isKeyed(row.request_hash) || nameIn(row.request_hash) !== nameIn(made)) return;
    if (row.request_hash !== made) throw new IdempotencyKeyReused({ key: nameIn(made) });
    throw new CallNotFound({ what: "session that this Idempotency-Key made", id: "" });
  }

  #existing({ tenant, id }: SessionCaller): SessionRow | null {
    const row = this.#store.session();
    return row?.tenant === tenant && row.id === id && row.state !== "deleted" ? row : null;
  }

  /**
   * Creates the session unless it exists. To wait until its row is on its way to the list, call `listing.noted`.
   * @param index `false`: the caller calls `listing.write`, or the row is written with that of the first run
   * @throws SessionExists
   * @throws CallNotFound if the request of `request_hash` made a session that is removed and does not come back
   */
  async open(
    { tenant, id }: SessionCaller,
    { imported, parent_id = null, fork, metadata, request_hash }: SessionOperations["open"]["in"],
    index = true,
  ): Promise<boolean> {
    const before = this.#store.session();
    if (before !== null && isBeingMade(this.#store, before, fork)) throw new SessionExists({ session: id });
    if (request_hash !== null) this.checkRemoved(request_hash);
    // Clearing a removed session may leave the mark of its request, which the second pass clears.
    for (let row = before; row?.state === "deleted"; row = this.#store.session()) await this.#clear(row);
    const known = this.#store.session();
    if (known !== null) {
      if (imported !== null && known.request_hash !== request_hash) throw new SessionExists({ session: id });
      return false;
    }
    const now = this.log.now();
    this.#store.prepare();
    this.together(() => {
      const times = { created_at: now, updated_at: now };
      const of = { parent_id, branched_at: null };
      this.#store.create({ id, tenant, ...times, state: "active", ...of, metadata, request_hash });
      if (imported !== null) this.log.add([{ type: "session_imported", ...imported, skills: [] }]);
      this.listing.changed();
    });
    if (index) this.listing.created();
    return true;
  }

  /** Takes one step of turning this session into a fork. Steps run one after the other. */
  adopt(step: ForkStep, part: LongText): Promise<Adopted> {
    const { log, files } = this;
    const clear = (row: SessionRow): Promise<void> => this.#clear(row);
    const created = (): void => this.listing.changed();
    const take = async (): Promise<Adopted> => {
      const adopted = await adopt({ log, files, clear, created }, step, part);
      if (adopted === "done") {
        this.background(this.listing.write());
        await this.listing.written();
      }
      return adopted;
    };
    const adopted = this.#adopting.then(take);
    this.#adopting = adopted.catch(() => {});
    return adopted;
  }

  /** Throws unless the session is active now. @throws SessionNotActive CallNotFound */
  checkActive(): void {
    const { id, state } = this.#row();
    if (state !== "active") throw new SessionNotActive({ session: id, state });
  }

  /** Throws if a run or another change occupies the conversation now. @throws RunInProgress CallNotFound */
  checkIdle(): void {
    const { id } = this.#row();
    const run = this.runs.busy();
    if (run !== null || this.#changing !== null) {
      throw new RunInProgress({ session: id, run: run?.id ?? null });
    }
  }

  /**
   * Runs the change of the conversation that a request asks for, once. Meanwhile no other change can begin, and no run but
   * the wake of an idle daemon. A repetition of the request waits for the change, and gets its answer or its failure.
   * @param change its signal aborts with CallNotFound when the session is removed, since a new session may then have the
   * same id. It returns what to do at its end, before anything else can begin.
   * @throws RunInProgress, IdempotencyKeyReused
   */
  async changing<T>(request: NamedRequest, change: (removed: AbortSignal) => Promise<() => T>): Promise<T> {
    const under = this.#changing;
    if (under?.by.name === request.name) {
      if (under.by.hash !== request.hash) throw new IdempotencyKeyReused({ key: request.name });
      await under.over;
    }
    const before = this.answerTo<T>(request);
    if (before !== null) return before.answer;
    this.checkIdle();
    const abort = new AbortController();
    const { promise: over, resolve, reject } = Promise.withResolvers<void>();
    over.catch(() => {});
    this.#changing = { by: request, abort, over };
    try {
      const finish = await change(abort.signal);
      abort.signal.throwIfAborted();
      this.#changing = null;
      this.checkIdle();
      const answer = this.once(request, finish);
      resolve();
      return answer;
    } catch (error) {
      reject(error);
      throw error;
    } finally {
      if (this.#changing?.abort === abort) this.#changing = null;
    }
  }

  /** Waits until no change of `changing` is under way. */
  async unchanging(): Promise<void> {
    while (this.#changing !== null) await this.#changing.over.catch(() => {});
  }

  /**
   * Does the work of a request once, and returns the stored answer when the same request is repeated. The answer must be
   * JSON-safe; work without an answer gives `null`.
   * @param request `null`: the caller never repeats it
   */
  once<T>(request: NamedRequest | null, work: () => T): T {
    if (request === null) return this.together(work);
    const known = this.answerTo<T>(request);
    if (known !== null) return known.answer;
    const { name, hash } = request;
    return this.together(() => {
      const answer = work();
      this.#store.keepRequest(name, { hash, answer: JSON.stringify(answer ?? null) }, this.log.now());
      return answer;
    });
  }

  /** Whether the session has already carried out a request of this name. Does not compare the content. */
  knows({ name }: NamedRequest): boolean {
    return this.#store.request(name, this.log.now()) !== null;
  }

  /** The stored answer to a request; `null`: the request is new. @throws IdempotencyKeyReused */
  answerTo<T>({ name, hash }: NamedRequest): { answer: T } | null {
    const known = this.#store.request(name, this.log.now());
    if (known === null) return null;
    if (known.hash !== hash) throw new IdempotencyKeyReused({ key: name });
    return { answer: JSON.parse(known.answer) };
  }

  /** What work in the session needs from its surroundings. @param by the request behind it; absent: none */
  context(
    by: { request_id?: string; mock_scope?: string } = {},
    pinned: Pick<RunContext, "pinned"> = {},
  ): RunContext {
    const { request_id: requestId = crypto.randomUUID(), mock_scope: mockScope = "" } = by;
    const { tenant } = this.#store.identity();
    const origin = { requestId, mockScope, tenant, startedAt: this.log.now(), ...pinned };
    return detachedContext(this.deployment, origin, this.background);
  }

  /** Does all writes of `work` in one transaction. */
  together<T>(work: () => T): T {
    return this.log.together(work);
  }

  /** Changes the session's state. If the session is no longer active, its run is cancelled. */
  setState(state: SessionState): void {
    const row = this.#row();
    if (row.state === state) return;
    const live = this.#store.runs.live();
    if (state === "archived" && live !== null) throw new RunInProgress({ session: row.id, run: live.id });
    if (state !== "active") this.runs.cancelAny();
    const now = this.log.now();
    this.together(() => {
      this.log.add([{ type: "session_state_changed", state }], {
        write: () => {
          this.#store.setState(state, now);
          this.listing.changed();
        },
      });
      if (state === "closed" || state === "abandoned") this.#lifecycle.closes();
    });
    this.background(this.listing.write());
  }

  /** Sets or removes the time (Unix ms) at which something is due. */
  dueAt(kind: DueKind, at: number | null): void {
    this.#store.due.set({ [kind]: at });
  }

  /** Called when the session above has all events of the runs. Removes the watch, unless a run is under way. */
  reported(): void {
    if (this.#store.runs.live()?.status !== "running") this.#store.due.set({ watch: null });
  }

  /** Streams the session's events without end, or a run's events up to its end. @throws CallNotFound */
  async events({
    caller,
    run_id,
    after,
    until = "end",
  }: SessionEventsCall): Promise<ReadableStream<Uint8Array>> {
    const { id } = await this.ready(caller);
    const { events } = this.log;
    const newest = this.#store.lastEvent();
    // A number above the newest one comes from an earlier session with this id.
    if (run_id === null) return events.follow(id, Math.min(after ?? newest, newest));
    const answerOf = (run: string): JsonObject | null => {
      const answer = this.#lifecycle.answer(run);
      return answer === null ? null : this.log.answered(answer);
    };
    // A workflow run has the session's id, so its stream has all events of the session. Later runs of a task append a
    // number to the id.
    if (run_id === id || run_id.startsWith(`${id}.r`)) {
      const from = Math.min(after ?? 0, newest);
      const isLast = ({ event, data }: RunEvent): boolean =>
        event === "done" && "run_id" in data && data.run_id === run_id;
      const last = from === newest ? this.#store.event(newest) : null;
      return last !== null && isLast(last)
        ? new Blob([]).stream()
        : events.follow(id, from, {
            last: isLast,
            data: async (event) => {
              const answer = until === "answer" ? answerOf(run_id) : null;
              if (answer !== null) return answeredBy(answer, event);
              const result = await this.#lifecycle.workflowResult(run_id);
              return { ...event.data, ...(result && this.log.answered(result)) };
            },
          });
    }
    const { first_event, done_event } = this.runs.row(run_id);
    const from = Math.max(Math.min(after ?? 0, newest), first_event - 1);
    if (done_event !== null && from >= done_event) return new Blob([]).stream();
    const { log, runs } = this;
    return events.follow(id, from, streamEnd({ log, runs, answerOf }, run_id, until));
  }

  /** @throws CallNotFound */
  async document(caller: SessionCaller, what: SessionDocument): Promise<ReadableStream<Uint8Array>> {
    return documentStream(this.log, await this.ready(caller), what);
  }

  /** Removes everything. What cannot be removed now is removed later. */
  async remove(row: SessionRow): Promise<void> {
    this.runs.cancelAny();
    this.#changing?.abort.abort(new CallNotFound({ what: "session", id: row.id }));
    this.#changing = null;
    const now = this.log.now();
    this.#store.transaction(() => {
      this.#store.setState("deleted", now);
      this.#store.due.set({ delete: now + RETRY_MS });
    });
    await this.#clear(row).catch(this.log.faults({ event: "session_not_cleared", id: row.id }));
  }

  /**
   * Removes the remains of a removed session, or of an abandoned fork. First waits for the fork's current step and
   * blocks further ones. If that step completed the fork, the session stays.
   */
  clearLater(): Promise<void> {
    const cleared = this.#adopting.then(async () => {
      const row = this.#store.session();
      if (row?.state === "deleted") await this.#clear(row);
    });
    this.#adopting = cleared.catch(() => {});
    return cleared;
  }

  /**
   * Removes what a removed session left. Everybody who needs that waits for the same work, since whoever is ready first may
   * create a new session here.
   */
  #clear(row: SessionRow): Promise<void> {
    this.#clearing ??= this.#clearNow(row).finally(() => {
      this.#clearing = null;
    });
    return this.#clearing;
  }

  async #clearNow(row: SessionRow): Promise<void> {
    const { tenant, id, request_hash } = row;
    const comesBack = request_hash === null || !isKeyed(request_hash) || this.#lifecycle.comesBack();
    await this.listing.withdraw();
    await this.#lifecycle.cleared({ tenant, id });
    await this.files.destroy(row);
    await removeBelow(this.env.FILES, sessionPrefix(tenant, id));
    const owner = { env: this.env, tenant };
    await forgetSession(owner, id);
    await askTenant(owner, async (ledger) => await ledger.forgetSession(tenant, id));
    const runs = this.#store.runs.list(MAX_RUNS, Number.MAX_SAFE_INTEGER).map((run) => run.id);
    await forgetRuns(owner, runs);
    await this.#store.clear();
    this.runs.abandon();
    this.listing.forget();
    this.#lifecycle.forgotten();
    this.log.forget();
    this.log.events.close();
    if (!comesBack) this.#store.mark(row, this.log.now());
  }

  #row(): SessionRow {
    const row = this.#store.session();
    if (row === null || row.state === "deleted")
      throw new CallNotFound({ what: "session", id: row?.id ?? "" });
    return row;
  }
}

/** Wraps operations on a session that must exist. */
export const onSession =
  (conversation: Conversation) =>
  <I, O>(work: (input: I, row: SessionRow, caller: SessionCaller) => O | Promise<O>) =>
  async (input: I, caller: SessionCaller): Promise<O> =>
    work(input, await conversation.ready(caller), caller);

/** Wraps operations on a session that must exist, each of which takes effect once for each request. */
export const onceOnSession =
  (conversation: Conversation) =>
  <I extends Named, O>(work: (input: I, row: SessionRow) => O) =>
  async (input: I, caller: SessionCaller): Promise<O> => {
    const row = await conversation.ready(caller);
    return conversation.once(input.request, () => work(input, row));
  };

/** The session of an operation, and who called it. */
export interface OperationContext {
  session: SessionRow;
  caller: SessionCaller;
}

/** Wraps operations on a session of a kind that must exist. @param rowOf reads what the session has for its kind */
export const onKind =
  <R>(conversation: Conversation, kind: SessionKind, rowOf: () => R) =>
  <I, O>(work: (input: I, row: R, at: OperationContext) => O | Promise<O>) =>
  async (input: I, caller: SessionCaller): Promise<O> => {
    const session = await conversation.ready(caller, kind);
    return work(input, rowOf(), { session, caller });
  };
