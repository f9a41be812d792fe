/**
 * Texts on their way to whoever reads them piece by piece. No piece splits a character, bytes that are not UTF-8 become
 * Base64, and the redactor sees secrets across the boundaries of pieces.
 */
import { concat, incompleteTail, toBase64, utf8OrNull } from "../bytes.ts";
import type { Redactor, StreamRedactor } from "../redact.ts";

/** A piece of a text: `text`, or `b64` if its bytes are not UTF-8. */
export type Piece = { text: string } | { b64: string };

export class DeltaText {
  readonly #send: (piece: Piece) => Promise<void>;
  readonly #redactor: StreamRedactor;
  #held: Uint8Array = new Uint8Array(0);

  constructor(redactor: Redactor, send: (piece: Piece) => Promise<void>) {
    this.#redactor = redactor.stream();
    this.#send = send;
  }

  async push(chunk: Uint8Array): Promise<void> {
    await this.#cut(this.#redactor.push(chunk), false);
  }

  async pushText(text: string): Promise<void> {
    if (this.#held.length > 0 || !this.#redactor.passes(text)) {
      await this.push(new TextEncoder().encode(text));
    } else if (text !== "") {
      await this.#send({ text });
    }
  }

  /** Sends the rest that was held back. */
  async end(): Promise<void> {
    await this.#cut(this.#redactor.end(), true);
  }

  async #cut(chunk: Uint8Array, last: boolean): Promise<void> {
    const data = this.#held.length === 0 ? chunk : concat([this.#held, chunk]);
    const cut = last ? data.length : data.length - incompleteTail(data);
    this.#held = data.slice(cut);
    const ready = data.subarray(0, cut);
    if (ready.length > 0) await this.#send(pieceOf(ready));
  }
}

/** The text of a piece; empty if it is Base64. */
export const textOf = (piece: Piece): string => ("text" in piece ? piece.text : "");

/** Text if the bytes are UTF-8, else Base64. */
export function pieceOf(bytes: Uint8Array): Piece {
  const text = utf8OrNull(bytes);
  return text === null ? { b64: toBase64(bytes) } : { text };
}

/** `delta`: text of the answer; `thought`: reasoning. */
type AnswerKind = "delta" | "thought";

/**
 * The text and reasoning of one answer, in the order of arrival. The redactor holds back what could be the beginning of
 * a secret. When the answer switches between text and reasoning, this class first sends the rest of the previous kind,
 * since nothing can complete the secret any more.
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
