/** Builds the transcript of a session from its records. Pure. */
import { type Applied, fold } from "../engine/agent/apply.ts";
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

/**
 * The state where records begin that continue a transcript.
 * @param run the run that is under way there
 */
export const stateBefore = (
  { summary = null }: { summary?: string | null },
  run: AgentSpec | null,
): AgentState => ({
  ...EMPTY_SESSION,
  summary,
  run: run === null ? null : newRun(run, []),
});

/** Reads records one after the other. The caller keeps what each adds; a `session_reset` voids everything before it. */
export class HistoryReader {
  readonly #ids: IdSource;
  #rest: Rest;
  /** After the last record; `null`: none was read. */
  #state: AgentState | null = null;

  constructor(ids: IdSource, rest: Rest) {
    this.#ids = ids;
    this.#rest = rest;
  }

  /** All except the lists, in its present state. */
  get rest(): Rest {
    if (this.#state === null) return this.#rest;
    const { summary: _, ...rest } = this.#rest;
    const { summary } = this.#state;
    return summary === null ? rest : { ...rest, summary };
  }

  read(applied: Applied): Reading {
    const { record } = applied;
    this.#state = applied.after;
    if (record.type === "session_state_changed") this.#rest = { ...this.#rest, state: record.state };
    if (record.type === "session_reset") this.#rest = { ...this.#rest, assets: [] };
    const { entries, trace, warnings } = readingOf(applied);
    // The turn's messages already show its end.
    const notes = trace.flatMap(({ kind, ...metadata }): Entry[] =>
      kind === "TurnEnd" ? [] : [{ type: "note", kind, metadata }],
    );
    return { ...this.#lists([...entries, ...notes]), trace, warnings };
  }

  /** Results of an incomplete turn, and messages that no run has read. */
  waiting(): Lists {
    const left = this.#state === null ? [] : leftMessages(this.#state);
    return this.#lists(left.map((message) => ({ type: "message", message })));
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
  const reader = new HistoryReader(ids, rest);
  const all: Lists = { messages: [...messages], events: [...events] };
  const trace: TraceEntry[] = [];
  const warnings = new Map<string, Warning>();
  for (const applied of fold(records, stateBefore(rest, run))) {
    const added = reader.read(applied);
    if (applied.record.type === "session_reset") [all.messages, all.events] = [[], []];
    all.messages.push(...added.messages);
    all.events.push(...added.events);
    trace.push(...added.trace);
    for (const warning of added.warnings) warnings.set(warning.message, warning);
  }
  return { transcript: { ...reader.rest, ...all }, trace, warnings: [...warnings.values()] };
}
