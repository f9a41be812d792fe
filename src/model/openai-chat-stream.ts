/** Folds the chunks of a streamed chat completion into the document of an unstreamed call. */
import type { HullError } from "../errors.ts";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import type { StreamEvent } from "./frames.ts";
import { contentTexts, refuseError } from "./openai-chat-answer.ts";
import { CallFold } from "./openai-chat-calls.ts";
import { detailsText, mergeDetails } from "./openrouter-reasoning.ts";
import { cutOff, eventObject, heardOutput, lengthLimit, textIn, unusable } from "./provider-document.ts";
import { type ThinkSplitter, thinkSplitter } from "./think-tags.ts";
import { readUsage } from "./usage.ts";
import type { Sink, StreamReader, WireTarget } from "./wire.ts";

/** Checks by hand the parts of each chunk that it reads: there is one chunk per token. */
export class OpenAiStream implements StreamReader {
  readonly #target: WireTarget;
  readonly #sink: Sink;
  readonly #keep: (piece: string) => string;
  readonly #calls: CallFold;
  readonly #splitter: ThinkSplitter;
  #model: Json = null;
  #content = "";
  #refusal = "";
  #reasoning = "";
  readonly #details: JsonObject[] = [];
  #finishReason: Json = null;
  #usage: JsonObject | null = null;
  #answered = false;
  #complete = false;
  /** What the sink received. Reasoning is kept only while it may still have to be sent as text. */
  #spoke = false;
  #thoughts = "";

  constructor(target: WireTarget, sink: Sink) {
    this.#target = target;
    this.#sink = sink;
    this.#keep = lengthLimit(target);
    this.#calls = new CallFold(heardOutput(sink, this.#keep), (what) => this.#odd(what));
    this.#splitter = thinkSplitter({
      onText: (text) => {
        this.#spoke = true;
        sink.onText?.(text);
      },
      onReasoning: (text) => this.#think(text),
    });
  }

  push(event: StreamEvent): boolean {
    if (event.data === "[DONE]" || event.data.trim() === "[DONE]") {
      this.#complete = true;
      return true;
    }
    const { model, usage, choices } = eventObject(event, this.#target);
    if (typeof model === "string") this.#model ??= model;
    this.#count(usage);
    if (choices === undefined || choices === null) return false;
    if (!Array.isArray(choices)) throw this.#odd("a chunk");
    // Hull asks for one answer. Portkey, in front of Cohere, sends each block of it as a choice of its own.
    const [choice] = choices;
    if (choice === undefined) return false;
    if (!isObject(choice)) throw this.#odd("a choice");
    this.#choose(choice);
    return false;
  }

  answer(): object {
    if (!this.#complete || !this.#answered) throw cutOff(this.#target, "its stream was cut off");
    this.#splitter.end();
    const tool_calls = this.#calls.list();
    const silent = !this.#spoke && tool_calls.length === 0 && this.#refusal === "";
    if (silent && this.#thoughts.trim() !== "") this.#sink.onText?.(this.#thoughts);
    const message = {
      content: this.#content,
      refusal: this.#refusal,
      reasoning_content: this.#reasoning,
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
      tool_calls,
    };
    const choices = [{ message, finish_reason: this.#finishReason }];
    return { model: this.#model, choices, usage: this.#usage };
  }

  #choose(choice: JsonObject): void {
    refuseError(choice, this.#target);
    this.#answered = true;
    // Moonshot's place for it.
    this.#count(choice.usage);
    if (typeof choice.finish_reason === "string" && choice.finish_reason !== "") {
      this.#finishReason = choice.finish_reason;
      this.#complete = true;
    }
    // A server that cannot stream may send its whole message as one event.
    const delta = choice.delta ?? choice.message;
    if (isObject(delta)) this.#grow(delta);
    else if (delta !== undefined && delta !== null) throw this.#odd("a delta");
  }

  #grow(delta: JsonObject): void {
    const pieces = Array.isArray(delta.reasoning_details) ? delta.reasoning_details : [];
    if (pieces.length > 0) mergeDetails(this.#details, pieces, this.#keep);
    if (isObject(delta.content)) throw this.#odd("a delta");
    const said = contentTexts(delta.content);
    const thought =
      textIn(delta, "reasoning_content") || textIn(delta, "reasoning") || detailsText(pieces) || said.thought;
    if (thought !== "") {
      this.#reasoning += this.#keep(thought);
      this.#think(thought);
    }
    if (said.text !== "") {
      this.#content += this.#keep(said.text);
      this.#splitter.push(said.text);
    }
    this.#refusal += this.#keep(textIn(delta, "refusal"));
    this.#calls.take(delta.tool_calls);
  }

  #think(text: string): void {
    if (!this.#spoke) this.#thoughts += text;
    this.#sink.onReasoning?.(text);
  }

  #count(more: Json | undefined): void {
    if (!isObject(more)) return;
    // Some servers send it with every chunk, so it grows in place.
    this.#usage = Object.assign(this.#usage ?? {}, more);
    this.#sink.onUsage?.(readUsage(this.#usage));
  }

  #odd(what: string): HullError {
    return unusable(this.#target, `${what} of its stream is not as documented`);
  }
}
