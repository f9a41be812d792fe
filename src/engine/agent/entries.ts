/** What a record adds to the transcript of its session: messages, and notes between them. Pure. */
import type { JsonObject } from "../../skill/manifest.ts";
import type { Message, ModelTurn } from "../messages.ts";
import type { SearchEvent } from "../tool-vault/events.ts";
import type { Applied } from "./apply.ts";
import type { SessionState } from "./records.ts";
import type { AgentState, OpenCall } from "./state.ts";

export type Entry =
  | { type: "message"; message: Message }
  /** A model's turn: what its provider reported in addition to the message. */
  | { type: "turn"; turn: ModelTurn }
  | { type: "note"; kind: string; metadata: JsonObject };

/** The transcript's word for the change into a state. */
const STATE_NOTES: Record<SessionState, string> = {
  active: "transcript_resume",
  archived: "transcript_archive",
  abandoned: "transcript_abandon",
  closed: "transcript_close",
};

/** The entries in their order. */
export function entriesOf(applied: Applied): Entry[] {
  const { record, before } = applied;
  switch (record.type) {
    case "session_state_changed":
      return [note(STATE_NOTES[record.state], {})];
    case "session_reset":
      return [note("transcript_reset", {})];
    case "session_trimmed":
      return [note("trim", { keep_last: record.keep_last })];
    case "model_call_settled":
      return [{ type: "turn", turn: record.turn }, ...searches(record.searches ?? [])];
    case "compacted": {
      const { summary: _, ...metadata } = record.compacted;
      return [note("compaction", metadata)];
    }
    case "skill_invoked":
      return [];
    case "skills_matched": {
      const { strategy, iteration, reassess, candidates } = record;
      const working_files = before.run?.spec.working_files ?? [];
      const named = candidates.map(({ name, score, reason }) => ({ name, score, reason }));
      const matched = { strategy, iteration: iteration + 1, reassess, candidates: named, working_files };
      return [note("skill_matched", matched)];
    }
    case "tool_searched":
      return [...searches(record.events), ...added(applied)];
    case "woke": {
      const { reason, watch_paths, resumed } = record.wake;
      return [note("daemon_wake", { reason, watch_paths, resumed }), ...added(applied)];
    }
    default:
      return added(applied);
  }
}

const note = (kind: string, metadata: JsonObject): Entry => ({ type: "note", kind, metadata });

const searches = (events: readonly SearchEvent[]): Entry[] =>
  events.map((event) => note(event.type, { ...event }));

/** The messages that the record added to the visible history, with the whole results of tools. */
function added({ before, after }: Applied): Entry[] {
  const messages = after.visible.slice(before.visible.length);
  if (messages.length === 0) return [];
  const calls = after.run?.calls.length === 0 ? before.run?.calls : after.run?.calls;
  return messages.map((message) => ({ type: "message", message: wholeResults(message, calls ?? []) }));
}

/** A model may see less of a result than there was. */
function wholeResults(message: Message, calls: readonly OpenCall[]): Message {
  if (message.role !== "tool") return message;
  const results = message.results.map((result) => {
    const open = calls.find(({ call, stage }) => call.id === result.call_id && stage === "settled");
    return open?.result == null ? result : { ...result, content: open.result.content };
  });
  return { role: "tool", results };
}

/** The end of a transcript: results of a turn that lacks others, and messages that the run has not taken in. */
export function entriesLeft({ run, waiting }: AgentState): Message[] {
  const results = (run?.stage === "tools" ? run.calls : []).flatMap(({ call, stage, result }) =>
    stage === "settled" && result !== null
      ? [{ call_id: call.id, name: call.name, content: result.content, is_error: result.status !== "ok" }]
      : [],
  );
  const finished: Message[] = results.length === 0 ? [] : [{ role: "tool", results }];
  return [...finished, ...waiting.map(({ message }) => message)];
}
