/** Builds the transcript of a session from its records. Pure. */
import type { Entry } from "../engine/agent/entries.ts";
import { RecordReader, type TraceEntry } from "../engine/agent/reader.ts";
import type { AgentRecord } from "../engine/agent/records.ts";
import type { AgentSpec } from "../engine/agent/spec.ts";
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
  readonly #reader: RecordReader;
  #rest: Rest;

  /** @param run the run that is under way where the records begin */
  constructor(ids: IdSource, rest: Rest, run: AgentSpec | null = null) {
    this.#ids = ids;
    this.#rest = rest;
    this.#reader = new RecordReader(rest.summary ?? null, run);
  }

  /** All except the lists, in its present state. */
  get rest(): Rest {
    const { summary: _, ...rest } = this.#rest;
    const { summary } = this.#reader;
    return summary === null ? rest : { ...rest, summary };
  }

  read(record: AgentRecord): Reading {
    if (record.type === "session_state_changed") this.#rest = { ...this.#rest, state: record.state };
    if (record.type === "session_reset") this.#rest = { ...this.#rest, assets: [] };
    const { entries, trace, warnings } = this.#reader.read(record);
    // The turn's messages already show its end.
    const notes = trace.flatMap(({ kind, ...metadata }): Entry[] =>
      kind === "TurnEnd" ? [] : [{ type: "note", kind, metadata }],
    );
    return { ...this.#lists([...entries, ...notes]), trace, warnings };
  }

  /** Results of an incomplete turn, and messages that no run has read. */
  waiting(): Lists {
    return this.#lists(this.#reader.left());
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

/** The result of reading records. */
interface History {
  transcript: Transcript;
  trace: TraceEntry[];
  /** Without duplicates. */
  warnings: Warning[];
}

/**
 * Reads all of these records.
 * @param start the transcript that they add to
 * @param run the run that is under way where the records begin
 */
export function historyOf(
  start: Transcript,
  records: Iterable<AgentRecord>,
  ids: IdSource,
  run: AgentSpec | null = null,
): History {
  const { messages, events, ...rest } = start;
  const reader = new HistoryReader(ids, rest, run);
  const all: Lists = { messages: [...messages], events: [...events] };
  const trace: TraceEntry[] = [];
  const warnings = new Map<string, Warning>();
  for (const record of records) {
    const added = reader.read(record);
    if (record.type === "session_reset") [all.messages, all.events] = [[], []];
    all.messages.push(...added.messages);
    all.events.push(...added.events);
    trace.push(...added.trace);
    for (const warning of added.warnings) warnings.set(warning.message, warning);
  }
  return { transcript: { ...reader.rest, ...all }, trace, warnings: [...warnings.values()] };
}
