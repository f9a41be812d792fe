/** What watchers of a model call or run are told while it goes on. */
import type { CallWatcher } from "../llm/host.ts";
import type { RunContext } from "./context.ts";
import { DeltaText } from "./delta.ts";
import type { RunEvent } from "./events.ts";

/** Hands on text and reasoning as they come, secrets cut out across pieces. */
export class Teller {
  readonly #context: RunContext;
  readonly #emit: (event: RunEvent) => Promise<void>;
  #round = 0;
  #text: DeltaText;
  #thought: DeltaText;

  constructor(context: RunContext, emit: (event: RunEvent) => Promise<void>) {
    this.#context = context;
    this.#emit = emit;
    this.#text = this.#make("delta");
    this.#thought = this.#make("thought");
  }

  get watcher(): CallWatcher {
    return {
      onText: (text) => void this.#text.pushText(text),
      onReasoning: (text) => void this.#thought.pushText(text),
      onRestart: (attempt) => void this.#restart(attempt),
    };
  }

  /**
   * Passes on an event after all text that came before it; rounds are numbered by the model's answers. Nobody need wait for
   * it: what is said next belongs to the next round at once.
   */
  async tell(event: RunEvent): Promise<void> {
    const ended = this.end();
    if (event.event === "round") this.#open(this.#round + 1);
    await Promise.all([ended, this.#emit(event)]);
  }

  async end(): Promise<void> {
    await Promise.all([this.#text.end(), this.#thought.end()]);
  }

  async #restart(attempt: number): Promise<void> {
    const ended = this.end();
    this.#open(attempt);
    await Promise.all([ended, this.#emit({ event: "round", data: { round: attempt, restarted: true } })]);
  }

  #open(round: number): void {
    this.#round = round;
    this.#text = this.#make("delta");
    this.#thought = this.#make("thought");
  }

  #make(event: "delta" | "thought"): DeltaText {
    return new DeltaText(event, this.#context.settings.toldRedactor, this.#emit, { round: this.#round });
  }
}
