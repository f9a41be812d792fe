/** The records of an agent run without a session. They are in memory, or in the object that executes the run. */
import { type Applied, applyAgentRecord } from "../../engine/agent/apply.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RunEvent } from "../events.ts";
import { eventsOf } from "./events.ts";

export interface RunLog {
  /** The state computed from the records. */
  state(): AgentState;
  /** All of them, oldest first. */
  records(): Iterable<AgentRecord>;
  /**
   * Keeps the records with which the run begins. It sends no event: the caller learns in another way that the run
   * began.
   */
  begin(records: readonly AgentRecord[]): void;
  /**
   * Keeps records that belong together, and sends their events. @param memo kept with them for later run attempts; `null`:
   * nothing new
   */
  append(batch: readonly Applied[], memo: Json): void;
}

/** Keeps the records in memory; they are lost when the process ends. */
export class MemoryLog implements RunLog {
  readonly #emit: ((event: RunEvent) => void) | null;
  readonly #records: AgentRecord[] = [];
  #state: AgentState = EMPTY_SESSION;

  /** @param emit `null`: nobody watches */
  constructor(emit: ((event: RunEvent) => void) | null) {
    this.#emit = emit;
  }

  state(): AgentState {
    return this.#state;
  }

  records(): readonly AgentRecord[] {
    return this.#records;
  }

  begin(records: readonly AgentRecord[]): void {
    this.#records.push(...records);
    this.#state = records.reduce(applyAgentRecord, this.#state);
  }

  append(batch: readonly Applied[]): void {
    for (const applied of batch) {
      this.#records.push(applied.record);
      this.#state = applied.after;
      if (this.#emit !== null) for (const event of eventsOf(applied)) this.#emit(event);
    }
  }
}
