/** The transcript that a session's records tell (agent-runtime.md §12.3). Pure. */
import { joinedSummary } from "../engine/agent/compaction.ts";
import type { AgentRecord, Delivery, Feedback, SessionState } from "../engine/agent/records.ts";
import { clientResult, clientTools } from "../engine/agent/settle-call.ts";
import type { AgentSpec } from "../engine/agent/spec.ts";
import { feedbackMessage, interruptedCall } from "../engine/agent/texts.ts";
import { goesThroughHooks } from "../engine/agent/tool-hooks.ts";
import { Tracer } from "../engine/agent/trace.ts";
import type { Message, Part, ToolCallBlock, ToolResultMessage } from "../engine/messages.ts";
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

const SOON: readonly Delivery[] = ["interrupt_immediate", "finish_step"];
const ALL: readonly Delivery[] = [...SOON, "wait_for_completion"];

/**
 * The transcript with what these records add to it.
 * @param run of the run in whose midst they may begin
 */
export function withRecords(
  start: Transcript,
  records: Iterable<AgentRecord>,
  ids: IdSource,
  run: AgentSpec | null = null,
): Transcript {
  const { messages, events, ...rest } = start;
  const reader = new HistoryReader(ids, rest, run);
  const all = { messages: [...messages], events: [...events] };
  for (const record of records) {
    const added = reader.read(record);
    if (record.type === "session_reset") [all.messages, all.events] = [[], []];
    all.messages.push(...added.messages);
    all.events.push(...added.events);
  }
  return { ...reader.rest, ...all };
}

/** A transcript without its two long lists. */
type Rest = Omit<Transcript, "messages" | "events">;

interface OpenCall {
  effect: string;
  call: ToolCallBlock;
  result: ToolResultMessage | null;
  /** What it shows beside its text. */
  parts: Part[];
  /** The id of the approval that it was put to somebody by. */
  approval: string | null;
  /** What becomes of it where the run ends without its result. */
  left: string;
}

/** Reads records one after the other. What one adds is the caller's to keep; a `session_reset` voids what came before it. */
export class HistoryReader {
  readonly #ids: IdSource;
  #rest: Rest;
  #added: Pick<Transcript, "messages" | "events"> = { messages: [], events: [] };
  #open: OpenCall[] = [];
  #spec: AgentSpec | null = null;
  /** What came from outside and has not been taken in, as in the fold. */
  #waiting: { message: Message; delivery: Delivery }[] = [];
  #received: Feedback[] = [];
  readonly #tracer = new Tracer();
  #iteration = 0;

  /** @param run of the run in whose midst the records may begin */
  constructor(ids: IdSource, rest: Rest, run: AgentSpec | null = null) {
    this.#ids = ids;
    this.#rest = rest;
    this.#spec = run;
  }

  /** All but the lists, as it is by now. */
  get rest(): Rest {
    return this.#rest;
  }

  /** What a record adds to the lists. */
  read(record: AgentRecord): Pick<Transcript, "messages" | "events"> {
    this.#added = { messages: [], events: [] };
    const traced = this.#tracer.entries(record);
    this.#take(record);
    // The end of a turn is told by its messages.
    for (const { kind, ...metadata } of traced) if (kind !== "TurnEnd") this.#note(kind, metadata);
    return this.#added;
  }

  /** What comes of results whose turn lacks others, and of messages that nobody has taken in so far. */
  waiting(): Pick<Transcript, "messages" | "events"> {
    this.#added = { messages: [], events: [] };
    this.#open = this.#open.filter(({ result }) => result !== null);
    this.#tellResults();
    this.#takeIn(ALL);
    return this.#added;
  }

  #take(record: AgentRecord): void {
    switch (record.type) {
      case "message_added":
        this.#add(record.message);
        break;
      case "message_received":
        this.#waiting.push({ message: record.message, delivery: record.delivery });
        break;
      case "session_imported":
        this.#add(...record.messages);
        if (record.summary !== null) this.#rest = { ...this.#rest, summary: record.summary };
        break;
      case "session_state_changed":
        this.#rest = { ...this.#rest, state: record.state };
        this.#note(STATE_EVENTS[record.state], {});
        break;
      case "session_reset":
        this.#rest = { ...withoutSummary(this.#rest), assets: [] };
        [this.#waiting, this.#received] = [[], []];
        this.#note("transcript_reset", {});
        break;
      case "session_trimmed":
        this.#note("trim", { keep_last: record.keep_last });
        break;
      case "run_started":
        this.#spec = record.spec;
        this.#takeIn(ALL);
        this.#add(...record.spec.prompt);
        break;
      case "iteration_started":
        this.#iteration = record.iteration;
        this.#takeIn(SOON);
        for (const feedback of this.#received.splice(0)) this.#tell(feedback);
        break;
      case "run_settled":
        // Calls that the run left open.
        for (const { effect, result, left } of this.#open)
          if (result === null) this.#settle(effect, left, true);
        this.#takeIn(["wait_for_completion"]);
        break;
      case "model_call_settled":
        this.#added.events.push(...turnEvents(record.turn, this.#ids));
        break;
      case "turn_taken":
        if (record.message !== null) this.#add(record.message);
        this.#open = record.calls.map((call, n) => ({
          effect: `tool-${this.#iteration}-${n}`,
          call,
          result: null,
          parts: [],
          approval: null,
          left: interruptedCall(this.#isClients(call.name)),
        }));
        break;
      case "tools_started":
        for (const { effect } of record.calls) this.#change(effect, { left: interruptedCall(true) });
        break;
      case "tool_executed":
        this.#change(record.effect, { left: record.result.content, parts: record.result.parts ?? [] });
        break;
      case "approval_requested":
        this.#change(record.effect, { approval: record.request.id, left: interruptedCall(false) });
        break;
      case "approval_decided": {
        const asked = this.#open.find(({ approval }) => approval === record.approval);
        if (asked === undefined) break;
        this.#change(asked.effect, { left: interruptedCall(this.#isClients(asked.call.name)) });
        break;
      }
      case "tool_settled":
        this.#change(record.effect, { parts: record.result.parts ?? [] });
        this.#settle(record.effect, record.result.content, record.result.status !== "ok");
        break;
      case "skill_loaded":
      case "ledger_updated":
        this.#settle(record.effect, record.result.content, record.result.status !== "ok");
        break;
      case "tool_searched":
        for (const data of record.events) this.#note(String(data.type), data);
        this.#settle(record.effect, record.result, false);
        break;
      case "client_tool_answered": {
        const answered = this.#open.find(({ call, result }) => call.id === record.call_id && result === null);
        if (answered === undefined) break;
        if (this.#spec !== null && goesThroughHooks(this.#spec, answered.call.name, clientResult(record)))
          this.#change(answered.effect, { left: record.content });
        else this.#settle(answered.effect, record.content, record.is_error);
        break;
      }
      case "feedback_received":
        this.#received.push(record.feedback);
        break;
      case "feedback_added":
        this.#tell(record.feedback);
        break;
      case "compacted": {
        const { summary, ...metadata } = record.compacted;
        this.#rest = { ...this.#rest, summary: joinedSummary(this.#rest.summary, summary) };
        this.#note("compaction", metadata);
        break;
      }
      case "skills_matched": {
        const { strategy, iteration, reassess, candidates } = record;
        const matched = {
          strategy,
          iteration,
          reassess,
          candidates,
          working_files: this.#spec?.working_files ?? [],
        };
        this.#note("skill_matched", matched);
        break;
      }
      case "woke": {
        const { reason, watch_paths, resumed, messages, feedback } = record.wake;
        this.#note("daemon_wake", { reason, watch_paths, resumed });
        this.#takeIn(SOON);
        this.#add(...messages);
        if (feedback !== null) this.#tell(feedback);
        break;
      }
      default:
        break;
    }
  }

  #add(...messages: Message[]): void {
    const piece = withMessages(emptyTranscript(""), messages, this.#ids);
    this.#added.messages.push(...piece.messages);
    this.#added.events.push(...piece.events);
  }

  /** Messages are told where the model reads them, so that none stands between a call and its result. */
  #takeIn(deliveries: readonly Delivery[]): void {
    const taken = this.#waiting.filter(({ delivery }) => deliveries.includes(delivery));
    if (taken.length === 0) return;
    this.#waiting = this.#waiting.filter((item) => !taken.includes(item));
    this.#add(...taken.map(({ message }) => message));
  }

  #isClients(tool: string): boolean {
    return this.#spec !== null && clientTools(this.#spec).has(tool);
  }

  #note(kind: string, metadata: Record<string, unknown>): void {
    const of = { role: "system", visibility: "internal" as const, text: "", metadata };
    this.#added.events.push(extraEvent(kind, of, this.#ids));
  }

  #tell({ kind, content }: Feedback): void {
    if (kind === "prefill_assistant") return;
    const text = kind === "nudge" ? content : feedbackMessage(kind, content);
    this.#add({ role: "user", content: [{ type: "text", text }] });
  }

  #change(effect: string, changes: Partial<OpenCall>): void {
    this.#open = this.#open.map((item) => (item.effect === effect ? { ...item, ...changes } : item));
  }

  #settle(effect: string, content: string, is_error: boolean): void {
    this.#open = this.#open.map((item) =>
      item.effect === effect
        ? { ...item, result: { call_id: item.call.id, name: item.call.name, content, is_error } }
        : item,
    );
    if (this.#open.every(({ result }) => result !== null)) this.#tellResults();
  }

  #tellResults(): void {
    const results = this.#open.flatMap(({ result }) => (result === null ? [] : [result]));
    if (results.length === 0) return;
    this.#add({ role: "tool", results });
    const parts = this.#open.flatMap((item) => item.parts);
    if (parts.length > 0) this.#add({ role: "user", content: parts });
    this.#open = [];
  }
}

function withoutSummary<T extends { summary?: string }>({ summary: _, ...rest }: T): Omit<T, "summary"> {
  return rest;
}
