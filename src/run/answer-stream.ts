/** What watchers of a model call or run see of its answers while they come. */
import type { CallWatcher } from "../llm/host.ts";
import type { RunContext } from "./context.ts";
import { DeltaText } from "./delta.ts";
import type { RunEvent } from "./events.ts";

/** Passes on text and reasoning as they come, with secrets cut out across pieces. Rounds count from 1. */
export class AnswerStream {
  readonly #context: RunContext;
  readonly #emit: (event: RunEvent) => Promise<void>;
  #round = 1;
  /** The text of this round; `null`: nothing has come. */
  #text: DeltaText<RunEvent> | null = null;
  #thought: DeltaText<RunEvent> | null = null;

  constructor(context: RunContext, emit: (event: RunEvent) => Promise<void>) {
    this.#context = context;
    this.#emit = emit;
  }

  get watcher(): CallWatcher {
    return {
      onText: (text) => {
        this.#text ??= this.#make("delta");
        void this.#text.pushText(text);
      },
      onReasoning: (text) => {
        this.#thought ??= this.#make("thought");
        void this.#thought.pushText(text);
      },
      onRestart: (round) => void this.#restart(round),
    };
  }

  /** Makes the model call of a round. All of its text has been sent when the call ends. */
  async during<T>(round: number, call: () => Promise<T>): Promise<T> {
    this.#open(round);
    try {
      return await call();
    } finally {
      await this.end();
    }
  }

  async end(): Promise<void> {
    await Promise.all([this.#text?.end(), this.#thought?.end()]);
  }

  /** Declares void what was sent of this round so far. */
  async #restart(round: number): Promise<void> {
    const ended = this.end();
    this.#open(round);
    await Promise.all([ended, this.#emit({ event: "round", data: { round, restarted: true } })]);
  }

  #open(round: number): void {
    this.#round = round;
    this.#text = null;
    this.#thought = null;
  }

  #make(event: "delta" | "thought"): DeltaText<RunEvent> {
    const round = this.#round;
    return new DeltaText<RunEvent>(this.#context.settings.eventRedactor, this.#emit, (piece) => ({
      event,
      data: { ...piece, round },
    }));
  }
}
