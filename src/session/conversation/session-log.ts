/**
 * The only way to change a session: stores folded records together with their events in one transaction, then announces
 * the events.
 */
import { type Applied, applyAll } from "../../engine/agent/apply.ts";
import type { AgentRecord, AgentRecordBody } from "../../engine/agent/records.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import type { Redactor } from "../../redact.ts";
import { eventsOf } from "../../run/agent/events.ts";
import type { RunEvent } from "../../run/events.ts";
import { EventLog } from "../event-log.ts";
import { Fold } from "./fold.ts";
import type { RunRow } from "./run-rows.ts";
import type { ConversationStore } from "./store.ts";

/** What else is stored in the same transaction as records. */
export interface AppendOptions {
  /** The records produce no events. */
  silent?: boolean;
  /** More events, besides those of the records. @param state the state after the records */
  events?: (state: AgentState) => RunEvent[];
  /** More writes. @param last number of the last event */
  write?: (state: AgentState, last: number) => void;
}

interface Redactors {
  /** Redactor for answers. */
  answers: Redactor;
  /** Redactor for events, errors and logs. */
  events: Redactor;
}

/** The most bytes of records that a run's result covers, since it is built in memory. */
const MAX_RESULT_BYTES = 8 * 1024 * 1024;
/** Bytes of records to keep in memory. */
const KEPT_BYTES = 256 * 1024;

/** The last records, if they are few: all in the rows after number `after`. */
interface LastRecords {
  after: number;
  records: AgentRecord[];
  bytes: number;
}

export class SessionLog {
  readonly store: ConversationStore;
  readonly events: EventLog;
  readonly now: () => number;
  readonly #fold: Fold;
  readonly #redactors: Redactors;
  /**
   * Filled from the beginning of a run, so that its result needs no further read; `null`: read the records from storage.
   */
  #recent: LastRecords | null = null;

  constructor(store: ConversationStore, now: () => number, redactors: Redactors) {
    this.store = store;
    this.events = new EventLog(store);
    this.now = now;
    this.#fold = new Fold(store);
    this.#redactors = redactors;
  }

  state(): AgentState {
    return this.#fold.state();
  }

  /** Whether the state is in memory: to ask for it then reads no records. */
  get loaded(): boolean {
    return this.#fold.loaded;
  }

  /** Whether the state of a run that began with this row of records is reliable. */
  intactSince(seq: number): boolean {
    return this.#fold.intactSince(seq);
  }

  /** Drops everything cached, since it may differ from storage. */
  forget(): void {
    this.#fold.forget();
    this.#recent = null;
  }

  /**
   * The records for a run's result, oldest first, and whether they are complete. If there are too many, only the last
   * ones.
   */
  recordsOf({ first_record }: Pick<RunRow, "first_record">): {
    records: Iterable<AgentRecord>;
    whole: boolean;
  } {
    const after = first_record - 1;
    if (this.#recent?.after === after) return { records: this.#recent.records, whole: true };
    return this.store.lastRecords(after, MAX_RESULT_BYTES);
  }

  record(body: AgentRecordBody): AgentRecord {
    return { v: 1, at: this.now(), ...body };
  }

  add(bodies: readonly AgentRecordBody[], options: AppendOptions = {}): void {
    this.append(this.applied(bodies.map((body) => this.record(body))), options);
  }

  /** Applies records to the present state without storing them. */
  applied(records: readonly AgentRecord[]): Applied[] {
    return applyAll(this.state(), records);
  }

  /** @param batch records already applied to the stored state */
  append(batch: readonly Applied[], options: AppendOptions = {}): void {
    const records = batch.map(({ record }) => record);
    try {
      this.#fold.replace(this.store.transaction(() => this.#write(batch, records, options)));
    } catch (error) {
      this.#recent = null;
      throw error;
    }
    // The run's result has been made.
    if (records.some(({ type }) => type === "run_settled")) this.#recent = null;
    this.events.announce();
  }

  /** Returns the state after the records. */
  #write(batch: readonly Applied[], records: readonly AgentRecord[], options: AppendOptions): AgentState {
    const waited = this.events.take();
    const fresh: RunEvent[] = [];
    const state = batch.at(-1)?.after ?? this.state();
    this.#recent = this.#kept(records);
    for (const applied of batch) {
      if (options.silent !== true) fresh.push(...eventsOf(applied));
      this.store.artifacts.note(applied);
    }
    fresh.push(...(options.events?.(state) ?? []));
    const last = this.store.appendEvents([...waited, ...fresh.map((event) => this.redacted(event))]);
    options.write?.(state, last);
    this.store.checkpointIfDue(state);
    return state;
  }

  /** Stores records; returns them with the previous ones, unless they are too many to keep. */
  #kept(records: readonly AgentRecord[]): LastRecords | null {
    const begins = records.some(({ type }) => type === "run_started");
    const from = begins ? { after: this.store.lastRecord(), records: [], bytes: 0 } : this.#recent;
    const bytes = this.store.appendRecords(records) + (from?.bytes ?? 0);
    if (from === null || bytes > KEPT_BYTES) return null;
    from.records.push(...records);
    return { ...from, bytes };
  }

  /**
   * Stores records without folding them, e.g. because folding kills the process. Calls `events` and `write` in the
   * transaction.
   * @param events gets the state after the records if the state is in memory, else `null`
   */
  appendUnseen(
    bodies: readonly AgentRecordBody[],
    events: (state: AgentState | null) => RunEvent[],
    write: (last: number) => void,
  ): void {
    if (this.loaded) {
      this.add(bodies, { events, write: (_, last) => write(last) });
      return;
    }
    this.#recent = null;
    this.store.transaction(() => {
      this.store.appendRecords(bodies.map((body) => this.record(body)));
      const redacted = events(null).map((event) => this.redacted(event));
      write(this.store.appendEvents([...this.events.take(), ...redacted]));
    });
    this.events.announce();
  }

  /**
   * Sends an event that no record contains, e.g. a piece of a model's answer. Never fails: if storage fails for good, the
   * run's next step will notice.
   */
  emit(event: RunEvent, run_id: string): void {
    try {
      this.send(event);
    } catch (error) {
      console.error(JSON.stringify({ event: "event_not_stored", run_id, error: String(error) }));
    }
  }

  /** Sends an event that must not be missing. Fails if storage fails. */
  send(event: RunEvent): void {
    this.events.emit(this.redacted(event));
  }

  /** Redacts a JSON-like value for an answer. */
  answered<T>(value: T): T {
    return this.#redactors.answers.json(value);
  }

  /** Redacts a JSON-like value for watchers and logs. */
  shown<T>(value: T): T {
    return this.#redactors.events.json(value);
  }

  /** Redacts an event. `done` contains the answer, so it is redacted as an answer. */
  redacted<E extends RunEvent>(event: E): E {
    const { data } = event;
    return { ...event, data: event.event === "done" ? this.answered(data) : this.shown(data) };
  }
}
