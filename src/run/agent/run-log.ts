/** The records of an agent run without a session. They are in memory, or in the object that executes the run. */
import type { Applied } from "../../engine/agent/apply.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RunEvent } from "../events.ts";
import { eventsOf } from "./events.ts";

/** The records of a session, or of a run without one. */
export interface RecordSource {
  /** All of them, or those after the place `after`, oldest first. */
  records(after?: number): Iterable<AgentRecord>;
  /** The place of the last record; 0: there is none. */
  lastRecord(): number;
}

export interface RunLog extends RecordSource {
  /** The state computed from the records. */
  state(): AgentState;
  /**
   * Keeps the records with which the run begins. It sends no event: the caller learns in another way that the run
   * began.
   */
  begin(batch: readonly Applied[]): void;
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

  records(after = 0): readonly AgentRecord[] {
    return after === 0 ? this.#records : this.#records.slice(after);
  }

  lastRecord(): number {
    return this.#records.length;
  }

  begin(batch: readonly Applied[]): void {
    for (const { record, after } of batch) {
      this.#records.push(record);
      this.#state = after;
    }
  }

  append(batch: readonly Applied[]): void {
    this.begin(batch);
    if (this.#emit !== null) for (const event of batch.flatMap(eventsOf)) this.#emit(event);
  }
}
