/** The text and reasoning of one answer as events, in the order of arrival. */
import type { Redactor } from "../redact.ts";
import { DeltaText, type Piece } from "./delta.ts";

/** `delta`: text of the answer; `thought`: reasoning. */
type AnswerKind = "delta" | "thought";

/**
 * The redactor holds back what could be the beginning of a secret. When the answer switches between text and reasoning,
 * this class first sends the rest of the previous kind, since nothing can complete the secret any more.
 */
export class AnswerText<Event> {
  readonly #redactor: Redactor;
  readonly #emit: (event: Event) => Promise<void>;
  readonly #eventOf: (kind: AnswerKind, piece: Piece) => Event;
  /** The kind that is arriving; `null`: nothing has arrived since the last end. */
  #open: { kind: AnswerKind; text: DeltaText<Event> } | null = null;

  /** @param eventOf makes the event of a piece */
  constructor(
    redactor: Redactor,
    emit: (event: Event) => Promise<void>,
    eventOf: (kind: AnswerKind, piece: Piece) => Event,
  ) {
    this.#redactor = redactor;
    this.#emit = emit;
    this.#eventOf = eventOf;
  }

  push(kind: AnswerKind, text: string): void {
    if (this.#open?.kind !== kind) void this.end();
    this.#open ??= {
      kind,
      text: new DeltaText<Event>(this.#redactor, this.#emit, (piece) => this.#eventOf(kind, piece)),
    };
    void this.#open.text.pushText(text);
  }

  /** Sends what the redactor still holds back. */
  async end(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await open?.text.end();
  }
}
