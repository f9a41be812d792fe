/** The text and reasoning of one answer, in the order of arrival. */
import type { Redactor } from "../redact.ts";
import { DeltaText, type Piece } from "./delta.ts";

/** `delta`: text of the answer; `thought`: reasoning. */
type AnswerKind = "delta" | "thought";

/**
 * The redactor holds back what could be the beginning of a secret. When the answer switches between text and reasoning,
 * this class first sends the rest of the previous kind, since nothing can complete the secret any more.
 */
export class AnswerText {
  readonly #redactor: Redactor;
  readonly #send: (kind: AnswerKind, piece: Piece) => Promise<void>;
  /** The kind that is arriving; `null`: nothing has arrived since the last end. */
  #open: { kind: AnswerKind; text: DeltaText } | null = null;

  constructor(redactor: Redactor, send: (kind: AnswerKind, piece: Piece) => Promise<void>) {
    this.#redactor = redactor;
    this.#send = send;
  }

  push(kind: AnswerKind, text: string): void {
    if (this.#open?.kind !== kind) void this.end();
    this.#open ??= { kind, text: new DeltaText(this.#redactor, (piece) => this.#send(kind, piece)) };
    void this.#open.text.pushText(text);
  }

  /** Sends what the redactor still holds back. */
  async end(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await open?.text.end();
  }
}
