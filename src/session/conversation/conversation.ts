/**
 * One session: what is kept of it, the runs in it, what is due. The Durable
 * Object around it passes questions (`operations.ts`) and alarms in.
 */

import type { Deployment } from "../../deployment.ts";
import type { SessionState, Wake } from "../../engine/agent/records.ts";
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Bindings } from "../../env.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { IdempotencyKeyReused } from "../../errors/request.ts";
import { RunInProgress, SessionExists, SessionNotActive } from "../../errors/session.ts";
import type { AgentParts } from "../../run/agent/parts.ts";
import type { RunEvent } from "../../run/events.ts";
import { WATCH_MS } from "../lives.ts";
import type { NamedRequest } from "../named-request.ts";
import { forgetRuns, noteRuns } from "../run-index.ts";
import { forgetSession, noteSession } from "../session-index.ts";
import { within } from "../within.ts";
import type { WatchedChange } from "../workspace/workspace.ts";
import { documentStream } from "./documents.ts";
import { clearFiles } from "./files.ts";
import { adopt } from "./fork.ts";
import type {
  Adopted,
  ForkStep,
  LongText,
  SessionCaller,
  SessionDocument,
  SessionEventsCall,
  SessionOperations,
  SessionView,
} from "./rpc.ts";
import { Runs, type WaitStep } from "./runs.ts";
import { FILES_DUE, SessionFiles } from "./session-files.ts";
import { SessionLog } from "./session-log.ts";
import { ConversationStore, type SessionIdentity, type SessionRow } from "./store.ts";
import { indexEntry, sessionView } from "./views.ts";

/** What could not be done is tried again after this many ms. */
const RETRY_MS = 60_000;
/** Runs of a session whose rows in the index go with it; those of earlier ones go by their age. */
const MAX_RUNS = 10_000;
/** How long an answer waits for the index, in ms. */
const INDEX_MS = 1000;
/** A run that is over sooner costs the index of runs one row. */
const BEGUN_MS = 250;

/** A row of a list in D1, and what to do once it is stored. */
export interface IndexEntry {
  statement: D1PreparedStatement;
  written(): void;
}

/** What builds on sessions, e.g. daemons. */
export interface ConversationHooks {
  /** What has to be in memory before anything is asked of the session; `undefined`: it is there. */
  ready?(): Promise<void> | undefined;
  /** A run begins. What is written here is stored with that. */
  started?(spec: AgentSpec): void;
  /** The run under way goes on after a rest. What is written here is stored with that. */
  goesOn?(): void;
  /** The run under way waits for something that can only come from outside. What is written here is stored with that. */
  rested?(step: WaitStep): void;
  /** A run that was idle is woken. What is written here is stored with that. */
  woke?(wake: Wake): void;
  /** A run has ended, however it did. */
  ended?(run: string): void;
  /** Everything of the session is being removed; asked again until it is. */
  cleared?(session: SessionIdentity): Promise<void>;
  /** Files have changed; told in the transaction that changes them. @param own by the session's run */
  filesChanged?(changes: readonly WatchedChange[], own: boolean): void;
  /** A due time of a kind that is not the session's own has come. It is due again in a minute unless it is set otherwise. */
  due?(kind: string, now: number): void;
}

interface ConversationOptions {
  storage: DurableObjectStorage;
  deployment: Deployment;
  background: (work: Promise<unknown>) => void;
  parts: AgentParts;
  /** Unix ms. */
  now?: () => number;
}

export class Conversation {
  readonly deployment: Deployment;
  readonly env: Bindings;
  readonly background: (work: Promise<unknown>) => void;
  readonly parts: AgentParts;
  readonly log: SessionLog;
  readonly files: SessionFiles;
  readonly runs: Runs;
  readonly #store: ConversationStore;
  readonly #hooks: ConversationHooks[] = [];
  /** Something changes the conversation that takes its time. */
  #changing = false;
  #armed = false;
  /** Remembered, so that it is known also when nothing can be read. */
  #identity: SessionIdentity | null = null;
  #indexing: Promise<void> = Promise.resolve();
  #adopting: Promise<unknown> = Promise.resolve();
  /** Runs that began, and that the index does not know. */
  readonly #unnoted = new Set<string>();
  #noting: ReturnType<typeof setTimeout> | undefined;
  /** The index could not be told of the last run, and is to be told again. */
  #runDue = false;

  constructor({ storage, deployment, background, parts, now = Date.now }: ConversationOptions) {
    const { env, settings } = deployment;
    this.deployment = deployment;
    this.env = env;
    this.background = background;
    this.parts = parts;
    const { redactor: answers, eventRedactor: events, logsAll } = settings;
    this.#store = new ConversationStore(storage);
    this.log = new SessionLog(this.#store, now, { answers, events });
    this.files = new SessionFiles({
      storage,
      env,
      now,
      store: this.#store,
      changed: (changes, own) => this.#tell("filesChanged", (hooks) => hooks.filesChanged?.(changes, own)),
    });
    this.runs = new Runs({
      log: this.log,
      deployment,
      parts,
      background,
      logsAll,
      workspace: this.files.byRun(),
      session: () => this.#identity ?? this.#row(),
      goesOn: () => this.#tell("goesOn", (hooks) => hooks.goesOn?.()),
      started: (spec) => {
        this.#noteLater(spec.run_id);
        this.#tell("started", (hooks) => hooks.started?.(spec));
      },
      rested: (step) => {
        this.#noteLive();
        this.#tell("rested", (hooks) => hooks.rested?.(step));
      },
      woke: (wake) => {
        this.#noteLive();
        this.#tell("woke", (hooks) => hooks.woke?.(wake));
      },
      ended: (run) => {
        this.#noteRuns([run]);
        this.#tell("ended", (hooks) => hooks.ended?.(run));
      },
    });
  }

  /** For what builds on the session. */
  extend(hooks: ConversationHooks): void {
    this.#hooks.push(hooks);
  }

  /** The session of a caller, its run looked after. @throws CallNotFound */
  async ready({ tenant, id }: SessionCaller): Promise<SessionRow> {
    const row = this.#store.session();
    if (row === null || row.tenant !== tenant || row.id !== id || row.state === "deleted") {
      throw new CallNotFound({ what: "session", id });
    }
    this.#identity = row;
    if (!this.#armed) await this.#store.rearm();
    this.#armed = true;
    this.runs.ensure();
    for (const hooks of this.#hooks) {
      const ready = hooks.ready?.();
      if (ready !== undefined) await ready;
    }
    return row;
  }

  /** @throws CallNotFound */
  view(): SessionView {
    return sessionView(this.log, this.#row());
  }

  exists({ tenant, id }: SessionCaller): boolean {
    const row = this.#store.session();
    return row !== null && row.tenant === tenant && row.id === id && row.state !== "deleted";
  }

  /**
   * Makes the session unless it is there; `indexed` waits for its row in the list.
   * @param index `false`: the caller calls `index`
   * @throws IdempotencyKeyReused
   */
  async open(
    { tenant, id }: SessionCaller,
    { imported, parent_id = null, ...wanted }: SessionOperations["open"]["in"],
    index = true,
  ): Promise<boolean> {
    const before = this.#store.session();
    if (before?.state === "deleted") await this.#clear(before);
    const known = this.#store.session();
    if (known !== null) {
      const { request_hash } = wanted;
      if (imported !== null && known.request_hash !== request_hash) throw new SessionExists({ session: id });
      if (request_hash !== null && known.request_hash !== request_hash) {
        throw new IdempotencyKeyReused({ key: id });
      }
      return false;
    }
    const now = this.log.now();
    this.#store.prepare();
    this.#store.transaction(() => {
      const times = { created_at: now, updated_at: now };
      const of = { parent_id, branched_at: null };
      this.#store.create({ id, tenant, ...times, state: "active", ...of, ...wanted });
      if (imported !== null) this.log.add([{ type: "session_imported", ...imported, skills: [] }]);
      this.#store.setDue({ index: now + RETRY_MS });
    });
    if (index) this.background(this.index());
    return true;
  }

  /** So that who made a session finds it in the list; an index that takes its time keeps nobody waiting. */
  async indexed(): Promise<void> {
    await within(this.#indexing, INDEX_MS);
  }

  /** Becomes a fork, step by step, one after the other. */
  adopt(step: ForkStep, part: LongText): Promise<Adopted> {
    const { log, files } = this;
    const clear = (row: SessionRow): Promise<void> => this.#clear(row);
    const created = (): void => this.#store.setDue({ index: log.now() + RETRY_MS });
    const take = async (): Promise<Adopted> => {
      const adopted = await adopt({ log, files, clear, created }, step, part);
      if (adopted === "done") {
        this.background(this.index());
        await this.indexed();
      }
      return adopted;
    };
    const adopted = this.#adopting.then(take);
    this.#adopting = adopted.catch(() => {});
    return adopted;
  }

  /** @throws SessionNotActive */
  active(row: SessionRow): void {
    if (row.state !== "active") throw new SessionNotActive({ session: row.id, state: row.state });
  }

  /** Nobody else is about to change the conversation. @throws RunInProgress */
  quiet(row: SessionRow): void {
    const run = this.runs.busy();
    if (run !== null || this.#changing) {
      throw new RunInProgress({ session: row.id, run: run?.id ?? null });
    }
  }

  /** Keeps runs and everybody else away while the conversation is changed. */
  async changing<T>(change: () => Promise<T>): Promise<T> {
    this.#changing = true;
    try {
      return await change();
    } finally {
      this.#changing = false;
    }
  }

  /** Does what a request asks once, and answers the same request again as it was answered. JSON-safe. */
  once<T>({ name, hash }: NamedRequest, work: () => T): T {
    const known = this.#store.request(name, this.log.now());
    if (known !== null) {
      if (known.hash !== hash) throw new IdempotencyKeyReused({ key: name });
      return JSON.parse(known.answer);
    }
    return this.together(() => {
      const answer = work();
      this.#store.keepRequest(name, { hash, answer: JSON.stringify(answer) }, this.log.now());
      return answer;
    });
  }

  /** Carries out changes as one. */
  together<T>(work: () => T): T {
    try {
      return this.#store.transaction(work);
    } catch (error) {
      this.log.forget();
      throw error;
    }
  }

  /** Puts the session into a state. One that is not to go on loses its run. */
  setState(row: SessionRow, state: SessionState): void {
    if (row.state === state) return;
    const live = this.#store.liveRun();
    if (state === "archived" && live !== null) throw new RunInProgress({ session: row.id, run: live.id });
    if (state !== "active") this.runs.cancelAny();
    const now = this.log.now();
    this.log.add([{ type: "session_state_changed", state }], {
      write: () => {
        this.#store.setState(state, now);
        this.#store.setDue({ index: now + RETRY_MS });
      },
    });
    this.background(this.index());
  }

  /** Wakes a run that is idle; answers whether it was. For what builds on sessions, e.g. daemons. */
  wake(wake: Wake): boolean {
    return this.runs.wake(wake);
  }

  /** Sets the time (Unix ms) at which `hooks.due` is to be told of this kind, or removes it. */
  dueAt(kind: string, at: number | null): void {
    this.#store.setDue({ [kind]: at });
  }

  /** The events of the session for ever, or those of a run up to its end. @throws CallNotFound */
  async events({ caller, run_id, after }: SessionEventsCall): Promise<ReadableStream<Uint8Array>> {
    const { id } = await this.ready(caller);
    const { events } = this.log;
    const newest = this.#store.lastEvent();
    // A number that was never given is that of a session which had this id before.
    if (run_id === null) return events.follow(id, Math.min(after ?? newest, newest));
    // A workflow run has the whole session, and its id; those after it in a task's session have that id and their number.
    if (run_id === id || run_id.startsWith(`${id}.r`)) {
      const from = Math.min(after ?? 0, newest);
      const isLast = ({ event, data }: RunEvent): boolean =>
        event === "done" && "run_id" in data && data.run_id === run_id;
      const last = from === newest ? this.#store.event(newest) : null;
      return last !== null && isLast(last) ? new Blob([]).stream() : events.follow(id, from, isLast);
    }
    const { first_event, done_event } = this.runs.row(run_id);
    const from = Math.max(Math.min(after ?? 0, newest), first_event - 1);
    if (done_event !== null && from >= done_event) return new Blob([]).stream();
    return events.follow(id, from, ({ event }) => event === "done");
  }

  /** @throws CallNotFound */
  async document(caller: SessionCaller, what: SessionDocument): Promise<ReadableStream<Uint8Array>> {
    return documentStream(this.log, await this.ready(caller), what);
  }

  /** Removes everything. What cannot be removed now is, later. */
  async remove(row: SessionRow): Promise<void> {
    this.runs.cancelAny();
    const now = this.log.now();
    this.#store.transaction(() => {
      this.#store.setState("deleted", now);
      this.#store.setDue({ delete: now + RETRY_MS });
    });
    await this.#clear(row).catch((error: unknown) => {
      console.error(JSON.stringify({ event: "session_not_cleared", id: row.id, error: String(error) }));
    });
  }

  /** The alarm: sees to what is due, and does none of the work itself. */
  async alarm(): Promise<void> {
    this.#store.fired();
    const row = this.#store.session();
    if (row === null) return;
    this.#identity = row;
    const now = this.log.now();
    for (const { kind, at } of this.#store.due()) {
      if (at > now) continue;
      // Its own successor first: whatever happens next, this comes again.
      this.#store.setDue({ [kind]: now + (kind === "watch" ? WATCH_MS : RETRY_MS) });
      try {
        this.#due(kind, row, now);
      } catch (error) {
        console.error(JSON.stringify({ event: "due_failed", kind, id: row.id, error: String(error) }));
      }
    }
    this.#store.arm();
  }

  #due(kind: string, row: SessionRow, now: number): void {
    switch (kind) {
      case "watch":
        this.runs.ensure();
        if (this.#store.liveRun()?.status !== "running") this.#store.setDue({ watch: null });
        break;
      case "approval":
        this.runs.kick();
        break;
      case "index":
        this.background(this.index());
        break;
      case "delete":
        this.background(this.#clearLater(row));
        break;
      case "run_index":
        this.#runDue = true;
        this.#noteRuns(this.#store.runs(1, Number.MAX_SAFE_INTEGER).map(({ id }) => id));
        break;
      case FILES_DUE:
        this.background(this.files.collect());
        break;
      default:
        for (const hooks of this.#hooks) hooks.due?.(kind, now);
    }
  }

  /** What builds on sessions cannot break them. */
  #tell(hook: string, call: (hooks: ConversationHooks) => void): void {
    for (const hooks of this.#hooks) {
      try {
        call(hooks);
      } catch (error) {
        console.error(JSON.stringify({ event: "hook_failed", hook, error: String(error) }));
      }
    }
  }

  #noteLive(): void {
    const live = this.#store.liveRun();
    if (live !== null) this.#noteRuns([live.id]);
  }

  /** Puts a run into the index of the tenant's runs in a moment; one that ends before then is written once, at its end. */
  #noteLater(id: string): void {
    this.#unnoted.add(id);
    clearTimeout(this.#noting);
    this.#noting = setTimeout(() => this.noteBegun(), BEGUN_MS);
  }

  /** Writes the runs that began and are not in the index yet. */
  noteBegun(): void {
    if (this.#unnoted.size > 0) this.#noteRuns([]);
  }

  /** Writes the rows of runs as they are once the present change is stored, one batch after the other. */
  #noteRuns(changed: readonly string[]): void {
    clearTimeout(this.#noting);
    const ids = [...new Set([...this.#unnoted, ...changed])];
    this.#unnoted.clear();
    const write = async (): Promise<void> => {
      const session = this.#store.session();
      if (session === null || session.state === "deleted") return;
      const { run } = this.log.state();
      const rows = ids.flatMap((id) => {
        const row = this.#store.run(id);
        if (row === null) return [];
        const known = run?.spec.run_id === id ? run : null;
        return [{ tenant: session.tenant, run: indexEntry(session.id, row, known) }];
      });
      await noteRuns(this.env, rows);
      if (!this.#runDue) return;
      this.#runDue = false;
      this.#store.setDue({ run_index: null });
    };
    this.#indexing = this.#indexing.then(write).catch((error: unknown) => {
      console.error(JSON.stringify({ event: "run_not_indexed", ids, error: String(error) }));
      this.#runDue = true;
      try {
        if (this.#store.session() !== null) this.#store.setDue({ run_index: this.log.now() + RETRY_MS });
      } catch {
        // Nothing can be stored now. The run's next record tells the index again.
      }
    });
    this.background(this.#indexing);
  }

  /**
   * The index shows the session as it is now, one write after the other.
   * @param also goes with it, in one transaction
   */
  index(also: () => Promise<IndexEntry | null> = async () => null): Promise<void> {
    const write = async (): Promise<void> => {
      const row = this.#store.session();
      if (row === null || row.state === "deleted") return;
      const { tenant, id, state, parent_id, metadata } = row;
      const created_at = new Date(row.created_at).toISOString();
      const more = await also();
      const statements = more === null ? [] : [more.statement];
      await noteSession(this.env, tenant, { id, state, created_at, parent_id, metadata }, statements);
      more?.written();
      // Nothing is due any more, unless the session was changed or removed meanwhile.
      if (this.#store.session()?.state === row.state) this.#store.setDue({ index: null });
    };
    this.#indexing = this.#indexing.then(write).catch((error: unknown) => {
      console.error(JSON.stringify({ event: "session_not_indexed", error: String(error) }));
    });
    return this.#indexing;
  }

  /** After the step of a fork that is under way: none comes in between, and one that made it whole keeps it. */
  #clearLater(row: SessionRow): Promise<void> {
    const cleared = this.#adopting.then(async () => {
      if (this.#store.session()?.state === "deleted") await this.#clear(row);
    });
    this.#adopting = cleared.catch(() => {});
    return cleared;
  }

  async #clear(row: SessionRow): Promise<void> {
    const { tenant, id } = row;
    await this.#indexing;
    for (const hooks of this.#hooks) await hooks.cleared?.({ tenant, id });
    await this.files.destroy(row);
    await clearFiles(this.env, tenant, id);
    await forgetSession(this.env, tenant, id);
    await forgetRuns(
      this.env,
      tenant,
      this.#store.runs(MAX_RUNS, Number.MAX_SAFE_INTEGER).map((run) => run.id),
    );
    // Another one may have cleared it meanwhile, and a new session may be here.
    if (this.#store.session()?.state !== "deleted") return;
    await this.#store.clear();
    this.runs.abandon();
    this.#identity = null;
    this.log.forget();
    this.log.events.close();
  }

  #row(): SessionRow {
    const row = this.#store.session();
    if (row === null) throw new CallNotFound({ what: "session", id: "" });
    return row;
  }
}
