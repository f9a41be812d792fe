/**
 * The only way to change a session: stores folded records together with their events in one transaction, then announces
 * the events.
 */
import { type Applied, applyAgentRecord, applyAll, fold } from "../../engine/agent/apply.ts";
import type { AgentRecord, AgentRecordBody } from "../../engine/agent/records.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import { History, historyOf, type Recorded } from "../../llm/history.ts";
import { emptyTranscript, newId } from "../../llm/transcript.ts";
import { logFault, logLine } from "../../log.ts";
import type { Redactor } from "../../redact.ts";
import { eventsOf } from "../../run/agent/events.ts";
import type { RunEvent } from "../../run/events.ts";
import { EventLog } from "../event-log.ts";
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
/** Bytes of the records whose history stays in memory. */
const KEPT_BYTES = 256 * 1024;

/** The most events to search for the run's own last one. */
const LOOKED_AT = 100;
const isOwn = ({ data }: RunEvent): boolean => !("parent_run_id" in data);

/** What the records in the rows after number `after` say, and their number of bytes. */
interface Recent {
  after: number;
  history: History;
  bytes: number;
}

export class SessionLog {
  readonly store: ConversationStore;
  readonly events: EventLog;
  readonly now: () => number;
  readonly #redactors: Redactors;
  /** The fold of the records; `null`: it must be rebuilt from the stored fold and the records after that. */
  #state: AgentState | null = null;
  /** Number of the last unreadable row; 0: none. */
  #damaged = 0;
  /** The run under way, so that its result needs no further fold; `null`: read its records from storage. */
  #recent: Recent | null = null;

  constructor(store: ConversationStore, now: () => number, redactors: Redactors) {
    this.store = store;
    this.events = new EventLog(store, this.faults({ event: "event_not_stored" }));
    this.now = now;
    this.#redactors = redactors;
  }

  state(): AgentState {
    this.#state ??= this.#load();
    return this.#state;
  }

  /** Whether the state is in memory: to ask for it then reads no records. */
  get loaded(): boolean {
    return this.#state !== null;
  }

  /** Whether all rows from this one on were readable. If not, the state of a run that began there may be wrong. */
  intactSince(seq: number): boolean {
    this.state();
    return this.#damaged < seq;
  }

  /**
   * Rebuilds the state. Skips rows that cannot be read or applied, so that one bad row does not make the session
   * unusable.
   */
  #load(): AgentState {
    const known = this.store.checkpoint();
    let state = known?.state ?? EMPTY_SESSION;
    for (const row of this.store.recordRows(known?.seq ?? 0)) {
      const next = row.ok ? folded(state, row.value) : null;
      if (next === null) {
        this.#damaged = row.seq;
        this.fault({ event: "record_unreadable", seq: row.seq });
      } else state = next;
    }
    return state;
  }

  /** Drops everything cached, since it may differ from storage. */
  forget(): void {
    this.#state = null;
    this.#damaged = 0;
    this.#recent = null;
  }

  /**
   * What the records after a row say, and whether these are all; if they take more than `bytes`, only the last ones.
   * @param after the last run is under way after this row, or begins right after it
   */
  recorded(after: number, bytes = MAX_RESULT_BYTES): { recorded: Recorded; whole: boolean } {
    if (this.#recent?.after === after) return { recorded: this.#recent.history.recorded, whole: true };
    const { records, whole } = this.store.lastRecords(after, bytes);
    return { recorded: historyOf(emptyTranscript(newId()), records, newId, this.state().run?.spec), whole };
  }

  /** Does all writes of `work` in one transaction. If it fails, the state in memory may be ahead of storage. */
  together<T>(work: () => T): T {
    try {
      return this.store.transaction(work);
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  record(body: AgentRecordBody): AgentRecord {
    return { v: 1, at: this.now(), ...body };
  }

  add(bodies: readonly AgentRecordBody[], options: AppendOptions = {}): void {
    this.append(this.applied(bodies), options);
  }

  /** Applies records to the present state without storing them. */
  applied(bodies: readonly AgentRecordBody[]): Applied[] {
    return applyAll(
      this.state(),
      bodies.map((body) => this.record(body)),
    );
  }

  /** @param batch records already applied to the stored state */
  append(batch: readonly Applied[], options: AppendOptions = {}): void {
    const records = batch.map(({ record }) => record);
    try {
      this.#state = this.store.transaction(() => this.#write(batch, records, options));
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
    this.#keep(batch, records, options.silent !== true);
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

  /**
   * Stores records, and reads them into the history of the run under way, unless they are too many.
   * @param reported whether a caller will ask for the result of a run that begins here
   */
  #keep(batch: readonly Applied[], records: readonly AgentRecord[], reported: boolean): void {
    const start = reported ? batch.find(({ record }) => record.type === "run_started") : undefined;
    // The history of a run does not include what came before it. Earlier feedback joins the conversation during the
    // run, and only a fold of the run's own records leaves it out.
    const begins = start !== undefined && start.before.feedback.length === 0;
    const history = begins ? new History(emptyTranscript(newId()), newId) : null;
    const from = history === null ? this.#recent : { after: this.store.lastRecord(), history, bytes: 0 };
    const bytes = this.store.appendRecords(records) + (from?.bytes ?? 0);
    this.#recent = from === null || bytes > KEPT_BYTES ? null : { ...from, bytes };
    for (const applied of begins ? fold(records) : batch) this.#recent?.history.read(applied);
  }

  /**
   * Stores records without folding them, e.g. because folding kills the process. Calls `events` and `write` in the
   * transaction.
   * @param events gets the state after the records if the state is in memory, else `null`; so does `write`
   */
  appendUnseen(
    bodies: readonly AgentRecordBody[],
    events: (state: AgentState | null) => RunEvent[],
    write: (last: number, state: AgentState | null) => void,
  ): void {
    if (this.loaded) {
      this.add(bodies, { events, write: (state, last) => write(last, state) });
      return;
    }
    this.#recent = null;
    this.store.transaction(() => {
      this.store.appendRecords(bodies.map((body) => this.record(body)));
      const redacted = events(null).map((event) => this.redacted(event));
      write(this.store.appendEvents([...this.events.take(), ...redacted]), null);
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
      this.fault({ event: "event_not_stored", run_id }, error);
    }
  }

  /** Tells clients to discard the partial answer that a dead run attempt sent. */
  sendRestart(): void {
    // Events of delegated runs may come in between.
    const last = this.store.events(Math.max(0, this.store.lastEvent() - LOOKED_AT)).findLast(isOwn);
    if (last?.event !== "delta" && last?.event !== "thought") return;
    const { round = 0 } = last.data;
    this.store.appendEvents([{ event: "round", data: { round, restarted: true } }]);
    this.events.announce();
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

  /** Writes a line to the Worker's log. */
  note(line: object): void {
    logLine(this.#redactors.events, line);
  }

  /** The same for a fault that nobody else learns of. */
  fault(line: object, error?: unknown): void {
    const { id: session_id, tenant } = this.store.knownIdentity ?? {};
    logFault(this.#redactors.events, { ...line, session_id, tenant }, error);
  }

  /** Logs the fault of work that nobody waits for: `work.catch(log.faults({ event }))`. */
  faults(line: object): (error: unknown) => void {
    return (error) => this.fault(line, error);
  }

  /** Redacts an event. `done` contains the answer, so it is redacted as an answer. */
  redacted<E extends RunEvent>(event: E): E {
    const { data } = event;
    return { ...event, data: event.event === "done" ? this.answered(data) : this.shown(data) };
  }
}

function folded(state: AgentState, records: readonly AgentRecord[]): AgentState | null {
  try {
    return records.reduce(applyAgentRecord, state);
  } catch {
    return null;
  }
}
