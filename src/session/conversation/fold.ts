/** The fold of a session's records, kept in memory. It can be rebuilt from the stored fold and the records after it. */
import { applyAgentRecord } from "../../engine/agent/apply.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import type { ConversationStore } from "./store.ts";

export class Fold {
  readonly #store: ConversationStore;
  #state: AgentState | null = null;
  /** The last unreadable row; 0: none. */
  #damaged = 0;

  constructor(store: ConversationStore) {
    this.#store = store;
  }

  /** Whether the fold is in memory. */
  get loaded(): boolean {
    return this.#state !== null;
  }

  /** Whether every row from this one on was readable; if not, the state of a run that began there may be wrong. */
  intactSince(seq: number): boolean {
    this.state();
    return this.#damaged < seq;
  }

  state(): AgentState {
    this.#state ??= this.#load();
    return this.#state;
  }

  /** Takes the state that was stored. */
  replace(state: AgentState): void {
    this.#state = state;
  }

  forget(): void {
    this.#state = null;
    this.#damaged = 0;
  }

  /** Skips a row that cannot be read or applied, so that it does not make the whole session unusable. */
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
