/** Folds the events of a streamed Anthropic answer into the message of an unstreamed call. */

import { once } from "../memo.ts";
import { isObject, objectOf, textOf } from "../skill/json.ts";
import { parsedJson } from "../skill/json-depth.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import type { StreamEvent } from "./frames.ts";
import { cutOff, eventObject, heardOutput, lengthLimit, textIn, unusable } from "./provider-document.ts";
import { readUsage } from "./usage.ts";
import type { Sink, StreamReader, WireTarget } from "./wire.ts";

/** The most blocks of one message. */
const MAX_BLOCKS = 10_000;

interface OpenBlock {
  value: JsonObject;
  /** The input's JSON text so far; `null` until a fragment comes. */
  input: string | null;
}

interface ClosedBlock {
  value: JsonObject;
  /** The input's JSON text, and its value if it is JSON. */
  text: string | null;
  input: Json | undefined;
}

/** Checks by hand the parts of each event that it reads: there may be one event per token. */
export function createAnthropicStream(target: WireTarget, sink: Sink): StreamReader {
  const broken = (what: string) => unusable(target, `${what} of its stream is not as documented`);
  const keep = lengthLimit(target);
  const output = heardOutput(sink, keep);
  let head: JsonObject = {};
  let tokens: JsonObject = {};
  let stopReason: Json = null;
  let complete = false;
  /** In the order in which they began. */
  const blocks: OpenBlock[] = [];
  /** The last block of each index: some servers give all blocks the same. */
  const byIndex = new Map<Json | undefined, OpenBlock>();
  /** The blocks with their inputs parsed, once all events have arrived. */
  const closed = once((): ClosedBlock[] =>
    blocks.map(({ value, input: text }) => ({
      value,
      text,
      input: text === null ? undefined : parsedJson(text),
    })),
  );

  const applyDelta = (open: OpenBlock, delta: JsonObject): void => {
    switch (delta.type) {
      case "text_delta": {
        const text = keep(textIn(delta, "text"));
        append(open.value, "text", text);
        if (text !== "") sink.onText?.(text);
        break;
      }
      case "thinking_delta": {
        const text = keep(textIn(delta, "thinking"));
        append(open.value, "thinking", text);
        if (text !== "") sink.onReasoning?.(text);
        break;
      }
      case "signature_delta":
        open.value.signature = keep(textIn(delta, "signature"));
        break;
      case "input_json_delta":
        open.input = (open.input ?? "") + output(textIn(delta, "partial_json"));
        break;
      case "citations_delta":
        if (Array.isArray(open.value.citations)) open.value.citations.push(delta.citation ?? null);
        else open.value.citations = [delta.citation ?? null];
        break;
      default:
        mergeDelta(open.value, delta, keep);
    }
  };

  return {
    push(received: StreamEvent): boolean {
      const event = eventObject(received, target);
      sink.onEvent?.(event);
      switch (event.type) {
        case "content_block_delta": {
          const open = byIndex.get(event.index);
          if (open === undefined) throw broken("a delta");
          if (!isObject(event.delta)) throw broken("a delta");
          applyDelta(open, event.delta);
          return false;
        }
        case "content_block_start": {
          const { content_block } = event;
          if (!isObject(content_block) || typeof content_block.type !== "string") throw broken("a block");
          if (blocks.length === MAX_BLOCKS) throw broken("the number of blocks");
          const begun = { value: { ...content_block }, input: null };
          blocks.push(begun);
          byIndex.set(event.index, begun);
          // A block may begin with text before the first delta.
          const text = content_block.type === "text" ? textIn(content_block, "text") : "";
          if (text !== "") sink.onText?.(keep(text));
          const thought = content_block.type === "thinking" ? textIn(content_block, "thinking") : "";
          if (thought !== "") sink.onReasoning?.(keep(thought));
          return false;
        }
        case "message_start":
          if (!isObject(event.message)) throw broken("the beginning");
          if (blocks.length > 0 && event.message.id !== head.id) {
            throw cutOff(target, "another message begins in its stream");
          }
          head = event.message;
          tokens = isObject(head.usage) ? { ...head.usage } : {};
          sink.onUsage?.(readUsage(tokens));
          return false;
        case "message_delta": {
          const delta = objectOf(event.delta);
          stopReason = delta.stop_reason ?? stopReason;
          if (isObject(delta.stop_details)) head = { ...head, stop_details: delta.stop_details };
          if (isObject(delta.container)) head = { ...head, container: delta.container };
          for (const [key, value] of Object.entries(objectOf(event.usage))) {
            // Some servers send 0 at the end for what they counted at the beginning.
            const counts = typeof value !== "number" || value > 0 || key === "output_tokens";
            if (value !== null && (counts || tokens[key] === undefined)) tokens[key] = value;
          }
          sink.onUsage?.(readUsage(tokens));
          return false;
        }
        case "message_stop":
          complete = true;
          return true;
        default:
          if (typeof event.type !== "string") throw broken("an event");
          return false;
      }
    },
    answer() {
      if (!complete) throw cutOff(target, "its stream was cut off");
      return { ...head, content: closed().map(blockOf), stop_reason: stopReason, usage: tokens };
    },
    text() {
      return `{"content":[${closed().map(inputText).join(",")}]}`;
    },
  };
}

/** The collected input, if it is JSON. */
const inputText = ({ text, input }: ClosedBlock): string =>
  `{"input":${text === null || input === undefined ? "null" : text}}`;

/** Stores the collected input: parsed, or as text if it is not JSON. */
function blockOf({ value, text, input }: ClosedBlock): JsonObject {
  if (text === null || text.trim() === "") return value;
  return { ...value, input: input ?? text };
}

/** Merges a kind of delta that Hull does not know: text grows, any other value is replaced. */
function mergeDelta(value: JsonObject, delta: JsonObject, keep: (piece: string) => string): void {
  for (const [key, item] of Object.entries(delta)) {
    if (key === "type") continue;
    if (typeof item === "string" && typeof value[key] === "string") append(value, key, keep(item));
    else value[key] = item;
  }
}

function append(value: JsonObject, key: string, text: string): void {
  value[key] = textOf(value[key]) + text;
}
