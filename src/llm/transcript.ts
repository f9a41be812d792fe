/** Transcripts: a conversation with the events that explain how it came about. */

import * as z from "zod/mini";
import { type Block, type Message, type ModelTurn, textOfBlocks } from "../engine/messages.ts";
import { objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { parseErrorArguments, VISIBILITY, type Visibility } from "./blocks.ts";
import { messageJson, messageShape, type PublicMessage } from "./messages.ts";

const json = () => z.custom<Json>();
const maybe = z.exactOptional;

/** `messages` as in requests; all other members travel unchanged. */
export const transcriptShape = z.lazy(() =>
  z.strictObject({
    _type: z.literal("transcript"),
    version: z.literal(2),
    id: z.string(),
    messages: z.array(messageShape),
    /** The messages that the next model call receives; absent: `messages`. */
    visible_messages: maybe(z.array(messageShape)),
    events: z.array(z.looseObject({ id: z.string(), kind: z.string() })),
    assets: z.array(json()),
    summary: maybe(z.string()),
    metadata: maybe(z.record(z.string(), json())),
    state: maybe(z.string()),
    /** Messages that a summary replaced. */
    archived_messages: maybe(z.int().check(z.nonnegative())),
  }),
);
export type Transcript = z.infer<typeof transcriptShape>;
export type TranscriptEvent = Transcript["events"][number];

/** Makes event and transcript ids: UUIDs of version 7, so that ids sort by time. */
export type IdSource = () => string;

export function emptyTranscript(id: string): Transcript {
  return { _type: "transcript", version: 2, id, messages: [], events: [], assets: [] };
}

/** The transcript with further messages, each with its event. */
export function withMessages(
  transcript: Transcript,
  messages: readonly Message[],
  ids: IdSource,
): Transcript {
  return withPublic(transcript, messages.flatMap(messageJson), ids);
}

/** The same for messages in their public form. */
export function withPublic(
  transcript: Transcript,
  added: readonly PublicMessage[],
  ids: IdSource,
): Transcript {
  const { visible_messages: seen } = transcript;
  return {
    ...transcript,
    messages: [...transcript.messages, ...added],
    ...(seen === undefined ? {} : { visible_messages: [...seen, ...added] }),
    events: [...transcript.events, ...added.map((message) => messageEvent(message, ids))],
  };
}

/** The transcript after a model's turn: its message, the provider's report on it, and its reasoning. */
export function withTurn(transcript: Transcript, turn: ModelTurn, ids: IdSource): Transcript {
  const message: Message = { role: "assistant", content: turn.blocks };
  const extended = withMessages(transcript, [message], ids);
  return { ...extended, events: [...extended.events, ...turnEvents(turn, ids)] };
}

/** An event that belongs to no message. */
export function extraEvent(
  kind: string,
  of: { role: string; visibility: Visibility; text: string; metadata?: Record<string, unknown> },
  ids: IdSource,
): TranscriptEvent {
  const { role, visibility, text, metadata } = of;
  return { id: ids(), kind, role, visibility, text, blocks: [], ...(metadata ? { metadata } : {}) };
}

/** Whether an event is that of a message; every message has one. */
export const isMessageEvent = ({ kind }: TranscriptEvent): boolean =>
  kind === "message" || kind === "tool_result";

/** The event of a message. */
export function messageEvent(message: PublicMessage, ids: IdSource): TranscriptEvent {
  const tool = message.role === "tool";
  const blocks = message.role === "assistant" ? assistantBlocks(message) : contentBlocks(message);
  return {
    id: ids(),
    kind: tool ? "tool_result" : "message",
    role: message.role,
    visibility: tool ? "internal" : "public",
    text: textOf(message),
    blocks,
    ...(tool
      ? { metadata: { tool_call_id: message.tool_call_id, is_error: message.is_error ?? false } }
      : {}),
  };
}

/** The blocks of a message that a client wrote: its parts and its calls. */
function assistantBlocks(message: PublicMessage & { role: "assistant" }): unknown[] {
  const { blocks, tool_calls = [] } = message;
  if (blocks !== undefined) return blocks;
  const calls = tool_calls.map((call) => ({ type: "tool_call", ...call, visibility: VISIBILITY.tool_call }));
  return [...contentBlocks(message), ...calls];
}

function contentBlocks({ content }: PublicMessage): unknown[] {
  return Array.isArray(content) ? content : [];
}

/** The text of a message, without media. */
function textOf({ content }: PublicMessage): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content))
    return content === null || content === undefined ? "" : JSON.stringify(content);
  const parts: unknown[] = content;
  const texts = parts.map((part) => objectOf(part).text);
  return texts.filter((text) => typeof text === "string").join("\n\n");
}

/** The events of a turn besides that of its message. */
export function turnEvents(turn: ModelTurn, ids: IdSource): TranscriptEvent[] {
  const reasoning = textOfBlocks(turn.blocks, "reasoning");
  const summary = textOfBlocks(turn.blocks, "reasoning_summary");
  const { model, usage } = turn;
  const payload = {
    model,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    tool_calls: calledTools(turn.blocks),
    ...(summary === "" ? {} : { thinking_summary: summary }),
  };
  const role = "assistant";
  const thoughts = Object.entries({ private_reasoning: reasoning, thinking_summary: summary });
  return [
    extraEvent("provider_payload", { role, visibility: "internal", text: "", metadata: payload }, ids),
    ...thoughts
      .filter(([, text]) => text !== "")
      .map(([kind, text]) => extraEvent(kind, { role, visibility: "private", text }, ids)),
  ];
}

/** The tool calls of a turn, as results and transcripts show them. */
export function calledTools(blocks: readonly Block[]): { id: string; name: string; arguments: JsonObject }[] {
  return blocks.flatMap((block) =>
    block.type === "tool_call"
      ? [{ id: block.id, name: block.name, arguments: block.arguments ?? parseErrorArguments(block.raw) }]
      : [],
  );
}

/** A new id. */
export const newId: IdSource = () => uuidV7(Date.now(), crypto.randomUUID());

/**
 * A UUID of version 7 (RFC 9562 §5.7). @param now Unix ms @param random a UUID of version 4, whose random bits it takes
 */
export function uuidV7(now: number, random: string): string {
  const time = Math.floor(now).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}
