/**
 * The one way in which anything happens in a session: records are stored together with the events that tell of them, then
 * folded, then told.
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

/** What is stored in the same transaction as records. */
export interface Also {
  /** The records themselves are told of by other means. */
  silent?: boolean;
  /** Events beside those of the records. @param state after the records */
  events?: (state: AgentState) => RunEvent[];
  /** Further writes. @param last number of the last event */
  write?: (state: AgentState, last: number) => void;
}

interface Redactors {
  /** Of answers. */
  answers: Redactor;
  /** Of events, errors and logs. */
  events: Redactor;
}

/** Bytes of records that a run's result tells of: it is made in memory. */
const MAX_RESULT_BYTES = 8 * 1024 * 1024;
/** Bytes of records that are kept in memory. */
const KEPT_BYTES = 256 * 1024;

/** The last records, as long as they are few: all in the rows after number `after`. */
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
  /** Begun with a run, so that its result is made without reading them again; `null`: they have to be read. */
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

  /** Whether what is known of a run that began with this row of records can be relied on. */
  intactSince(seq: number): boolean {
    return this.#fold.intactSince(seq);
  }

  /** What is in memory may not be what is stored. */
  forget(): void {
    this.#fold.forget();
    this.#recent = null;
  }

  /** The records of a run that its result tells of, oldest first, and whether these are all: of too many the last ones. */
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

  add(bodies: readonly AgentRecordBody[], also: Also = {}): void {
    this.append(this.applied(bodies.map((body) => this.record(body))), also);
  }

  /** Records that come next. */
  applied(records: readonly AgentRecord[]): Applied[] {
    return applyAll(this.state(), records);
  }

  /** @param batch folded upon what is stored */
  append(batch: readonly Applied[], also: Also = {}): void {
    const records = batch.map(({ record }) => record);
    try {
      this.#fold.replace(this.store.transaction(() => this.#write(batch, records, also)));
    } catch (error) {
      this.#recent = null;
      throw error;
    }
    // The result of the run was made.
    if (records.some(({ type }) => type === "run_settled")) this.#recent = null;
    this.events.announce();
  }

  /** Answers the state after the records. */
  #write(batch: readonly Applied[], records: readonly AgentRecord[], also: Also): AgentState {
    const waited = this.events.take();
    const fresh: RunEvent[] = [];
    const state = batch.at(-1)?.after ?? this.state();
    this.#recent = this.#kept(records);
    for (const { record, before } of batch) {
      if (also.silent !== true) fresh.push(...eventsOf(record, before));
      this.store.artifacts.note(record, before);
    }
    fresh.push(...(also.events?.(state) ?? []));
    const last = this.store.appendEvents([...waited, ...fresh.map((event) => this.redacted(event))]);
    also.write?.(state, last);
    this.store.checkpointIfDue(state);
    return state;
  }

  /** Stores records; answers the last ones with these, unless they are too many. */
  #kept(records: readonly AgentRecord[]): LastRecords | null {
    const begins = records.some(({ type }) => type === "run_started");
    const from = begins ? { after: this.store.lastRecord(), records: [], bytes: 0 } : this.#recent;
    const bytes = this.store.appendRecords(records) + (from?.bytes ?? 0);
    if (from === null || bytes > KEPT_BYTES) return null;
    from.records.push(...records);
    return { ...from, bytes };
  }

  /** Stores records whose fold may be out of reach, e.g. because making it is what kills the process. */
  appendUnseen(bodies: readonly AgentRecordBody[], events: RunEvent[], write: (last: number) => void): void {
    if (this.#fold.loaded) {
      this.add(bodies, { events: () => events, write: (_, last) => write(last) });
      return;
    }
    this.#recent = null;
    this.store.transaction(() => {
      this.store.appendRecords(bodies.map((body) => this.record(body)));
      write(this.store.appendEvents(events.map((event) => this.redacted(event))));
    });
    this.events.announce();
  }

  /** Tells something that no record holds, e.g. a piece of a model's answer. */
  emit(event: RunEvent): void {
    this.events.emit(this.redacted(event));
  }

  /** A JSON-like value as answers show it. */
  answered<T>(value: T): T {
    return this.#redactors.answers.json(value);
  }

  /** A JSON-like value as watchers and logs get to see it. */
  shown<T>(value: T): T {
    return this.#redactors.events.json(value);
  }

  /** The last event holds the answer. */
  redacted<E extends RunEvent>(event: E): E {
    const { data } = event;
    return { ...event, data: event.event === "done" ? this.answered(data) : this.shown(data) };
  }
}
