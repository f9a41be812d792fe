/**
 * Output of a running process: kept in memory up to a budget, only counted beyond it. The Worker reads what does not
 * fit again from the runner's journal, so it never holds a large output.
 */

import { Gathered } from "../bytes.ts";
import { lastWords } from "../cut.ts";

/** Bytes of one run's output that the Worker keeps in memory. */
export const SPOOL_BYTES = 8 * 1024 * 1024;

/** Shared by all spools of one run. */
interface SpoolBudget {
  left: number;
}

export class Spool {
  readonly #budget: SpoolBudget;
  #kept = new Gathered();
  #overflow = false;
  /** `null`: nothing was pushed. */
  #utf8: TextDecoder | null = null;
  #text = true;

  constructor(budget: SpoolBudget) {
    this.#budget = budget;
  }

  push(chunk: Uint8Array): void {
    this.#check(chunk, true);
    if (this.#overflow) return;
    if (chunk.length > this.#budget.left) {
      this.#overflow = true;
      this.#budget.left += this.#kept.bytes;
      this.#kept = new Gathered();
      return;
    }
    this.#budget.left -= chunk.length;
    this.#kept.push(chunk);
  }

  /** Whether everything pushed is valid UTF-8. Ask after the last chunk. */
  get isText(): boolean {
    if (this.#utf8 !== null) this.#check(new Uint8Array(0), false);
    return this.#text;
  }

  /** Everything pushed, or `null` when it did not fit. */
  content(): Uint8Array | null {
    return this.#overflow ? null : this.#kept.whole();
  }

  #check(chunk: Uint8Array, more: boolean): void {
    if (!this.#text) return;
    this.#utf8 ??= new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    try {
      this.#utf8.decode(chunk, { stream: more });
    } catch {
      this.#text = false;
    }
  }
}

/** The end of an output, for error reports: the last words in its last 8000 characters. */
export class Tail {
  static readonly CHARACTERS = 8000;
  /** A character takes at most four bytes. */
  static readonly BYTES = 4 * Tail.CHARACTERS;
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (let oldest = this.#chunks[0]; oldest !== undefined; oldest = this.#chunks[0]) {
      if (this.#bytes - oldest.length < Tail.BYTES) return;
      this.#bytes -= oldest.length;
      this.#chunks.shift();
    }
  }

  text(): string {
    const decoder = new TextDecoder();
    const text =
      this.#chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
    return lastWords(text, Tail.CHARACTERS);
  }
}
