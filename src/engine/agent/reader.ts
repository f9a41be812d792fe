/**
 * Reads records one after the other with the one fold: what each adds to the transcript, to the trace and to the
 * warnings. The caller keeps the messages, so a log may exceed the memory.
 */
import type { Warning } from "../messages.ts";
import { applyAgentRecord } from "./apply.ts";
import { type Entry, entriesLeft, entriesOf } from "./entries.ts";
import type { AgentRecord } from "./records.ts";
import { bindingWarnings } from "./skill-servers.ts";
import type { AgentSpec } from "./spec.ts";
import { type AgentState, EMPTY_SESSION, newRun } from "./state.ts";
import { type TraceEntry, traceEntries } from "./trace.ts";

interface Reading {
  entries: Entry[];
  trace: TraceEntry[];
  warnings: readonly Warning[];
}

export class RecordReader {
  /** Without the messages that were read. */
  #state: AgentState;

  /**
   * @param summary of the history before the records; `null`: nothing
   * @param run the run that is under way where the records begin
   */
  constructor(summary: string | null, run: AgentSpec | null = null) {
    this.#state = { ...EMPTY_SESSION, summary, run: run === null ? null : newRun(run, []) };
  }

  /** The summary of what compaction took out of the conversation; `null`: nothing. */
  get summary(): string | null {
    return this.#state.summary;
  }

  read(record: AgentRecord): Reading {
    const before = this.#state;
    const after = applyAgentRecord(before, record);
    this.#state = { ...after, visible: [] };
    const applied = { record, before, after };
    return { entries: entriesOf(applied), trace: traceEntries(applied), warnings: warningsOf(record) };
  }

  /** The entries at the end, if no further record comes. */
  left(): Entry[] {
    return entriesLeft(this.#state).map((message) => ({ type: "message", message }));
  }
}

function warningsOf(record: AgentRecord): readonly Warning[] {
  switch (record.type) {
    case "run_started":
      return record.spec.warnings ?? [];
    case "model_call_settled":
    case "search_refused":
    case "skills_matched":
      return record.warnings;
    case "skill_mcp_bound":
      return bindingWarnings(record);
    default:
      return [];
  }
}
