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

  /** Passes on an event after all text that came before it; rounds are numbered by the model's answers. */
  async tell(event: RunEvent): Promise<void> {
    await this.end();
    await this.#emit(event);
    if (event.event === "round") this.#open(this.#round + 1);
  }

  async end(): Promise<void> {
    await this.#text.end();
    await this.#thought.end();
  }

  async #restart(attempt: number): Promise<void> {
    await this.end();
    this.#open(attempt);
    await this.#emit({ event: "round", data: { round: attempt, restarted: true } });
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
