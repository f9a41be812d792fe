/**
 * Carries an agent run from step to step (design.md §2.1, §2.3): decisions are gathered and stored together, before the
 * effect that follows from them begins. The log makes the driver: an array for an anonymous run, SQLite in a session.
 */
import { ClientClosedRequest } from "../../errors/run.ts";
import { type HullError, toHullError } from "../../errors.ts";
import type { Json } from "../../skill/manifest.ts";
import { applyAgentRecord } from "./apply.ts";
import { summaryFrom } from "./compaction.ts";
import { compactionRecord, nextAgentStep, type Vault } from "./next.ts";
import type { AgentRecord, AgentRecordBody, AgentToolResult } from "./records.ts";
import type { AgentState, RunState } from "./state.ts";
import type { AgentEffectContext, AgentEffects, AgentStep, PlannedCall } from "./step.ts";
import { goesThroughHooks } from "./tool-hooks.ts";
import { settled } from "./turn.ts";

interface AgentDriveOptions {
  effects: AgentEffects;
  /** Stores records as one unit, before what follows from them is done. */
  append: (records: readonly AgentRecord[], state: AgentState) => void | Promise<void>;
  /** What is not stored when nothing new is to be told: the driver's own waiting list of messages. */
  incoming?: () => readonly AgentRecord[];
  vault: Vault | null;
  /** Unix ms. */
  now: () => number;
  /** Aborted when the run is cancelled; its reason is the run's error. */
  signal: AbortSignal;
}

/** Where a drive came to rest. */
export interface Rest {
  state: AgentState;
  step: Extract<AgentStep, { type: "settled" | "wait" }>;
}

/** Drives the session's run until it is settled, or waits for something that only the outside can bring. */
export async function driveAgent(initial: AgentState, options: AgentDriveOptions): Promise<Rest> {
  const drive = new AgentDrive(initial, options);
  return drive.toRest();
}

class AgentDrive {
  #state: AgentState;
  readonly #options: AgentDriveOptions;
  /** Effects that this life of the run began. */
  readonly #begun = new Set<string>();
  /** Applied and not stored yet. */
  #batch: AgentRecord[] = [];

  constructor(state: AgentState, options: AgentDriveOptions) {
    this.#state = state;
    this.#options = options;
  }

  async toRest(): Promise<Rest> {
    for (;;) {
      this.#takeIncoming();
      const step = nextAgentStep(this.#state, this.#options.vault, this.#options.now());
      if (step.type === "record") {
        for (const body of step.records) this.#add(body);
        continue;
      }
      await this.#flush();
      if (step.type === "settled" || step.type === "wait") return { state: this.#state, step };
      const fault = await this.#perform(step);
      if (fault !== null) this.#settleFault(fault);
    }
  }

  #takeIncoming(): void {
    for (const record of this.#options.incoming?.() ?? [])
      this.#state = applyAgentRecord(this.#state, record);
  }

  #add(body: AgentRecordBody): void {
    const record: AgentRecord = { v: 1, at: this.#options.now(), ...body };
    this.#state = applyAgentRecord(this.#state, record);
    if (record.type === "tools_started") for (const { effect } of record.calls) this.#begun.add(effect);
    this.#batch.push(record);
  }

  async #flush(): Promise<void> {
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    await this.#options.append(batch, this.#state);
  }

  async #perform(
    step: Exclude<AgentStep, { type: "record" | "settled" | "wait" }>,
  ): Promise<HullError | null> {
    const { signal } = this.#options;
    try {
      signal.throwIfAborted();
      await this.#effect(step);
      return null;
    } catch (error) {
      if (!signal.aborted) return toHullError(error);
      const reason: unknown = signal.reason;
      return reason === undefined ? new ClientClosedRequest({}) : toHullError(reason);
    }
  }

  async #effect(step: Exclude<AgentStep, { type: "record" | "settled" | "wait" }>): Promise<void> {
    const { effects } = this.#options;
    const run = this.#run();
    switch (step.type) {
      case "call_model": {
        const { effect } = step;
        const answer = await effects.callModel(step, this.#context(effect));
        this.#options.signal.throwIfAborted();
        this.#add({ type: "model_call_settled", run: run.spec.run_id, effect, ...answer });
        return;
      }
      case "run_tools":
        return this.#runTools(step.calls);
      case "call_hook":
        return this.#callHook(run, step);
      case "summarize":
        return this.#summarize(run, step);
      case "search_tools": {
        const { effect } = step;
        const found = await effects.searchTools(step, this.#context(effect));
        this.#add({ type: "tool_searched", run: run.spec.run_id, effect, ...found });
        return;
      }
      case "bind_servers": {
        const { effect, skill } = step;
        const bound = await effects.bindServers(step, this.#context(effect));
        this.#options.signal.throwIfAborted();
        this.#add({ type: "skill_mcp_bound", run: run.spec.run_id, effect, skill, ...bound });
        return;
      }
    }
  }

  /** Calls that were planned together run together; results are recorded in call order. */
  async #runTools(calls: readonly PlannedCall[]): Promise<void> {
    const results = await Promise.all(
      calls.map(async (planned) => ({ planned, result: await this.#runTool(planned) })),
    );
    this.#options.signal.throwIfAborted();
    const { spec } = this.#run();
    for (const { planned, result } of results) {
      const type = goesThroughHooks(spec, planned.call.name, result) ? "tool_executed" : "tool_settled";
      this.#add({ type, run: spec.run_id, effect: planned.effect, result });
    }
  }

  async #runTool(planned: PlannedCall): Promise<AgentToolResult> {
    const { tool_retries, tool_backoff_ms } = this.#run().spec;
    const call = { ...planned, again: !this.#begun.has(planned.effect) };
    for (let attempt = 0; ; attempt++) {
      const result = await this.#options.effects.runTool(call, this.#context(planned.effect));
      const failed = result.status === "error" && RETRIED.has(result.error_category ?? "");
      const transient = failed && result.retryable !== false;
      if (!transient || attempt >= tool_retries) return result;
      await this.#options.effects.pause(tool_backoff_ms * 2 ** Math.min(attempt, 5), this.#options.signal);
    }
  }

  /** Hooks of skills may fail; the failure of any other one ends the run. */
  async #callHook(run: RunState, step: AgentStep & { type: "call_hook" }): Promise<void> {
    const { effect, hook } = step;
    const at = { type: "hook_settled" as const, run: run.spec.run_id, effect, hook };
    try {
      const result: Json = await this.#options.effects.callHook(step, this.#context(effect));
      this.#add({ ...at, result, error: null });
    } catch (error) {
      if (run.skillHooks.length === 0 || this.#options.signal.aborted) throw error;
      this.#add({ ...at, result: null, error: toHullError(error).message });
    }
  }

  /** A summary that cannot be had is replaced by one that Hull makes itself. */
  async #summarize(run: RunState, step: AgentStep & { type: "summarize" }): Promise<void> {
    const { effect, instructions, plan } = step;
    const { archived } = plan;
    const asked = this.#options.effects.summarize(instructions, archived, this.#context(effect));
    const summary = await asked.catch((error) => {
      if (this.#options.signal.aborted) throw error;
      return "";
    });
    const made = summaryFrom(summary, plan);
    this.#add(compactionRecord(this.#state, run.spec.run_id, made.plan, made.summary));
  }

  #settleFault(error: HullError): void {
    const run = this.#run();
    if (run.stage === "ended") return;
    this.#takeIncoming();
    if (error.code === "budget_exceeded") {
      this.#add(settled(run, "budget_exhausted"));
      return;
    }
    const status = this.#options.signal.aborted ? "cancelled" : "error";
    this.#add({ type: "run_settled", run: run.spec.run_id, status, error: error.data });
  }

  #run(): RunState {
    const { run } = this.#state;
    if (run === null) throw new ClientClosedRequest({});
    return run;
  }

  #context(effect: string): AgentEffectContext {
    const { spec, tools = [] } = this.#run();
    return { run: spec.run_id, effect, signal: this.#options.signal, tools };
  }
}

/** What a second try may mend (§7.7). */
const RETRIED = new Set([
  "tool_error",
  "mcp_server_error",
  "host_bridge_error",
  "network",
  "timeout",
  "unavailable",
]);
