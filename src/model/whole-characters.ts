/**
 * Some servers cut a stream inside a surrogate pair. Each half would be a piece of its own, and would reach a listener as
 * U+FFFD, although the whole text has the character.
 */
import type { Sink } from "./wire.ts";

/** Text in pieces, in order; a half at a piece's end waits for the next piece. */
export interface JoinedText {
  push(piece: string): void;
  /** Passes on a half that is left. */
  end(): void;
}

/** @param pass receives text without a half at its end, unless it is the last one */
export function joined(pass: (text: string) => void): JoinedText {
  let half = "";
  return {
    push(piece: string): void {
      const text = half + piece;
      half = (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800 ? text.slice(-1) : "";
      const whole = text.slice(0, text.length - half.length);
      if (whole !== "") pass(whole);
    },
    end(): void {
      if (half !== "") pass(half);
      half = "";
    },
  };
}

/** A sink that passes on whole characters, and at the end what is left. */
export function wholeCharacters({ onText, onReasoning, ...rest }: Sink): { sink: Sink; end(): void } {
  const text = joined((piece) => onText?.(piece));
  const reasoning = joined((piece) => onReasoning?.(piece));
  return {
    sink: { onText: text.push, onReasoning: reasoning.push, ...rest },
    end() {
      reasoning.end();
      text.end();
    },
  };
}
