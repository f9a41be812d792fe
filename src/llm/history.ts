/** The transcript that a session's records tell (agent-runtime.md §12.3). Pure. */

import { joinedSummary } from "../engine/agent/compaction.ts";
import type { AgentRecord } from "../engine/agent/records.ts";
import { feedbackMessage } from "../engine/agent/texts.ts";
import type { Message, ToolCallBlock, ToolResultMessage } from "../engine/messages.ts";
import { extraEvent, type IdSource, type Transcript, turnEvents, withMessages } from "./transcript.ts";

/** The transcript with what these records add to it. */
export function withRecords(start: Transcript, records: Iterable<AgentRecord>, ids: IdSource): Transcript {
  let transcript = start;
  let open: { effect: string; call: ToolCallBlock; result: ToolResultMessage | null }[] = [];
  let iteration = 0;
  const add = (...messages: Message[]): void => {
    transcript = withMessages(transcript, messages, ids);
  };
  const note = (kind: string, metadata: Record<string, unknown>): void => {
    const event = extraEvent(kind, { role: "system", visibility: "internal", text: "", metadata }, ids);
    transcript = { ...transcript, events: [...transcript.events, event] };
  };
  const settle = (effect: string, content: string, is_error: boolean): void => {
    open = open.map((item) =>
      item.effect === effect
        ? { ...item, result: { call_id: item.call.id, name: item.call.name, content, is_error } }
        : item,
    );
    const results = open.flatMap(({ result }) => (result === null ? [] : [result]));
    if (results.length === 0 || results.length < open.length) return;
    add({ role: "tool", results });
    open = [];
  };
  for (const record of records) {
    switch (record.type) {
      case "message_added":
      case "message_received":
        add(record.message);
        break;
      case "session_reset":
        transcript = { ...transcript, messages: [], events: [], assets: [] };
        note("transcript_reset", {});
        break;
      case "session_trimmed":
        note("trim", { keep_last: record.keep_last });
        break;
      case "run_started":
        add(...record.spec.prompt);
        break;
      case "iteration_started":
        iteration = record.iteration;
        break;
      case "model_call_settled":
        transcript = { ...transcript, events: [...transcript.events, ...turnEvents(record.turn, ids)] };
        break;
      case "turn_taken":
        if (record.message !== null) add(record.message);
        open = record.calls.map((call, n) => ({ effect: `tool-${iteration}-${n}`, call, result: null }));
        break;
      case "tool_settled":
      case "skill_loaded":
        settle(record.effect, record.result.content, record.result.status !== "ok");
        break;
      case "tool_searched":
        for (const data of record.events) note(String(data.type), data);
        settle(record.effect, record.result, false);
        break;
      case "client_tool_answered": {
        const answered = open.find(({ call, result }) => call.id === record.call_id && result === null);
        if (answered !== undefined) settle(answered.effect, record.content, record.is_error);
        break;
      }
      case "feedback_added": {
        const { kind, content } = record.feedback;
        if (kind === "prefill_assistant") break;
        const text = kind === "nudge" ? content : feedbackMessage(kind, content);
        add({ role: "user", content: [{ type: "text", text }] });
        break;
      }
      case "compacted": {
        const { summary, ...metadata } = record.compacted;
        transcript = { ...transcript, summary: joinedSummary(transcript.summary, summary) };
        note("compaction", metadata);
        break;
      }
      case "skills_matched": {
        const { strategy, iteration: at, reassess, candidates } = record;
        note("skill_matched", { strategy, iteration: at, reassess, candidates });
        break;
      }
      case "woke": {
        const { reason, watch_paths, resumed, messages } = record.wake;
        note("daemon_wake", { reason, watch_paths, resumed });
        add(...messages);
        break;
      }
      default:
        break;
    }
  }
  return transcript;
}
