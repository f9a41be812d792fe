/** What watchers of a model call or run see of its answers while they come. */
import type { CallWatcher } from "../llm/host.ts";
import type { RunContext } from "./context.ts";
import { AnswerText } from "./delta.ts";
import type { RunEvent } from "./events.ts";

/** Sends text and reasoning as they arrive. Redacts secrets even if they span several pieces. Rounds count from 1. */
export class AnswerStream {
  readonly #context: RunContext;
  readonly #emit: (event: RunEvent) => Promise<void>;
  #round = 1;
  /** The answer of this round; `null`: nothing has arrived. */
  #answer: AnswerText | null = null;

  constructor(context: RunContext, emit: (event: RunEvent) => Promise<void>) {
    this.#context = context;
    this.#emit = emit;
  }

  get watcher(): CallWatcher {
    return {
      onText: (text) => this.#open().push("delta", text),
      onReasoning: (text) => this.#open().push("thought", text),
      onRestart: (round) => void this.#restart(round),
    };
  }

  /** Makes the model call of a round. All of its text has been sent when the call ends. */
  async during<T>(round: number, call: () => Promise<T>): Promise<T> {
    this.#begin(round);
    try {
      return await call();
    } finally {
      await this.end();
    }
  }

  async end(): Promise<void> {
    await this.#answer?.end();
  }

  /** Tells clients to discard what was sent of this round. */
  async #restart(round: number): Promise<void> {
    const ended = this.end();
    this.#begin(round);
    await Promise.all([ended, this.#emit({ event: "round", data: { round, restarted: true } })]);
  }

  #begin(round: number): void {
    this.#round = round;
    this.#answer = null;
  }

  #open(): AnswerText {
    const round = this.#round;
    this.#answer ??= new AnswerText(this.#context.settings.eventRedactor, (event, piece) =>
      this.#emit({ event, data: { ...piece, round } }),
    );
    return this.#answer;
  }
}
