/**
 * The stream of a chat completion: chunks for text and reasoning as they arrive, and the rest when the turn is complete.
 */
import { type ModelTurn, refusalOf } from "../../engine/messages.ts";
import {
  type CompletionHead,
  completionHead,
  completionUsage,
  sentBack,
  type WireChunk,
  wireCalls,
} from "../../llm/openai-api/answer.ts";
import { openAiStop } from "../../llm/stop-words.ts";
import { announce } from "../../model/exchange.ts";
import type { Sink } from "../../model/wire.ts";
import { AnswerText, textOf } from "../../run/delta.ts";
import { formatEvent } from "../../run/events.ts";
import type { RequestContext } from "../context.ts";
import { errorBody } from "./errors.ts";
import { streamedAnswer } from "./model-call.ts";

type Choice = WireChunk["choices"][number];

class ChatChunks {
  readonly #head: CompletionHead;
  readonly #context: RequestContext;
  readonly #emit: (chunk: unknown) => void;
  readonly #usage: boolean;
  readonly #answer: AnswerText;
  #begun = false;
  #spoke = false;

  /** @param usage whether the last chunk reports the usage; the other chunks then have `usage: null` */
  constructor(
    model: string,
    context: RequestContext,
    { usage, emit }: { usage: boolean; emit: (chunk: unknown) => void },
  ) {
    this.#usage = usage;
    this.#head = completionHead(model, Date.now());
    this.#context = context;
    this.#emit = emit;
    this.#answer = new AnswerText(context.settings.eventRedactor, async (kind, piece) =>
      this.#delta(kind === "delta" ? { content: textOf(piece) } : { reasoning_content: textOf(piece) }),
    );
  }

  readonly sink: Sink = {
    onText: (text) => {
      this.#spoke = true;
      this.#answer.push("delta", text);
    },
    onReasoning: (text) => {
      this.#spoke = true;
      this.#answer.push("thought", text);
    },
  };

  /**
   * Sends the rest of the turn, and the end.
   * @param further members of the chunk that ends the answer
   */
  finish(turn: ModelTurn, { excludesCached, further }: { excludesCached: boolean; further: object }): void {
    if (!this.#spoke) announce(turn, this.sink);
    void this.#answer.end();
    const reasoning = sentBack(turn.blocks);
    if (reasoning.reasoning_details !== undefined) this.#delta(reasoning);
    const refusal = refusalOf(turn.blocks);
    if (refusal !== null) this.#delta({ refusal });
    for (const [index, call] of wireCalls(turn.blocks).entries()) {
      this.#delta({ tool_calls: [{ index, ...call }] });
    }
    this.#choice({}, openAiStop(turn), further);
    if (this.#usage) this.#chunk([], { usage: completionUsage(turn.usage, excludesCached) });
  }

  #delta(delta: Choice["delta"]): void {
    this.#choice(delta, null);
  }

  #choice(delta: Choice["delta"], finish_reason: Choice["finish_reason"], further: object = {}): void {
    const whole = this.#begun ? delta : { role: "assistant" as const, content: "", ...delta };
    this.#begun = true;
    this.#chunk([{ index: 0, delta: whole, finish_reason, logprobs: null }], further);
  }

  #chunk(choices: Choice[], more: object = {}): void {
    const usage = this.#usage ? { usage: null } : {};
    const chunk: WireChunk = { ...this.#head, object: "chat.completion.chunk", choices, ...usage };
    this.#emit(this.#context.redacted({ ...chunk, ...more }));
  }
}

/**
 * Answers with the chunks of a completion.
 * @param run makes its turn; what it writes itself are whole events
 */
export const chunkedAnswer = (
  context: RequestContext,
  { model, usage, headers }: { model: string; usage: boolean; headers: Record<string, string> },
  run: (chunks: ChatChunks, signal: AbortSignal, write: (event: string) => void) => Promise<void>,
): Promise<Response> =>
  streamedAnswer(context, {
    headers,
    async run(write, signal) {
      const emit = (chunk: unknown): void => write(formatEvent(chunk));
      await run(new ChatChunks(model, context, { usage, emit }), signal, write);
      write("data: [DONE]\n\n");
    },
    failed: (error) => formatEvent(errorBody(error, context, "openai")),
  });
