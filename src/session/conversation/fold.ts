/** What a session's records come to, kept in memory; made again from the stored fold and the records after it. */
import { applyAgentRecord } from "../../engine/agent/apply.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import type { ConversationStore } from "./store.ts";

export class Fold {
  readonly #store: ConversationStore;
  #state: AgentState | null = null;
  /** The last row that could not be read; 0: none. */
  #damaged = 0;

  constructor(store: ConversationStore) {
    this.#store = store;
  }

  /** Whether it is in memory. */
  get loaded(): boolean {
    return this.#state !== null;
  }

  /** Whether every row from this one on could be read: else what is known of a run that began there may be wrong. */
  intactSince(seq: number): boolean {
    this.state();
    return this.#damaged < seq;
  }

  state(): AgentState {
    this.#state ??= this.#load();
    return this.#state;
  }

  /** Takes in what was stored. */
  replace(state: AgentState): void {
    this.#state = state;
  }

  forget(): void {
    this.#state = null;
    this.#damaged = 0;
  }

  /** A row that cannot be read or applied is passed over, so that it does not take the whole session with it. */
  #load(): AgentState {
    const known = this.#store.checkpoint();
    let state = known?.state ?? EMPTY_SESSION;
    for (const row of this.#store.recordRows(known?.seq ?? 0)) {
      const next = row.ok ? applied(state, row.value) : null;
      if (next === null) {
        this.#damaged = row.seq;
        console.error(JSON.stringify({ event: "record_unreadable", seq: row.seq }));
      } else state = next;
    }
    return state;
  }
}

function applied(state: AgentState, records: readonly AgentRecord[]): AgentState | null {
  try {
    return records.reduce(applyAgentRecord, state);
  } catch {
    return null;
  }
}
