/** Turns offsets into a text into positions. */
import type { Position } from "./tree.ts";

/** Counts the lines of a text once, while it is asked for one offset after the other. */
export class Lines {
  readonly #text: string;
  /** The line of the last position: its number, its beginning and its end. */
  #line = 1;
  #begin: number;
  #end: number;

  /** @param from where the first line begins */
  constructor(text: string, from = 0) {
    this.#text = text;
    this.#begin = from;
    this.#end = text.indexOf("\n", from);
  }

  /** @param offset not below that of the call before */
  at(offset: number): Position {
    while (this.#end !== -1 && this.#end < offset) {
      this.#line++;
      this.#begin = this.#end + 1;
      this.#end = this.#text.indexOf("\n", this.#begin);
    }
    return { line: this.#line, column: offset - this.#begin + 1 };
  }
}
