/**
 * Carries a run from step to step (design.md §2.1): asks `nextStep`, records, acts, records. The log it appends to
 * makes the driver: an array for a stateless request, SQLite in a Durable Object. Clock, ids and effects are passed in.
 */

import { ClientClosedRequest } from "../errors/run.ts";
import { type HullError, toHullError } from "../errors.ts";
import type { ModelRequest, ModelTurn, Part, ToolCallBlock } from "./messages.ts";
import { deadlineError, nextStep, type Step, settleError } from "./next.ts";
import type { RunOutcome, RunRecord, RunSpec } from "./records.ts";
import { applyRecord, type PendingCall, type RunState, startState } from "./state.ts";
import type { ToolOutcome } from "./tool-result.ts";

/** Most tool calls of one turn that run at once (serving.md §4.3). */
const MAX_CONCURRENT_TOOLS = 6;

export interface EffectContext {
  effect: string;
  round: number;
  /** Aborted on the deadline and when the caller goes away. */
  signal: AbortSignal;
  /** An earlier life of the run began this effect and did not see it end. */
  again: boolean;
}

/** How effects are carried out. Both throw a `HullError` for faults that end the run. */
export interface Effects {
  callModel(request: ModelRequest, context: EffectContext): Promise<ModelTurn>;
  /** Faults of the tool itself are outcomes; only faults of the runner are thrown. */
  runTool(call: ToolCallBlock, context: EffectContext): Promise<ToolOutcome>;
}

export interface Clock {
  /** Unix ms. */
  now(): number;
  /** Calls `fire` once after `ms`; the answer cancels it. */
  after(ms: number, fire: () => void): () => void;
}

/** Where records go. The in-memory driver's `append` pushes; a durable one returns when the record is stored. */
interface RecordLog {
  append(record: RunRecord): void | Promise<void>;
}

export interface DriveOptions {
  effects: Effects;
  log: RecordLog;
  clock: Clock;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
}

/** Starts a run and drives it to its end. */
export async function startRun(spec: RunSpec, input: Part[], options: DriveOptions): Promise<RunOutcome> {
  const record = { v: 1 as const, at: options.clock.now(), type: "run_started" as const, spec, input };
  await options.log.append(record);
  return drive(startState(record), options);
}

/**
 * Goes on with a run from what is recorded of it. A model call that was open is made again; for an open tool call
 * `runTool` is told so, which must not run it blindly a second time.
 * @returns `null` where the records hold no run
 */
export async function resumeRun(
  records: readonly RunRecord[],
  options: DriveOptions,
): Promise<RunOutcome | null> {
  const [first, ...rest] = records;
  return first?.type === "run_started" ? drive(rest.reduce(applyRecord, startState(first)), options) : null;
}

/** Drives a run from any state to its end. Settles exactly once. */
export async function drive(initial: RunState, options: DriveOptions): Promise<RunOutcome> {
  const run = new Drive(initial, options);
  try {
    return await run.toEnd();
  } finally {
    run.release();
  }
}

class Drive {
  #state: RunState;
  readonly #options: DriveOptions;
  readonly #abort = new AbortController();
  readonly #cancelTimer: () => void;
  readonly #onClose = (): void => this.#abort.abort(new ClientClosedRequest({}));

  constructor(state: RunState, options: DriveOptions) {
    this.#state = state;
    this.#options = options;
    const left = Math.max(0, state.spec.deadline_at - options.clock.now());
    this.#cancelTimer = options.clock.after(left, () => this.#abort.abort(deadlineError(this.#state)));
    if (options.signal.aborted) this.#onClose();
    else options.signal.addEventListener("abort", this.#onClose, { once: true });
  }

  release(): void {
    this.#cancelTimer();
    this.#options.signal.removeEventListener("abort", this.#onClose);
  }

  async toEnd(): Promise<RunOutcome> {
    for (;;) {
      const step = nextStep(this.#state, this.#options.clock.now());
      if (step.type === "settle") return this.#settle(step.outcome);
      const fault = await this.#perform(step);
      if (fault !== null) return this.#settle(settleError(this.#state, fault).outcome);
    }
  }

  async #perform(step: Exclude<Step, { type: "settle" }>): Promise<HullError | null> {
    try {
      if (step.type === "call_model") await this.#callModel(step);
      else await this.#runTools(step.round, step.calls);
      return null;
    } catch (error) {
      const reason: unknown = this.#abort.signal.reason;
      return toHullError(this.#abort.signal.aborted && reason !== undefined ? reason : error);
    }
  }

  async #callModel(step: Step & { type: "call_model" }): Promise<void> {
    const { effect, round, request } = step;
    const again = this.#state.openModelCall === effect;
    if (!again) await this.#append({ type: "model_call_started", effect, round });
    const turn = await this.#options.effects.callModel(request, {
      effect,
      round,
      signal: this.#abort.signal,
      again,
    });
    await this.#append({ type: "model_call_settled", effect, round, turn });
  }

  /** Runs a turn's open calls, at most six at once; the first fault that ends the run stops the others. */
  async #runTools(round: number, calls: PendingCall[]): Promise<void> {
    const queue = [...calls];
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#abort.signal, stop.signal]);
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        await this.#runTool(round, next, signal);
      }
    };
    const lanes = Array.from({ length: Math.min(MAX_CONCURRENT_TOOLS, queue.length) }, worker);
    try {
      await Promise.all(lanes);
    } catch (error) {
      queue.length = 0;
      stop.abort(error);
      await Promise.allSettled(lanes);
      throw error;
    }
  }

  async #runTool(round: number, pending: PendingCall, signal: AbortSignal): Promise<void> {
    const { effect, call, started } = pending;
    signal.throwIfAborted();
    if (!started) await this.#append({ type: "tool_call_started", effect, round, call });
    const outcome = await this.#options.effects.runTool(call, { effect, round, signal, again: started });
    signal.throwIfAborted();
    await this.#append({ type: "tool_call_settled", effect, round, call_id: call.id, outcome });
  }

  async #settle(outcome: RunOutcome): Promise<RunOutcome> {
    if (this.#state.outcome === null) await this.#append({ type: "run_settled", outcome });
    return outcome;
  }

  async #append(body: RecordBody): Promise<void> {
    const record: RunRecord = { v: 1, at: this.#options.clock.now(), ...body };
    await this.#options.log.append(record);
    this.#state = applyRecord(this.#state, record);
  }
}

/** A record without its version and time. */
type RecordBody = RunRecord extends infer R ? (R extends RunRecord ? Omit<R, "v" | "at"> : never) : never;
