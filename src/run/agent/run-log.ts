/** The records of an agent run without a session, wherever they are kept: in memory, or in the object that carries it out. */
import { type Applied, applyAgentRecord } from "../../engine/agent/apply.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RunEvent } from "../events.ts";
import { eventsOf } from "./events.ts";

export interface RunLog {
  /** What the records come to. */
  state(): AgentState;
  /** All of them, oldest first. */
  records(): Iterable<AgentRecord>;
  /** Keeps the records that the run begins with. Whoever asked is told by other means that it has begun. */
  begin(records: readonly AgentRecord[]): void;
  /** Keeps records that belong together, and tells of them. @param memo kept with them for later lives; `null`: nothing new */
  append(batch: readonly Applied[], memo: Json): void;
}

/** Gone with the process. */
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
    for (const { record, before, after } of batch) {
      this.#records.push(record);
      this.#state = after;
      if (this.#emit !== null) for (const event of eventsOf(record, before)) this.#emit(event);
    }
  }
}
