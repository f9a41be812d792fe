/** Views of transcripts: their events, as text, and counted. Pure. */
import * as z from "zod/mini";
import { count, type Shaped } from "../../answer-shape.ts";
import { isObject, textOf } from "../../skill/json.ts";
import type { PublicMessage } from "../messages.ts";
import {
  emptyTranscript,
  type IdSource,
  isMessageEvent,
  messageEvent,
  type Transcript,
  type TranscriptEvent,
  withPublic,
} from "../transcript.ts";

/** A transcript of these messages, with their events. */
export function fromMessages(messages: readonly PublicMessage[], ids: IdSource): Transcript {
  return withPublic(emptyTranscript(ids()), messages, ids);
}

/** All events. If the transcript has no events of its messages, they are created. */
export function eventsOf(transcript: Transcript, ids: IdSource): TranscriptEvent[] {
  const { messages, events } = transcript;
  if (events.some(isMessageEvent)) return events;
  return [...messages.map((message) => messageEvent(message, ids)), ...events];
}

/** Lines `role: text` of the public events. */
export function renderVisible(events: readonly TranscriptEvent[]): string {
  return events
    .filter((event) => event.visibility === "public" && textOf(event.text) !== "")
    .map((event) => `${textOf(event.role)}: ${textOf(event.text)}`)
    .join("\n");
}

/** Lines `[visibility] role: text` of all events; an event without text shows its calls, or its kind. */
export function renderFull(events: readonly TranscriptEvent[]): string {
  return events
    .map((event) => {
      const said = [textOf(event.text), ...callsIn(event.blocks)].filter((part) => part !== "").join("\n");
      const shown = said === "" ? `(${event.kind})` : said;
      return `[${textOf(event.visibility)}] ${textOf(event.role)}: ${shown}`;
    })
    .join("\n");
}

function callsIn(blocks: unknown): string[] {
  const calls = (Array.isArray(blocks) ? blocks : []).filter(isObject);
  return calls.flatMap(({ type, name, arguments: args }) =>
    type === "tool_call" && typeof name === "string"
      ? [`(calls ${name} with ${JSON.stringify(args ?? {})})`]
      : [],
  );
}

type Stats = Shaped<typeof statsShape>;
export const statsShape = () =>
  z.object({
    message_count: count(),
    user_facing_message_count: count(),
    tool_result_message_count: count(),
    tool_call_count: count(),
    assistant_message_count: count(),
    user_message_count: count(),
    visible_event_count: count(),
  });

/** User-facing are the messages of user and assistant without tool results; visible are the public events. */
export function statsOf(messages: readonly PublicMessage[], events: readonly TranscriptEvent[]): Stats {
  const results = messages.filter(holdsResults).length;
  const by = (role: PublicMessage["role"]): number =>
    messages.filter((message) => message.role === role && !holdsResults(message)).length;
  const [user, assistant] = [by("user"), by("assistant")];
  return {
    message_count: messages.length,
    user_facing_message_count: user + assistant,
    tool_result_message_count: results,
    tool_call_count: messages.reduce((sum, message) => sum + callCount(message), 0),
    assistant_message_count: assistant,
    user_message_count: user,
    visible_event_count: events.filter(({ visibility }) => visibility === "public").length,
  };
}

/** Whether a message contains results of tools: by its role, or in parts of a user's message. */
function holdsResults({ role, content }: PublicMessage): boolean {
  if (role === "tool") return true;
  return role === "user" && Array.isArray(content) && content.some(({ type }) => type === "tool_result");
}

function callCount(message: PublicMessage): number {
  if (message.role !== "assistant") return 0;
  const { blocks, tool_calls } = message;
  return blocks === undefined
    ? (tool_calls ?? []).length
    : blocks.filter(({ type }) => type === "tool_call").length;
}
