/**
 * Drives an agent run from step to step. Collects decisions and stores them together before the effect that follows
 * begins; stores each result when it arrives. The log determines the kind of run: an array for an anonymous run, SQLite
 * in a session.
 */
import { closedBy } from "../../errors/closed-by.ts";
import { ClientClosedRequest } from "../../errors/run.ts";
import { type HullError, toHullError } from "../../errors.ts";
import type { Warning } from "../messages.ts";
import { hasEnded, isRetried } from "../tool-fault.ts";
import { type Applied, applyAgentRecord } from "./apply.ts";
import { compactionRecord, summaryFrom } from "./compaction.ts";
import { nextAgentStep, type Vault } from "./next.ts";
import type { AgentRecord, AgentRecordBody, AgentToolResult, ModelCost } from "./records.ts";
import type { AgentState, RunState } from "./state.ts";
import { answersCaller, deadlineError } from "./status.ts";
import type { AgentEffectContext, AgentEffects, AgentStep, HookStep, PlannedCall } from "./step.ts";
import { goesThroughHooks } from "./tool-hooks.ts";
import { refused } from "./turn.ts";

interface AgentDriveOptions {
  effects: AgentEffects;
  /** Stores records as one unit, before the driver acts on them. */
  append: (batch: readonly Applied[]) => void;
  /** Records that others have stored for this run; absent: nobody else stores any. */
  inbox?: Inbox;
  vault: Vault | null;
  clock: Clock;
  /** Aborted when the run is cancelled; its reason is the run's error. */
  signal: AbortSignal;
  /** Called with the fault that ends the run, since its record has no facts for the operator. */
  onFault?: ((fault: HullError) => void) | undefined;
}

interface Clock {
  /** Unix ms. */
  now(): number;
  /** Calls `fire` once after `ms`; the returned function cancels it. */
  after(ms: number, fire: () => void): () => void;
}

/** Records from outside that the driver has not applied yet. */
interface Inbox {
  take(): readonly AgentRecord[];
  /** Calls `wake` when the next one comes. The driver checks for it while calls are under way. */
  watch(wake: () => void): void;
}

/** The state in which driving stopped, and why. */
export interface Rest {
  state: AgentState;
  step: Extract<AgentStep, { type: "settled" | "wait" }>;
}

/** Drives the session's run until it is settled, or waits for something that only the outside can provide. */
export async function driveAgent(initial: AgentState, options: AgentDriveOptions): Promise<Rest> {
  const drive = new AgentDrive(initial, options);
  try {
    return await drive.toRest();
  } finally {
    drive.release();
  }
}

type EffectStep = Exclude<AgentStep, { type: "record" | "busy" | "settled" | "wait" }>;

const BUSY: AgentStep = { type: "busy" };

/** A finished effect: its result as a record, or the fault that ends the run. */
type FinishedEffect = { effect: string; record: AgentRecordBody } | { effect: string; error: unknown };

class AgentDrive {
  #state: AgentState;
  readonly #options: AgentDriveOptions;
  /** Effects that this run attempt began. */
  readonly #begun = new Set<string>();
  /** Effects that are under way. */
  readonly #inFlight = new Set<string>();
  /** Stops effects before the run's own signal does; `null`: no effect needed it so far. */
  #stop: AbortController | null = null;
  /** Aborted when no effect of the run may continue. */
  #signal: AbortSignal;
  readonly #onAbort = (): void => this.#stop?.abort(this.#options.signal.reason);
  #cancelTimer: () => void = () => {};
  /** What the failed model call had cost; `null`: nothing. */
  #spent: ModelCost | null = null;
  /** Results that are not recorded yet. */
  #finished: FinishedEffect[] = [];
  /** Whether records came from outside that the driver has not read yet. */
  #notified = false;
  /** Wakes the driver. */
  #wake: (() => void) | null = null;
  /** Applied but not stored yet. */
  #batch: Applied[] = [];

  constructor(state: AgentState, options: AgentDriveOptions) {
    this.#state = state;
    this.#options = options;
    this.#signal = options.signal;
    const { deadline } = state.run?.spec ?? {};
    if (deadline !== undefined) {
      const left = Math.max(0, deadline.at - options.clock.now());
      const stop = this.#stopper();
      this.#cancelTimer = options.clock.after(left, () => stop.abort(deadlineError(this.#run())));
    }
    options.inbox?.watch(() => {
      this.#notified = true;
      this.#wake?.();
    });
  }

  release(): void {
    this.#cancelTimer();
    if (this.#stop !== null) this.#options.signal.removeEventListener("abort", this.#onAbort);
  }

  /** The controller that aborts the effects begun with its signal. Created when first needed. */
  #stopper(): AbortController {
    if (this.#stop !== null) return this.#stop;
    const { signal } = this.#options;
    const stop = new AbortController();
    this.#stop = stop;
    this.#signal = stop.signal;
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
    return stop;
  }

  async toRest(): Promise<Rest> {
    const { inbox, vault, clock } = this.#options;
    for (;;) {
      this.#notified = false;
      for (const record of inbox?.take() ?? []) this.#state = applyAgentRecord(this.#state, record);
      const fault = this.#takeFinished();
      if (fault !== null) await this.#end(fault);
      const step = this.#isBusy() ? BUSY : nextAgentStep(this.#state, vault, clock.now(), this.#inFlight);
      if (step.type === "record") {
        for (const body of step.records) this.#add(body);
        continue;
      }
      this.#flush();
      if (step.type === "settled" || step.type === "wait") return { state: this.#state, step };
      if (this.#signal.aborted && this.#inFlight.size === 0) {
        this.#finished.push({ effect: "", error: this.#signal.reason });
      } else if (step.type !== "busy") {
        this.#begin(step);
      } else if (this.#finished.length === 0 && !this.#notified) {
        await this.#nextChange();
      }
    }
  }

  /** Whether the driver must wait for an effect under way. Only tool calls of one turn run in parallel. */
  #isBusy(): boolean {
    return this.#inFlight.size > 0 && (this.#signal.aborted || this.#state.run?.stage !== "tools");
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null;
        resolve();
      };
    });
  }

  /** Records the results that came back; returns the first fault. */
  #takeFinished(): HullError | null {
    if (this.#finished.length === 0) return null;
    const signal = this.#signal;
    let fault: HullError | null = signal.aborted ? closedBy(signal.reason) : null;
    for (const finished of this.#finished.splice(0)) {
      this.#inFlight.delete(finished.effect);
      if (fault !== null) continue;
      if ("error" in finished) fault = toHullError(finished.error);
      else this.#add(finished.record);
    }
    return fault;
  }

  #add(body: AgentRecordBody): void {
    const record: AgentRecord = { v: 1, at: this.#options.clock.now(), ...body };
    const before = this.#state;
    this.#state = applyAgentRecord(before, record);
    if (record.type === "tools_started") for (const { effect } of record.calls) this.#begun.add(effect);
    this.#batch.push({ record, before, after: this.#state });
  }

  #flush(): void {
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#options.append(batch);
  }

  #begin(step: EffectStep): void {
    if (step.type !== "run_tools") {
      this.#track(step.effect, this.#effect(step));
      return;
    }
    for (const planned of step.calls) this.#track(planned.effect, this.#runTool(planned));
  }

  #track(effect: string, work: Promise<AgentRecordBody>): void {
    this.#inFlight.add(effect);
    const finish = (finished: FinishedEffect): void => {
      this.#finished.push(finished);
      this.#wake?.();
    };
    work.then(
      (record) => finish({ effect, record }),
      (error: unknown) => finish({ effect, error }),
    );
  }

  async #effect(step: Exclude<EffectStep, { type: "run_tools" }>): Promise<AgentRecordBody> {
    const { effects } = this.#options;
    const run = this.#run();
    const { effect } = step;
    const at = { run: run.spec.run_id, effect };
    switch (step.type) {
      case "call_model": {
        // No other effect is under way.
        const answer = await effects.callModel(step, this.#context(effect, this.#signal));
        if ("fault" in answer) {
          this.#spent = answer.spent;
          throw answer.fault;
        }
        return "turn" in answer
          ? { type: "model_call_settled", ...at, ...answer }
          : { type: "search_refused", ...at, ...answer };
      }
      case "call_hook":
        return this.#callHook(run, step);
      case "summarize":
        return this.#summarize(run, step);
      case "search_tools":
        return { type: "tool_searched", ...at, ...(await effects.searchTools(step, this.#context(effect))) };
      case "bind_servers": {
        const bound = await effects.bindServers(step, this.#context(effect));
        return { type: "skill_mcp_bound", ...at, skill: step.skill, ...bound };
      }
    }
  }

  async #runTool(planned: PlannedCall): Promise<AgentRecordBody> {
    const { effect } = planned;
    const result = await this.#attempts({ ...planned, again: !this.#begun.has(effect) });
    const run = this.#run();
    const type = goesThroughHooks(run, planned, result) ? "tool_executed" : "tool_settled";
    return { type, run: run.spec.run_id, effect, result };
  }

  async #attempts(call: PlannedCall): Promise<AgentToolResult> {
    const { effects } = this.#options;
    const { tool_retries, tool_backoff_ms } = this.#run().spec;
    let attempt = call.again ? effects.attemptOf(this.#context(call.effect)) : 0;
    for (let retries = attempt; ; retries++) {
      const result = await effects.runTool(call, { ...this.#context(call.effect), attempt });
      const { status, error_category: category, retryable } = result;
      const failed = status === "error" && category !== null && isRetried(category);
      if (!failed || retryable === false || retries >= tool_retries) return result;
      if (hasEnded(category)) attempt++;
      await effects.pause(tool_backoff_ms * 2 ** Math.min(retries, 5), this.#signal);
    }
  }

  /** Calls a hook. A failing hook of a skill is ignored; any other failing hook ends the run. */
  async #callHook(run: RunState, step: HookStep): Promise<AgentRecordBody> {
    const { effect, hook } = step;
    const at = { type: "hook_settled" as const, run: run.spec.run_id, effect, hook };
    try {
      return {
        ...at,
        result: await this.#options.effects.callHook(step, this.#context(effect)),
        error: null,
      };
    } catch (error) {
      if (run.skillHooks.length === 0 || this.#signal.aborted) throw error;
      return { ...at, result: null, error: toHullError(error).message };
    }
  }

  /** Asks for a summary. If none can be obtained, Hull writes one itself. */
  async #summarize(run: RunState, step: AgentStep & { type: "summarize" }): Promise<AgentRecordBody> {
    const { effect, instructions, plan } = step;
    const asked = this.#options.effects.summarize(instructions, plan.archived, this.#context(effect));
    const answer = await asked.catch((error: unknown) => {
      if (this.#signal.aborted) throw error;
      return { text: "", spent: null, fault: toHullError(error), warnings: [] };
    });
    const { text, spent, fault } = answer;
    const made = summaryFrom(text, plan);
    const record = compactionRecord(this.#state.visible, run.spec.run_id, made.plan, made.summary);
    const warnings = [...answer.warnings, ...(fault === null ? [] : [truncatedInstead(fault)])];
    return {
      ...record,
      ...(spent === null ? {} : { spent }),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
  }

  /** Stops what is still under way, then ends the run with its fault. */
  async #end(fault: HullError): Promise<void> {
    this.#stop?.abort(fault);
    while (this.#inFlight.size > 0) {
      if (this.#finished.length === 0) await this.#nextChange();
      for (const { effect } of this.#finished.splice(0)) this.#inFlight.delete(effect);
    }
    for (const record of this.#options.inbox?.take() ?? [])
      this.#state = applyAgentRecord(this.#state, record);
    const run = this.#run();
    if (run.stage === "ended") return;
    // The waiting parent run learns of a limit that the tenant set.
    const reportedToParent = run.spec.delegation !== undefined && fault.data.members.budget === "hard";
    if (fault.code === "budget_exceeded" && !answersCaller(run.spec) && !reportedToParent) {
      this.#add(refused(run, fault.data, this.#spent));
      return;
    }
    const status = this.#options.signal.aborted ? "cancelled" : "error";
    const spent = this.#spent === null ? {} : { spent: this.#spent };
    this.#options.onFault?.(fault);
    this.#add({ type: "run_settled", run: run.spec.run_id, status, error: fault.data, ...spent });
  }

  #run(): RunState {
    const { run } = this.#state;
    if (run === null) throw new ClientClosedRequest({});
    return run;
  }

  /** @param signal what ends the effect; by default also a fault of another effect under way */
  #context(effect: string, signal = this.#stopper().signal): AgentEffectContext {
    const { spec, tools = [], answered } = this.#run();
    return { run: spec.run_id, effect, attempt: 0, signal, tools, provider: answered?.provider ?? null };
  }
}

/** The warning that Hull wrote a summary itself. */
const truncatedInstead = ({ code }: HullError): Warning => ({
  code: "compaction_truncated",
  message: `The model wrote no summary of older messages (${code}), so Hull kept only the beginnings of some of them.`,
});
