/**
 * The stream of an Anthropic message: the provider's own events if it uses this protocol, otherwise events made from
 * text, reasoning and the finished turn. It redacts secrets in texts, even if they arrive in pieces.
 */
import { wellFormedJson } from "../../bytes.ts";
import type { Block, ModelTurn } from "../../engine/messages.ts";
import {
  emptyMessage,
  shownBlocks,
  stopDetails,
  wireBlock,
  wireUsage,
} from "../../llm/anthropic-api/answer.ts";
import { anthropicStop } from "../../llm/stop-words.ts";
import { type JoinedText, joined } from "../../model/whole-characters.ts";
import type { Sink } from "../../model/wire.ts";
import { DeltaText, textOf } from "../../run/delta.ts";
import { isObject, objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";

/** Members of deltas that contain a piece of a longer text. */
const PIECES = ["text", "thinking", "partial_json"] as const;

type Emit = (event: JsonObject) => void;

export class MessageEvents {
  readonly #model: string;
  readonly #out: RedactedEvents;
  /** Whether the provider's own events are passed on. */
  #own = false;
  #begun = false;
  /** Whether text or reasoning of the current turn has been sent. */
  #streamed = false;
  /** Number of the next block. */
  #next = 0;
  #open: "text" | "thinking" | null = null;

  /** @param model of the message, until the provider names it */
  constructor(model: string, context: RequestContext, emit: Emit) {
    this.#model = model;
    this.#out = new RedactedEvents(context, emit);
  }

  readonly sink: Sink = {
    onEvent: (event) => {
      this.#own = true;
      this.#out.push(event);
    },
    onText: (text) => this.#piece("text", { type: "text_delta", text }),
    onReasoning: (thinking) => this.#piece("thinking", { type: "thinking_delta", thinking }),
  };

  /**
   * Sends the rest of the turn, and the end.
   * @param excludesCached as of `wireUsage`
   * @param more additional members of the message, unless the events are the provider's own
   */
  finish(turn: ModelTurn, excludesCached: boolean, more: object): void {
    if (this.#own) return;
    this.rest(turn.blocks);
    const further = objectOf({ stop_details: stopDetails(turn), ...more });
    this.end(anthropicStop(turn), objectOf({ ...wireUsage(turn.usage, excludesCached) }), null, further);
  }

  /**
   * Sends the parts of a turn that were not streamed: all but text and reasoning; everything if nothing was streamed.
   * @param calls whether its calls are among them; otherwise each is sent on its own
   */
  rest(blocks: readonly Block[], { calls = true } = {}): void {
    this.#begin();
    const streamed = this.#streamed;
    this.#close();
    this.#streamed = false;
    const shown = shownBlocks(blocks, streamed ? "text first" : "in order");
    for (const block of shown) {
      if (block.type === "tool_call" && !calls) continue;
      if (!streamed) this.#whole(block);
      else if (block.type !== "output_text") this.#rest(block);
    }
  }

  /** Sends a whole block at once. */
  block(block: JsonObject): void {
    this.#begin();
    this.#close();
    this.#start(block);
    this.#stop();
  }

  /** @param further additional members of the message */
  end(stop_reason: string, usage: JsonObject, container: JsonObject | null, further: JsonObject = {}): void {
    this.#begin();
    this.#close();
    const delta = { container, stop_details: null, stop_reason, stop_sequence: null, ...further };
    this.#out.push({ type: "message_delta", context_management: null, delta, usage });
    this.#out.push({ type: "message_stop" });
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#out.push({ type: "message_start", message: objectOf(emptyMessage(this.#model)) });
  }

  #piece(kind: "text" | "thinking", delta: JsonObject): void {
    if (this.#own) return;
    this.#begin();
    this.#streamed = true;
    if (this.#open !== kind) {
      this.#close();
      this.#start(
        kind === "text"
          ? { type: kind, text: "", citations: null }
          : { type: kind, thinking: "", signature: "" },
      );
      this.#open = kind;
    }
    this.#delta(delta);
  }

  /** Sends the part of a block that was not streamed: a provider's own form of its reasoning. */
  #rest(block: Block): void {
    if (block.type === "reasoning" || block.type === "reasoning_summary") {
      if (block.native !== undefined) this.#whole({ ...block, text: "" }, "redacted_thinking");
    } else this.#whole(block);
  }

  #whole(block: Block, as?: "redacted_thinking"): void {
    const shown = objectOf(wireBlock(block));
    if (as !== undefined) this.#start({ type: as, data: shown.signature ?? "" });
    else if (shown.type === "tool_use") {
      this.#start({ ...shown, input: {} });
      this.#delta({ type: "input_json_delta", partial_json: wellFormedJson(shown.input) });
    } else if (shown.type === "text") {
      this.#start({ ...shown, text: "" });
      this.#delta({ type: "text_delta", text: shown.text ?? "" });
    } else if (shown.type === "thinking") {
      this.#start({ ...shown, thinking: "", signature: "" });
      this.#delta({ type: "thinking_delta", thinking: shown.thinking ?? "" });
      this.#delta({ type: "signature_delta", signature: shown.signature ?? "" });
    } else this.#start(shown);
    this.#stop();
  }

  #start(content_block: JsonObject): void {
    this.#out.push({ type: "content_block_start", index: this.#next, content_block });
  }

  #delta(delta: JsonObject): void {
    this.#out.push({ type: "content_block_delta", index: this.#next, delta });
  }

  #stop(): void {
    this.#out.push({ type: "content_block_stop", index: this.#next });
    this.#next += 1;
  }

  /** Thinking ends with its signature, as Anthropic's does: clients wait for it even if it is empty. */
  #close(): void {
    if (this.#open === "thinking") this.#delta({ type: "signature_delta", signature: "" });
    if (this.#open !== null) this.#stop();
    this.#open = null;
  }
}

/** Passes the provider's events on, without secrets. */
class RedactedEvents {
  readonly #context: RequestContext;
  readonly #emit: Emit;
  /** The text of each open block, by its index. */
  readonly #texts = new Map<number, JoinedText>();
  /** For each open block: makes an event like the last one that held a piece of the block's text. */
  readonly #forms = new Map<number, (text: string) => JsonObject>();

  constructor(context: RequestContext, emit: Emit) {
    this.#context = context;
    this.#emit = emit;
  }

  push(event: JsonObject): void {
    const { type, index, delta } = event;
    if (typeof index === "number" && type === "content_block_delta" && isObject(delta)) {
      const member = PIECES.find((name) => typeof delta[name] === "string");
      if (member !== undefined) {
        this.#forms.set(index, (text) => ({ ...event, delta: { ...delta, [member]: text } }));
        this.#streamOf(index).push(String(delta[member]));
        return;
      }
    }
    // The block's held-back text must precede what follows the block.
    if (typeof index === "number") {
      this.#texts.get(index)?.end();
      this.#texts.delete(index);
    }
    this.#emit(objectOf(this.#context.redacted(event)));
  }

  #streamOf(index: number): JoinedText {
    const known = this.#texts.get(index);
    if (known !== undefined) return known;
    const deltas = new DeltaText(this.#context.settings.eventRedactor, async (piece) => {
      const form = this.#forms.get(index);
      if (form !== undefined) this.#emit(form(textOf(piece)));
    });
    const whole = joined((text) => void deltas.pushText(text));
    const end = (): void => {
      whole.end();
      void deltas.end();
    };
    const made = { push: whole.push, end };
    this.#texts.set(index, made);
    return made;
  }
}
