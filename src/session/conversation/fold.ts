/** What a session's records come to, kept in memory; made again from the stored fold and the records after it. */
import { applyAgentRecord } from "../../engine/agent/apply.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import type { ConversationStore } from "./store.ts";

export class Fold {
  readonly #store: ConversationStore;
  #state: AgentState | null = null;
  #damaged = false;

  constructor(store: ConversationStore) {
    this.#store = store;
  }

  /** Whether it is in memory. */
  get loaded(): boolean {
    return this.#state !== null;
  }

  /** Whether a record could not be read: what is known of a run under way may be wrong. */
  get damaged(): boolean {
    return this.#damaged;
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
    this.#damaged = false;
  }

  /** A row that cannot be read or applied is passed over, so that it does not take the whole session with it. */
  #load(): AgentState {
    const known = this.#store.checkpoint();
    let state = known?.state ?? EMPTY_SESSION;
    for (const row of this.#store.recordRows(known?.seq ?? 0)) {
      const next = row.ok ? applied(state, row.value) : null;
      if (next === null) {
        this.#damaged = true;
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
