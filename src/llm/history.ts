/** The transcript that a session's records tell (agent-runtime.md §12.3). Pure. */
import { joinedSummary } from "../engine/agent/compaction.ts";
import type { AgentRecord, Feedback, SessionState } from "../engine/agent/records.ts";
import { clientTools } from "../engine/agent/settle-call.ts";
import { feedbackMessage, interruptedCall } from "../engine/agent/texts.ts";
import { Tracer } from "../engine/agent/trace.ts";
import type { Message, ToolCallBlock, ToolResultMessage } from "../engine/messages.ts";
import {
  emptyTranscript,
  extraEvent,
  type IdSource,
  type Transcript,
  turnEvents,
  withMessages,
} from "./transcript.ts";

/** What a transcript calls the change into a state (§12.4). */
const STATE_EVENTS: Record<SessionState, string> = {
  active: "transcript_resume",
  archived: "transcript_archive",
  abandoned: "transcript_abandon",
  closed: "transcript_close",
};

/** The transcript with what these records add to it. */
export function withRecords(start: Transcript, records: Iterable<AgentRecord>, ids: IdSource): Transcript {
  const { messages, events, ...given } = start;
  /** All but its two long lists, which grow in place. */
  let rest = given;
  const all = { messages: [...messages], events: [...events] };
  let open: { effect: string; call: ToolCallBlock; result: ToolResultMessage | null }[] = [];
  const received: Feedback[] = [];
  const tracer = new Tracer();
  let iteration = 0;
  let working_files: readonly string[] = [];
  /** Of the current turn: calls that were begun, and results that hooks may have been about to rewrite. */
  const [begun, executed] = [new Set<string>(), new Map<string, string>()];
  let clients: ReadonlySet<string> = new Set();
  const unapproved = new Map<string, string>();
  const isBegun = (effect: string, { name }: ToolCallBlock): boolean =>
    begun.has(effect) || (clients.has(name) && ![...unapproved.values()].includes(effect));
  const add = (...added: Message[]): void => {
    const piece = withMessages(emptyTranscript(""), added, ids);
    all.messages.push(...piece.messages);
    all.events.push(...piece.events);
  };
  const note = (kind: string, metadata: Record<string, unknown>): void => {
    const event = extraEvent(kind, { role: "system", visibility: "internal", text: "", metadata }, ids);
    all.events.push(event);
  };
  const tell = ({ kind, content }: Feedback): void => {
    if (kind === "prefill_assistant") return;
    const text = kind === "nudge" ? content : feedbackMessage(kind, content);
    add({ role: "user", content: [{ type: "text", text }] });
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
    const traced = tracer.entries(record);
    switch (record.type) {
      case "message_added":
      case "message_received":
        add(record.message);
        break;
      case "session_imported":
        add(...record.messages);
        if (record.summary !== null) rest = { ...rest, summary: record.summary };
        break;
      case "session_state_changed":
        rest = { ...rest, state: record.state };
        note(STATE_EVENTS[record.state], {});
        break;
      case "session_reset":
        all.messages = [];
        all.events = [];
        rest = { ...withoutSummary(rest), assets: [] };
        note("transcript_reset", {});
        break;
      case "session_trimmed":
        note("trim", { keep_last: record.keep_last });
        break;
      case "run_started":
        working_files = record.spec.working_files;
        clients = clientTools(record.spec);
        add(...record.spec.prompt);
        break;
      case "iteration_started":
        iteration = record.iteration;
        for (const feedback of received.splice(0)) tell(feedback);
        break;
      case "run_settled":
        // Calls that the run left open.
        for (const { effect, call, result } of open) {
          if (result === null)
            settle(effect, executed.get(effect) ?? interruptedCall(isBegun(effect, call)), true);
        }
        break;
      case "model_call_settled":
        all.events.push(...turnEvents(record.turn, ids));
        break;
      case "tools_started":
        for (const { effect } of record.calls) begun.add(effect);
        break;
      case "approval_requested":
        unapproved.set(record.request.id, record.effect);
        break;
      case "approval_decided":
        unapproved.delete(record.approval);
        break;
      case "tool_executed":
        executed.set(record.effect, record.result.content);
        break;
      case "turn_taken":
        begun.clear();
        unapproved.clear();
        executed.clear();
        if (record.message !== null) add(record.message);
        open = record.calls.map((call, n) => ({ effect: `tool-${iteration}-${n}`, call, result: null }));
        break;
      case "tool_settled":
      case "skill_loaded":
      case "ledger_updated":
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
      case "feedback_received":
        received.push(record.feedback);
        break;
      case "feedback_added":
        tell(record.feedback);
        break;
      case "compacted": {
        const { summary, ...metadata } = record.compacted;
        rest = { ...rest, summary: joinedSummary(rest.summary, summary) };
        note("compaction", metadata);
        break;
      }
      case "skills_matched": {
        const { strategy, iteration: at, reassess, candidates } = record;
        note("skill_matched", { strategy, iteration: at, reassess, candidates, working_files });
        break;
      }
      case "woke": {
        const { reason, watch_paths, resumed, messages, feedback } = record.wake;
        note("daemon_wake", { reason, watch_paths, resumed });
        add(...messages);
        if (feedback !== null) tell(feedback);
        break;
      }
      default:
        break;
    }
    // The end of a turn is told by its messages.
    for (const { kind, ...metadata } of traced) if (kind !== "TurnEnd") note(kind, metadata);
  }
  return { ...rest, ...all };
}

function withoutSummary<T extends { summary?: string }>({ summary: _, ...rest }: T): Omit<T, "summary"> {
  return rest;
}
