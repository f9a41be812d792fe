/** Builds the transcript of a session from its records. Pure. */
import { type Applied, fold } from "../engine/agent/apply.ts";
import { joinedSummary } from "../engine/agent/compaction.ts";
import { type Entry, leftMessages } from "../engine/agent/entries.ts";
import { readingOf, type TraceEntry } from "../engine/agent/reader.ts";
import type { AgentRecord } from "../engine/agent/records.ts";
import type { AgentSpec } from "../engine/agent/spec.ts";
import { type AgentState, EMPTY_SESSION, newRun } from "../engine/agent/state.ts";
import type { Warning } from "../engine/messages.ts";
import { messageJson } from "./messages.ts";
import { extraEvent, type IdSource, messageEvent, type Transcript, turnEvents } from "./transcript.ts";

/** A transcript without its two long lists. */
type Rest = Omit<Transcript, "messages" | "events">;

type Lists = Pick<Transcript, "messages" | "events">;

/** What a record adds to a transcript, and to the lists next to it. */
interface Reading extends Lists {
  trace: TraceEntry[];
  warnings: readonly Warning[];
}

/** Reads records one after the other. The caller keeps what each adds; a `session_reset` voids everything before it. */
export class HistoryReader {
  readonly #ids: IdSource;
  #rest: Rest;

  constructor(ids: IdSource, rest: Rest) {
    this.#ids = ids;
    this.#rest = rest;
  }

  /** All except the lists, in its present state. */
  get rest(): Rest {
    return this.#rest;
  }

  read(applied: Applied): Reading {
    this.#rest = restAfter(this.#rest, applied.record);
    const { entries, trace, warnings } = readingOf(applied);
    // The turn's messages already show its end.
    const notes = trace.flatMap(({ kind, ...metadata }): Entry[] =>
      kind === "TurnEnd" ? [] : [{ type: "note", kind, metadata }],
    );
    return { ...this.#lists([...entries, ...notes]), trace, warnings };
  }

  /** Results of an incomplete turn, and messages that no run has read. @param state after the last record */
  waiting(state: AgentState): Lists {
    return this.#lists(leftMessages(state).map((message) => ({ type: "message", message })));
  }

  #lists(entries: readonly Entry[]): Lists {
    const added: Lists = { messages: [], events: [] };
    for (const entry of entries) {
      switch (entry.type) {
        case "message":
          for (const message of messageJson(entry.message)) {
            added.messages.push(message);
            added.events.push(messageEvent(message, this.#ids));
          }
          break;
        case "turn":
          added.events.push(...turnEvents(entry.turn, this.#ids));
          break;
        case "note": {
          const { kind, role = "system", metadata } = entry;
          const of = { role, visibility: "internal" as const, text: "", metadata };
          added.events.push(extraEvent(kind, of, this.#ids));
        }
      }
    }
    return added;
  }
}

function restAfter(rest: Rest, record: AgentRecord): Rest {
  switch (record.type) {
    case "session_state_changed":
      return { ...rest, state: record.state };
    case "session_imported":
      return record.summary === null ? rest : { ...rest, summary: record.summary };
    case "compacted":
      return { ...rest, summary: joinedSummary(rest.summary, record.compacted.summary) };
    case "session_reset": {
      const { summary: _, ...empty } = rest;
      return { ...empty, assets: [] };
    }
    default:
      return rest;
  }
}

/** What records say together. */
export interface Recorded {
  transcript: Transcript;
  trace: TraceEntry[];
  /** Without duplicates. */
  warnings: Warning[];
}

/** Gathers what records say. */
export class History {
  readonly #reader: HistoryReader;
  readonly #lists: Lists;
  readonly #trace: TraceEntry[] = [];
  readonly #warnings = new Map<string, Warning>();

  /** @param start the transcript that the records add to */
  constructor({ messages, events, ...rest }: Transcript, ids: IdSource) {
    this.#reader = new HistoryReader(ids, rest);
    this.#lists = { messages: [...messages], events: [...events] };
  }

  read(applied: Applied): void {
    const { messages, events, trace, warnings } = this.#reader.read(applied);
    if (applied.record.type === "session_reset") {
      this.#lists.messages = [];
      this.#lists.events = [];
    }
    this.#lists.messages.push(...messages);
    this.#lists.events.push(...events);
    this.#trace.push(...trace);
    for (const warning of warnings) this.#warnings.set(warning.message, warning);
  }

  /** Until now: records that are read later do not change it. */
  get recorded(): Recorded {
    const { messages, events } = this.#lists;
    const transcript = { ...this.#reader.rest, messages: [...messages], events: [...events] };
    return { transcript, trace: [...this.#trace], warnings: [...this.#warnings.values()] };
  }
}

/**
 * What all of these records say.
 * @param start the transcript that they add to
 * @param run the run that is under way where the records begin
 */
export function historyOf(
  start: Transcript,
  records: Iterable<AgentRecord>,
  ids: IdSource,
  run: AgentSpec | null = null,
): Recorded {
  const history = new History(start, ids);
  for (const applied of fold(records, stateBefore(run))) history.read(applied);
  return history.recorded;
}

/** The state where records begin. @param run the run that is under way there */
export const stateBefore = (run: AgentSpec | null): AgentState => ({
  ...EMPTY_SESSION,
  run: run === null ? null : newRun(run, []),
});
