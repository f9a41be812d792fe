/**
 * One idempotent or asynchronous call (serving.md §5.2, §5.4; design.md §2.2–2.4): runs the skill, whoever listens,
 * stores what happens before it is told, and goes on after the death of the process that ran it. The Durable Object
 * around it passes calls and alarms in.
 */
import { type Bindings, settings } from "../../env.ts";
import { ExecutionCancelled } from "../../errors/request.ts";
import { ExecutionLost } from "../../errors/run.ts";
import { type HullError, Internal, toHullError } from "../../errors.ts";
import { currentCatalog, readSkill } from "../../registry/published.ts";
import { detachedContext, type RunContext } from "../../run/context.ts";
import type { RunEvent } from "../../run/events.ts";
import type { OperationHandle, RunOutput } from "../../run/handle.ts";
import { runMode } from "../../run/mode.ts";
import { isOperation, runOperation } from "../../run/operation.ts";
import { logError, problemOf } from "../../run/problem.ts";
import { runnerEndpoint } from "../../run/runner.ts";
import { cancelRequest } from "../../tool/runner-client.ts";
import { EventLog } from "../event-log.ts";
import { clearBucket, dropInput, inputOf, keepBody, openBody } from "./contents.ts";
import { ReplayedOutput } from "./replayed-output.ts";
import type {
  Begun,
  ExecutionAnswer,
  ExecutionCall,
  ExecutionEvents,
  ExecutionStatus,
  KnownCall,
} from "./rpc.ts";
import { type ExecutionRow, ExecutionStore, type Outcome } from "./store.ts";

/** How long a result can be asked for after the end, in ms. */
const KEPT_MS = 24 * 3_600_000;
/** A run whose process died is taken up again after this long at the latest; also keeps a silent one in memory. */
const WATCH_MS = 15_000;
/** Lives in a row that get nothing done before a run is given up. */
const MAX_RECOVERIES = 3;
/** Longer than the runner remembers an execution: until then a new run of the id needs a name of its own there. */
const REMOVED_MS = 15 * 60_000;

interface ExecutionOptions {
  storage: DurableObjectStorage;
  env: Bindings;
  background: (work: Promise<unknown>) => void;
  /** Replaced in tests by one that dies. */
  store?: ExecutionStore;
}

/** The part of a run that lives in memory. */
interface Life {
  abort: AbortController;
  /** Something may take effect from now on, or it has ended. */
  opened: PromiseWithResolvers<void>;
  ended: Promise<void>;
}

export class Execution {
  readonly #env: Bindings;
  readonly #background: (work: Promise<unknown>) => void;
  readonly #store: ExecutionStore;
  readonly #events: EventLog;
  #life: Life | null = null;

  constructor({ storage, env, background, store }: ExecutionOptions) {
    this.#env = env;
    this.#background = background;
    this.#store = store ?? new ExecutionStore(storage);
    this.#events = new EventLog(this.#store);
  }

  /** Begins the run, unless the same one was begun before. What failed before it took effect is begun anew. */
  begin(call: ExecutionCall): Begun {
    const known = this.attach(call);
    const row = this.#store.row();
    if (known !== null && row !== null) {
      this.#background(dropInput(this.#env, call, row.input));
      return known;
    }
    const now = Date.now();
    this.#store.create(call, now, now + WATCH_MS);
    const created = this.#store.row();
    if (created !== null) this.#live(created);
    return "started";
  }

  /** Comes back to a run that was begun; `null` where there is none, or it failed before it took effect. */
  attach({ caller, request_hash }: KnownCall): Begun | null {
    const row = this.#row(caller);
    if (row === null || !(row.begun || row.state === "running" || row.state === "cancelled")) return null;
    if (row.request_hash !== request_hash) return "other_request";
    this.#resume(row);
    return row.state === "running" ? "attached" : "finished";
  }

  /** Waits for the end and answers it. */
  async answer(caller: string): Promise<ExecutionAnswer | null> {
    const row = this.#row(caller);
    if (row === null) return null;
    this.#resume(row);
    await this.#life?.ended;
    const outcome = this.#row(caller)?.outcome ?? null;
    if (outcome === null) throw new Internal({ cause: "the execution broke off" });
    if (!outcome.ok) {
      return { ok: false, error: JSON.stringify(outcome.error), operator: JSON.stringify(outcome.operator) };
    }
    const { headers, timings } = outcome;
    return { ok: true, headers, timings, body: await openBody(this.#env, this.#store, outcome.body) };
  }

  /** The events after number `after`. With `early`, a failure before the first one is told instead. */
  async events(caller: string, after: number, early: boolean): Promise<ExecutionEvents | null> {
    const row = this.#row(caller);
    if (row === null) return null;
    this.#resume(row);
    if (!row.begun) await this.#life?.opened.promise;
    const { begun, outcome } = this.#row(caller) ?? row;
    if (early && !begun && outcome !== null && !outcome.ok) {
      return { ok: false, error: JSON.stringify(outcome.error) };
    }
    return { ok: true, body: this.#events.follow(row.id, after) };
  }

  status(caller: string): ExecutionStatus | null {
    const row = this.#row(caller);
    if (row === null || row.state === "removed") return null;
    this.#resume(row);
    const { id, skill, digest, state, created_at, finished_at, outcome } = this.#row(caller) ?? row;
    if (state === "removed") return null;
    const result = outcome?.ok ? { headers: outcome.headers, size: outcome.size } : null;
    const error = outcome?.ok === false ? JSON.stringify(outcome.error) : null;
    return { id, skill, digest, status: state, created_at, finished_at, result, error };
  }

  /** Stops a run that is under way, and its processes; removes one that has ended. */
  async cancel(caller: string): Promise<"cancelled" | "removed" | null> {
    const row = this.#row(caller);
    if (row === null) return null;
    if (row.state !== "running") {
      this.#store.remove(Date.now() + REMOVED_MS);
      await clearBucket(this.#env, row.id);
      return "removed";
    }
    this.#fail(row, this.#context(row), new ExecutionCancelled({ id: row.id }), "cancelled");
    this.#life?.abort.abort();
    await this.#stopProcesses(row);
    return "cancelled";
  }

  /** The alarm: sees to it that a run lives, and that nothing stays for ever. Does no work itself. */
  async wake(): Promise<void> {
    const row = this.#store.row();
    if (row === null) return;
    if (row.state === "running") {
      await this.#store.arm(Date.now() + WATCH_MS);
      this.#resume(row);
    } else if (row.expires_at === null || row.expires_at <= Date.now()) {
      await clearBucket(this.#env, row.id);
      await this.#store.clear();
    } else {
      await this.#store.arm(row.expires_at);
    }
  }

  /** What is stored, where the caller may know of it. */
  #row(caller: string): ExecutionRow | null {
    const row = this.#store.row();
    const expired = row?.expires_at !== null && row !== null && row.expires_at <= Date.now();
    return row === null || row.caller !== caller || row.state === "removed" || expired ? null : row;
  }

  #context(row: ExecutionRow): RunContext {
    const [tenant = ""] = row.caller.split("/");
    const { mock_scope: mockScope = "", bot } = row.input;
    const named = bot === undefined ? {} : { bot };
    const origin = { requestId: row.request_id, tenant, mockScope, ...named, startedAt: row.created_at };
    return detachedContext(this.#env, origin, this.#background);
  }

  /** Takes a run up that an earlier life left behind. */
  #resume(row: ExecutionRow): void {
    if (row.state !== "running" || this.#life !== null) return;
    const progress = this.#store.progress();
    const recoveries = progress > row.progress ? 1 : row.recoveries + 1;
    if (recoveries > MAX_RECOVERIES) {
      this.#fail(row, this.#context(row), new ExecutionLost({ id: row.id }), "error");
      this.#background(this.#stopProcesses(row));
      return;
    }
    this.#store.noteRecovery(recoveries, progress);
    this.#live(row);
  }

  #live(row: ExecutionRow): void {
    const abort = new AbortController();
    const opened = Promise.withResolvers<void>();
    const ended = this.#run(row, abort.signal, opened.resolve)
      // Nothing can be stored now, e.g. while a new version is deployed: the next life goes on from what is.
      .catch((error: unknown) => {
        console.error(JSON.stringify({ event: "execution_broke_off", id: row.id, error: String(error) }));
      })
      .finally(() => {
        opened.resolve();
        if (this.#life?.abort === abort) this.#life = null;
      });
    this.#life = { abort, opened, ended };
    this.#background(ended);
  }

  async #run(row: ExecutionRow, signal: AbortSignal, opened: () => void): Promise<void> {
    const context = this.#context(row);
    let fault: HullError;
    try {
      const output = await this.#carryOut(row, context, signal, opened);
      const { body, size } = await keepBody(this.#env, this.#store, row.id, output.body);
      const { headers } = output;
      const outcome: Outcome = { ok: true, headers, body, size, timings: context.timings };
      return this.#settle(row, context, "done", outcome, [doneEvent(context, true, output)]);
    } catch (error) {
      fault = toHullError(error);
    }
    this.#fail(row, context, fault, "error");
  }

  async #carryOut(
    row: ExecutionRow,
    context: RunContext,
    signal: AbortSignal,
    opened: () => void,
  ): Promise<RunOutput> {
    if (isOperation(row.skill)) {
      // Its steps are not stored: what its tools did is not known to a later life.
      if (row.begun && row.skill === "runs") throw new ExecutionLost({ id: row.id });
      return runOperation(await this.#handle(row, context, signal, opened, row.skill, null));
    }
    // What the catalog's proxy skills send must not be told by this run's events either.
    await currentCatalog(this.#env, this.#background).catch(() => null);
    const record = await readSkill(this.#env, row.digest);
    const { slug, mode } = record.manifest;
    const handle = await this.#handle(row, context, signal, opened, slug, mode);
    return runMode({
      ...handle,
      record,
      durable: {
        records: this.#store.records(),
        append: (entry, event) => {
          this.#events.flush();
          this.#store.appendRecord(entry, event === null ? null : redacted(context, event));
          if (event !== null) this.#events.announce();
        },
        known: (id) => this.#store.handedIn.known(id),
        note: (id, fact) => this.#store.handedIn.note(id, fact),
      },
    });
  }

  /** @param mode `null`: what runs is no skill */
  async #handle(
    row: ExecutionRow,
    context: RunContext,
    signal: AbortSignal,
    opened: () => void,
    name: string,
    mode: string | null,
  ): Promise<OperationHandle> {
    const told = row.begun && mode === "script" ? this.#store.eventsNamed("delta", "stderr") : [];
    const replayed = new ReplayedOutput(told);
    let { begun } = row;
    return {
      id: runIdOf(row),
      context,
      input: await inputOf(this.#env, this.#store, row.input),
      signal,
      streaming: true,
      keep: true,
      started: (about = {}) => {
        if (!begun) {
          const what = mode === null ? { operation: name } : { skill: name, mode };
          const data = { execution_id: row.id, request_id: row.request_id, ...what, ...about };
          this.#store.begin({ event: "start", data });
          this.#events.announce();
        }
        begun = true;
        opened();
      },
      emit: async (event) => {
        const rest = replayed.rest(event);
        if (rest !== null && !signal.aborted) this.#events.emit(redacted(context, rest));
      },
    };
  }

  #fail(row: ExecutionRow, context: RunContext, error: HullError, state: "error" | "cancelled"): void {
    logError(error, context);
    const problem: Record<string, unknown> = JSON.parse(JSON.stringify(problemOf(error, context)));
    const data = JSON.parse(JSON.stringify(context.redacted(error.data)));
    const operator = JSON.parse(JSON.stringify(context.redacted(error.operator)));
    const outcome: Outcome = { ok: false, error: data, operator };
    const events: RunEvent[] = [{ event: "error", data: problem }, doneEvent(context, false, null)];
    this.#settle(row, context, state, outcome, events);
  }

  /** Ends the run once; a life that learns late that it was cancelled changes nothing. */
  #settle(
    row: ExecutionRow,
    context: RunContext,
    state: "done" | "error" | "cancelled",
    outcome: Outcome,
    events: RunEvent[],
  ): void {
    const current = this.#store.row();
    if (current?.state !== "running" || current.generation !== row.generation) return;
    this.#events.flush();
    const finishedAt = Date.now();
    this.#store.settle(state, outcome, events, { finishedAt, expiresAt: finishedAt + KEPT_MS });
    this.#events.announce();
    logEnd(current, context, state, outcome);
  }

  async #stopProcesses(row: ExecutionRow): Promise<void> {
    const context = this.#context(row);
    for (const id of this.#store.handedIn.ids()) {
      const runner = await runnerEndpoint(context, id).catch(() => null);
      if (runner !== null) await cancelRequest(runner, runIdOf(row), Date.now());
    }
  }
}

/** The run's name at the runner, which remembers earlier runs of the same id for some minutes. */
function runIdOf({ id, generation }: ExecutionRow): string {
  return generation === 0 ? id : `${id}-${generation}`;
}

function redacted(context: RunContext, { event, data }: RunEvent): RunEvent {
  return { event, data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, context.redacted(v)])) };
}

function doneEvent(context: RunContext, ok: boolean, output: RunOutput | null): RunEvent {
  const { durationMs, timings } = context;
  return { event: "done", data: { ok, ...output?.done, duration_ms: durationMs, ...timings } };
}

/** One line per execution, beside that of each request that asked for it. */
function logEnd(row: ExecutionRow, context: RunContext, state: string, outcome: Outcome): void {
  const { id, request_id, skill, digest, recoveries } = row;
  const line = {
    event: "execution",
    execution_id: id,
    request_id,
    skill,
    digest: digest.slice(0, 12),
    state,
    status: outcome.ok ? 200 : outcome.error.status,
    duration_ms: context.durationMs,
    ...(recoveries === 0 ? {} : { recoveries }),
    ...context.timings,
    ...context.log,
    ...(context.spans === undefined ? {} : { spans: context.spans }),
  };
  console.log(JSON.stringify(settings(context.env).toldRedactor.json(line)));
}
