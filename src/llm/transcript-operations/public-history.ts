/** Messages in their public form, which compaction reads and rewrites. Pure. */
import { isSummary, type Line, linesOf, messageLength } from "../../engine/agent/compaction.ts";
import type { CutItem, Span } from "../../engine/agent/compaction-cut.ts";
import { type PublicMessage, readMessages } from "../messages.ts";
import {
  type IdSource,
  isMessageEvent,
  messageEvent,
  type Transcript,
  type TranscriptEvent,
} from "../transcript.ts";

/** A message with the facts that compaction needs. */
export interface Measured {
  item: CutItem;
  lines: Line[];
  characters: number;
}

/**
 * The messages with what compaction needs. System messages are never archived: they become the system text.
 * @throws InvalidRequest
 */
export function measured(messages: readonly PublicMessage[]): Measured[] {
  // Reports the faults of each message under its own position, and finds the tools of the results.
  const whole = readMessages(messages).messages;
  const names = new Map<string, string>();
  for (const message of whole) {
    if (message.role !== "assistant") continue;
    for (const block of message.content) if (block.type === "tool_call") names.set(block.id, block.name);
  }
  return messages.map((message) => {
    const { system, messages: own } = readMessages([named(message, names)]);
    const summary = own.length > 0 && own.every(isSummary);
    const fixed = message.role === "system";
    return {
      item: { role: own[0]?.role ?? message.role, fresh: !fixed && !summary },
      lines: fixed ? [] : own.flatMap(linesOf),
      characters: [...own.map(messageLength), ...system.map(({ length }) => length)].reduce(
        (sum, length) => sum + length,
        0,
      ),
    };
  });
}

function named(message: PublicMessage, names: ReadonlyMap<string, string>): PublicMessage {
  if (message.role !== "tool" || message.name !== undefined) return message;
  const name = names.get(message.tool_call_id);
  return name === undefined ? message : { ...message, name };
}

/** The part of a list that a span archives. */
export function archivedIn<T>(messages: readonly PublicMessage[], list: readonly T[], span: Span): T[] {
  return list.filter((_, at) => goes(messages[at], at, span));
}

const goes = (message: PublicMessage | undefined, at: number, { start, end }: Span): boolean =>
  at >= start && at < end && message?.role !== "system";

const summaryMessage = (text: string): PublicMessage => ({ role: "user", content: text });

/** The messages with a summary instead of a span. */
export function rewritten(messages: readonly PublicMessage[], span: Span, text: string): PublicMessage[] {
  const before = messages.slice(0, span.end).filter((message, at) => !goes(message, at, span));
  return [...before, summaryMessage(text), ...messages.slice(span.end)];
}

/** The same for a transcript: the events of its messages change with them, all other events stay. */
export function rewrittenTranscript(
  transcript: Transcript,
  span: Span,
  text: string,
  ids: IdSource,
): Transcript {
  const messages = rewritten(transcript.messages, span, text);
  const inserted = messageEvent(summaryMessage(text), ids);
  return { ...transcript, messages, events: rewrittenEvents(transcript, span, inserted, ids) };
}

function rewrittenEvents(
  { messages, events }: Transcript,
  span: Span,
  inserted: TranscriptEvent,
  ids: IdSource,
): TranscriptEvent[] {
  const others = events.filter((event) => !isMessageEvent(event));
  const complete = events.length - others.length === messages.length;
  const all = complete ? events : [...messages.map((message) => messageEvent(message, ids)), ...others];
  const result: TranscriptEvent[] = [];
  let at = 0;
  for (const event of all) {
    if (!isMessageEvent(event)) {
      result.push(event);
      continue;
    }
    if (at === span.end) result.push(inserted);
    if (!goes(messages[at], at, span)) result.push(event);
    at++;
  }
  if (span.end >= messages.length) result.push(inserted);
  return result;
}
