/**
 * Shows that most long texts without secrets have none, and reads only a few of their characters: Wu and Manber, "A
 * fast algorithm for multi-pattern searching" (1994). Only for patterns of ASCII.
 */
import { memo } from "../memo.ts";
import { type Automaton, ROOT } from "./automaton.ts";
import { digit, ESCAPES, isLineEnd, SHORT } from "./decoders.ts";

/** How much of each pattern counts: with more, too many blocks would seem to belong to one. */
const MOST = 16;
/** Characters of a block, and bits of each in its key. */
const BLOCK = 3;
const BITS = 5;

export const sieveOf = memo((automaton: Automaton) => new Sieve(automaton));

/** Looks for the beginnings of patterns: as many first bytes of each as the shortest one has. */
class Sieve {
  readonly #automaton: Automaton;
  /** Bytes of a beginning. */
  readonly #length: number;
  /** By the key of a block: after how many characters, at the earliest, a beginning may end that contains it. */
  readonly #shifts: Uint8Array;
  /** By byte: whether a beginning contains it. */
  readonly #bytes = new Uint8Array(256);
  /** By two bytes: whether a beginning in Base64 contains them. */
  readonly #pairs = new Uint8Array(1 << 14);

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
    const length = Math.min(MOST, automaton.shortest);
    this.#length = length;
    this.#shifts = new Uint8Array(1 << (BITS * BLOCK)).fill(length - BLOCK + 1);
    for (const { bytes, base64 } of automaton.patterns) {
      for (let at = 0; at < length; at++) {
        const [before, last, byte] = [bytes[at - 2] ?? 0, bytes[at - 1] ?? 0, bytes[at] ?? 0];
        this.#bytes[byte] = 1;
        if (base64 && at > 0) this.#pairs[pairOf(last, byte)] = 1;
        if (at < BLOCK - 1) continue;
        const key = keyOf(before, last, byte);
        this.#shifts[key] = Math.min(this.#shifts[key] ?? 0, length - 1 - at);
      }
    }
  }

  /** Whether it is certain that the text contains no pattern, however written. */
  clears(text: string): boolean {
    return !this.#isPlain(text) && !this.#isEscaped(text) && !this.#isInBase64(text);
  }

  /** Whether a beginning is in the text as it is. */
  #isPlain(text: string): boolean {
    const shifts = this.#shifts;
    const length = this.#length;
    for (let at = length - 1; at < text.length; ) {
      const key = keyOf(text.charCodeAt(at - 2), text.charCodeAt(at - 1), text.charCodeAt(at));
      const shift = shifts[key] ?? 0;
      if (shift === 0 && this.#begins(text, at - length + 1)) return true;
      at += shift === 0 ? 1 : shift;
    }
    return false;
  }

  #begins(text: string, from: number): boolean {
    let state = ROOT;
    for (let at = 0; at < this.#length; at++) {
      state = this.#automaton.next(state, byteOf(text.charCodeAt(from + at)));
      if (this.#automaton.depth(state) <= at) return false;
    }
    return true;
  }

  /** Whether an escape may stand for a byte of a beginning: `%41`, `\n`, `\u0041`. */
  #isEscaped(text: string): boolean {
    for (let at = text.indexOf("%"); at !== -1; at = text.indexOf("%", at + 1)) {
      const [high, low] = [digit(text.charCodeAt(at + 1)), digit(text.charCodeAt(at + 2))];
      if (high !== -1 && low !== -1 && this.#bytes[high * 16 + low] === 1) return true;
    }
    for (let at = text.indexOf("\\"); at !== -1; at = text.indexOf("\\", at + 1)) {
      const unit = text.charCodeAt(at + 1);
      const byte = unit === 0x75 ? Number.parseInt(text.slice(at + 2, at + 6), 16) : SHORT.get(unit);
      if (byte !== undefined && this.#bytes[byte] === 1) return true;
    }
    return false;
  }

  /** Whether a beginning in Base64 is in the text in lines, or with the alphabet for URLs. */
  #isInBase64(text: string): boolean {
    for (const byte of ESCAPES.base64) {
      const character = String.fromCharCode(byte);
      for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) {
        const before = text.charCodeAt(at - 1);
        // The first of several line ends stands for all, and for what it joins.
        if (isLineEnd(byte) && isLineEnd(before)) continue;
        let next = at + 1;
        while (isLineEnd(text.charCodeAt(next))) next++;
        const after = text.charCodeAt(next);
        const may = isLineEnd(byte)
          ? this.#hasPair(before, after)
          : this.#hasPair(before, byte) || this.#hasPair(byte, after);
        if (may && this.#joins(text, at)) return true;
      }
    }
    return false;
  }

  #hasPair(first: number, second: number): boolean {
    return this.#pairs[pairOf(inAlphabet(first), inAlphabet(second))] === 1;
  }

  /** Whether a beginning in Base64 reaches to this place or begins near it. */
  #joins(text: string, at: number): boolean {
    const { base64 } = this.#automaton;
    let from = at;
    for (let before = 0; from > 0 && before < this.#length - 1; ) {
      from--;
      if (!isLineEnd(text.charCodeAt(from))) before++;
    }
    let state = ROOT;
    for (let after = 0; from < text.length && after < this.#length; from++) {
      const unit = text.charCodeAt(from);
      if (isLineEnd(unit)) continue;
      state = base64.next(state, inAlphabet(unit));
      if (base64.depth(state) >= this.#length) return true;
      if (from >= at) after++;
    }
    return false;
  }
}

const MASK = (1 << BITS) - 1;

/** Different blocks may have the same key. */
const keyOf = (a: number, b: number, c: number): number =>
  ((a & MASK) << (2 * BITS)) | ((b & MASK) << BITS) | (c & MASK);

const pairOf = (first: number, second: number): number => ((first & 0x7f) << 7) | (second & 0x7f);

/** No pattern contains the byte for a character beyond ASCII, or for none. */
const byteOf = (unit: number): number => (unit < 0x80 ? unit : 0x80);

/** The byte of Base64 for which a character stands. */
const inAlphabet = (unit: number): number => (unit === 0x2d ? 0x2b : unit === 0x5f ? 0x2f : byteOf(unit));
