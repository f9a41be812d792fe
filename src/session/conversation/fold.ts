/**
 * The fold of a session's records, kept in memory. It can be rebuilt from the stored fold and the records after that.
 */
import { applyAgentRecord } from "../../engine/agent/apply.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import type { ConversationStore } from "./store.ts";

export class Fold {
  readonly #store: ConversationStore;
  #state: AgentState | null = null;
  /** Number of the last unreadable row; 0: none. */
  #damaged = 0;

  constructor(store: ConversationStore) {
    this.#store = store;
  }

  /** Whether the fold is in memory. */
  get loaded(): boolean {
    return this.#state !== null;
  }

  /** Whether all rows from this one on were readable. If not, the state of a run that began there may be wrong. */
  intactSince(seq: number): boolean {
    this.state();
    return this.#damaged < seq;
  }

  state(): AgentState {
    this.#state ??= this.#load();
    return this.#state;
  }

  /** Replaces the state by one that was just stored. */
  replace(state: AgentState): void {
    this.#state = state;
  }

  forget(): void {
    this.#state = null;
    this.#damaged = 0;
  }

  /**
   * Rebuilds the state. Skips rows that cannot be read or applied, so that one bad row does not make the session
   * unusable.
   */
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
