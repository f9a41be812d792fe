/** Folds the events of a streamed Anthropic answer into the message that an unstreamed call would have given. */
import * as z from "zod/mini";
import { ProviderBadResponse } from "../errors/provider.ts";
import type { ServerSentEvent } from "./sse.ts";
import {
  parseJson,
  providerWords,
  readShape,
  type Sink,
  type StreamReader,
  type WireTarget,
} from "./wire.ts";

const typedShape = z.lazy(() => z.looseObject({ type: z.string() }));

/** Events and deltas that are not listed here carry nothing that Hull reads. */
const eventShape = z.lazy(() => {
  const index = z.int().check(z.nonnegative(), z.maximum(10_000));
  const usage = z.nullish(z.record(z.string(), z.unknown()));
  return z.discriminatedUnion("type", [
    z.object({ type: z.literal("message_start"), message: z.looseObject({ usage }) }),
    z.object({ type: z.literal("content_block_start"), index, content_block: typedShape }),
    z.object({ type: z.literal("content_block_delta"), index, delta: typedShape }),
    z.object({
      type: z.literal("message_delta"),
      delta: z.object({ stop_reason: z.nullish(z.string()) }),
      usage,
    }),
    z.object({ type: z.literal("message_stop") }),
  ]);
});
const EVENT_TYPES = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "message_delta",
  "message_stop",
]);

interface OpenBlock {
  value: Record<string, unknown>;
  /** The input's JSON text so far; `null` until a fragment came. */
  input: string | null;
}

export function createAnthropicStream(target: WireTarget, sink: Sink): StreamReader {
  const { provider } = target;
  const broken = (reason: string, words = {}) => new ProviderBadResponse({ provider, reason, ...words });
  let head: Record<string, unknown> = {};
  let tokens: Record<string, unknown> = {};
  let stopReason: string | null = null;
  let complete = false;
  const blocks: OpenBlock[] = [];

  const applyDelta = (open: OpenBlock, delta: Record<string, unknown>): void => {
    const text = (key: string): string => (typeof delta[key] === "string" ? delta[key] : "");
    switch (delta.type) {
      case "text_delta":
        append(open.value, "text", text("text"));
        if (text("text") !== "") sink.onText?.(text("text"));
        break;
      case "thinking_delta":
        append(open.value, "thinking", text("thinking"));
        if (text("thinking") !== "") sink.onReasoning?.(text("thinking"));
        break;
      case "signature_delta":
        open.value.signature = text("signature");
        break;
      case "input_json_delta":
        open.input = (open.input ?? "") + text("partial_json");
        break;
      case "citations_delta":
        open.value.citations = [...list(open.value.citations), delta.citation];
        break;
      default:
        mergeDelta(open.value, delta);
    }
  };

  return {
    push(event: ServerSentEvent): boolean {
      const data = parseJson(event.data);
      if (data === undefined) throw broken("an event of its stream is not JSON");
      const type = readShape(typedShape, data, provider).type;
      if (type === "error") throw broken("its stream holds an error event", providerWords(data));
      if (!EVENT_TYPES.has(type)) return false;
      const e = readShape(eventShape, data, provider);
      switch (e.type) {
        case "message_start": {
          head = e.message;
          tokens = { ...e.message.usage };
          return false;
        }
        case "content_block_start":
          blocks[e.index] = { value: { ...e.content_block }, input: null };
          openText(e.content_block, sink);
          return false;
        case "content_block_delta": {
          const open = blocks[e.index];
          if (open === undefined) throw broken("its stream continues a block that it never began");
          applyDelta(open, e.delta);
          return false;
        }
        case "message_delta":
          stopReason = e.delta.stop_reason ?? stopReason;
          for (const [key, value] of Object.entries(e.usage ?? {})) {
            if (value !== null) tokens[key] = value;
          }
          return false;
        case "message_stop":
          complete = true;
          return true;
      }
    },
    answer() {
      if (!complete) throw broken("its stream was cut off");
      const content = blocks.flatMap((open) => (open === undefined ? [] : [closeBlock(open)]));
      return { ...head, content, stop_reason: stopReason, usage: tokens };
    },
  };
}

/** A block may begin with text of its own before the first delta. */
function openText(started: Record<string, unknown>, sink: Sink): void {
  if (started.type === "text" && typeof started.text === "string" && started.text !== "") {
    sink.onText?.(started.text);
  }
}

/** Puts the collected input in place: parsed, or as text where it is not JSON. */
function closeBlock(open: OpenBlock): Record<string, unknown> {
  if (open.input === null || open.input.trim() === "") return open.value;
  return { ...open.value, input: parseJson(open.input) ?? open.input };
}

/** A kind of delta that Hull does not know: text grows, any other value is replaced. */
function mergeDelta(value: Record<string, unknown>, delta: Record<string, unknown>): void {
  for (const [key, item] of Object.entries(delta)) {
    if (key === "type") continue;
    if (typeof item === "string" && typeof value[key] === "string") append(value, key, item);
    else value[key] = item;
  }
}

function append(value: Record<string, unknown>, key: string, text: string): void {
  const before = value[key];
  value[key] = (typeof before === "string" ? before : "") + text;
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
