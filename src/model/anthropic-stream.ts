/** Folds the events of a streamed Anthropic answer into the message of an unstreamed call. */

import type { HullError } from "../errors.ts";
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
export class AnthropicStream implements StreamReader {
  readonly #target: WireTarget;
  readonly #sink: Sink;
  readonly #keep: (piece: string) => string;
  readonly #output: (piece: string) => string;
  #head: JsonObject = {};
  #tokens: JsonObject = {};
  #stopReason: Json = null;
  #complete = false;
  /** In the order in which they began. */
  readonly #blocks: OpenBlock[] = [];
  /** The last block of each index: some servers give all blocks the same. */
  readonly #byIndex = new Map<Json | undefined, OpenBlock>();
  /** The blocks with their inputs parsed, once all events have arrived. */
  readonly #closed = once((): ClosedBlock[] =>
    this.#blocks.map(({ value, input: text }) => ({
      value,
      text,
      input: text === null ? undefined : parsedJson(text),
    })),
  );

  constructor(target: WireTarget, sink: Sink) {
    this.#target = target;
    this.#sink = sink;
    this.#keep = lengthLimit(target);
    this.#output = heardOutput(sink, this.#keep);
  }

  push(received: StreamEvent): boolean {
    const event = eventObject(received, this.#target);
    this.#sink.onEvent?.(event);
    switch (event.type) {
      case "content_block_delta":
        this.#grow(event);
        return false;
      case "content_block_start":
        this.#open(event);
        return false;
      case "message_start":
        this.#begin(event);
        return false;
      case "message_delta":
        this.#finish(event);
        return false;
      case "message_stop":
        this.#complete = true;
        return true;
      default:
        if (typeof event.type !== "string") throw this.#broken("an event");
        return false;
    }
  }

  answer(): JsonObject {
    if (!this.#complete) throw cutOff(this.#target, "its stream was cut off");
    const content = this.#closed().map(blockOf);
    return { ...this.#head, content, stop_reason: this.#stopReason, usage: this.#tokens };
  }

  text(): string {
    return `{"content":[${this.#closed().map(inputText).join(",")}]}`;
  }

  #begin({ message }: JsonObject): void {
    if (!isObject(message)) throw this.#broken("the beginning");
    if (this.#blocks.length > 0 && message.id !== this.#head.id) {
      throw cutOff(this.#target, "another message begins in its stream");
    }
    this.#head = { ...message };
    this.#tokens = { ...objectOf(message.usage) };
    this.#sink.onUsage?.(readUsage(this.#tokens));
  }

  #open({ index, content_block: block }: JsonObject): void {
    if (!isObject(block) || typeof block.type !== "string") throw this.#broken("a block");
    if (this.#blocks.length === MAX_BLOCKS) throw this.#broken("the number of blocks");
    const begun = { value: { ...block }, input: null };
    this.#blocks.push(begun);
    this.#byIndex.set(index, begun);
    // A block may begin with text before the first delta.
    if (block.type === "text") this.#say(textIn(block, "text"));
    if (block.type === "thinking") this.#think(textIn(block, "thinking"));
  }

  #grow({ index, delta }: JsonObject): void {
    const open = this.#byIndex.get(index);
    if (open === undefined || !isObject(delta)) throw this.#broken("a delta");
    switch (delta.type) {
      case "text_delta":
        append(open.value, "text", this.#say(textIn(delta, "text")));
        break;
      case "thinking_delta":
        append(open.value, "thinking", this.#think(textIn(delta, "thinking")));
        break;
      case "signature_delta":
        open.value.signature = this.#keep(textIn(delta, "signature"));
        break;
      case "input_json_delta":
        open.input = (open.input ?? "") + this.#output(textIn(delta, "partial_json"));
        break;
      case "citations_delta":
        if (Array.isArray(open.value.citations)) open.value.citations.push(delta.citation ?? null);
        else open.value.citations = [delta.citation ?? null];
        break;
      default:
        mergeDelta(open.value, delta, this.#keep);
    }
  }

  #finish({ delta, usage }: JsonObject): void {
    const { stop_reason, stop_details, container } = objectOf(delta);
    this.#stopReason = stop_reason ?? this.#stopReason;
    if (isObject(stop_details)) this.#head.stop_details = stop_details;
    if (isObject(container)) this.#head.container = container;
    for (const [key, value] of Object.entries(objectOf(usage))) {
      // Some servers send 0 at the end for what they counted at the beginning.
      const counts = typeof value !== "number" || value > 0 || key === "output_tokens";
      if (value !== null && (counts || this.#tokens[key] === undefined)) this.#tokens[key] = value;
    }
    this.#sink.onUsage?.(readUsage(this.#tokens));
  }

  #say(text: string): string {
    if (this.#keep(text) !== "") this.#sink.onText?.(text);
    return text;
  }

  #think(text: string): string {
    if (this.#keep(text) !== "") this.#sink.onReasoning?.(text);
    return text;
  }

  #broken(what: string): HullError {
    return unusable(this.#target, `${what} of its stream is not as documented`);
  }
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
