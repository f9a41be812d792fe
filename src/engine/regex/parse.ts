/**
 * Regular expressions from outside, as a tree. The syntax is what RE2, Rust and Python have in common. The parser
 * refuses, with a reason, what cannot be matched in linear time.
 */
import {
  ANY,
  type CharSet,
  complement,
  contains,
  DIGIT,
  LINE_END,
  lowered,
  SPACE,
  setOf,
  union,
  WORD,
} from "./char-set.ts";

export type Assertion = "text_start" | "text_end" | "line_start" | "line_end" | "boundary" | "no_boundary";

export type Node =
  | { kind: "unit"; set: CharSet }
  | { kind: "assert"; what: Assertion }
  | { kind: "sequence"; parts: Node[] }
  | { kind: "choice"; options: Node[] }
  /** `max` may be infinite. */
  | { kind: "repeat"; part: Node; min: number; max: number; greedy: boolean };

/** Why an expression is refused. */
export class Refusal extends Error {}

const MAX_LENGTH = 256;
const MAX_COUNT = 1000;

const CLASSES = new Map<string, CharSet>([
  ["d", DIGIT],
  ["D", complement(DIGIT)],
  ["w", WORD],
  ["W", complement(WORD)],
  ["s", SPACE],
  ["S", complement(SPACE)],
]);
const ASSERTIONS = new Map<string, Assertion>([
  ["b", "boundary"],
  ["B", "no_boundary"],
  ["A", "text_start"],
  ["Z", "text_end"],
  ["z", "text_end"],
]);
const CONTROLS = new Map([
  ["t", "\t"],
  ["n", "\n"],
  ["r", "\r"],
  ["f", "\f"],
  ["v", "\v"],
  ["0", "\0"],
]);

/**
 * The tree of an expression over lower-cased text.
 * @param cased over unchanged text, where capital letters are distinct letters
 * @throws Refusal
 */
export function parsePattern(source: string, cased = false): Node {
  if (source.length > MAX_LENGTH) {
    throw new Refusal(`it has ${source.length} characters, at most ${MAX_LENGTH} are taken`);
  }
  return new Parser(source, cased).whole();
}

class Parser {
  readonly #source: string;
  readonly #cased: boolean;
  #at = 0;
  #dotAll = false;

  constructor(source: string, cased: boolean) {
    this.#source = source;
    this.#cased = cased;
  }

  whole(): Node {
    const flags = this.#match(/\(\?([a-zA-Z]+)\)/y)?.[1];
    if (flags !== undefined) this.#setFlags(flags);
    const node = this.#choice();
    if (this.#at < this.#source.length) throw this.#refuse("there is a ) without its (");
    return node;
  }

  #choice(): Node {
    const options = [this.#sequence()];
    while (this.#eat("|")) options.push(this.#sequence());
    const [only] = options;
    return options.length === 1 && only !== undefined ? only : { kind: "choice", options };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    for (let next = this.#peek(); next !== "" && next !== "|" && next !== ")"; next = this.#peek()) {
      parts.push(this.#quantified());
    }
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind: "sequence", parts };
  }

  #quantified(): Node {
    if (this.#quantifier() !== null) throw this.#refuse("there is nothing to repeat; write .* for any text");
    const part = this.#atom();
    const range = this.#quantifier();
    if (range === null) return part;
    if (part.kind === "assert") throw this.#refuse("a position cannot be repeated");
    const greedy = !this.#eat("?");
    if (this.#peek() === "+") throw this.#refuse("possessive quantifiers are not supported");
    if (this.#quantifier() !== null) throw this.#refuse("a repetition is repeated");
    return { kind: "repeat", part, ...range, greedy };
  }

  #quantifier(): { min: number; max: number } | null {
    if (this.#eat("*")) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#eat("+")) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#eat("?")) return { min: 0, max: 1 };
    // Braces without a count stand for themselves.
    const braces = this.#match(/\{(?:(\d+)(,?)(\d*)|,(\d+))\}/y);
    if (braces === null) return null;
    const [, least, comma, most, only] = braces;
    const min = Number(least ?? 0);
    const open = comma === "," && most === "";
    const max = open ? Number.POSITIVE_INFINITY : Number(only ?? (comma === "," ? most : least));
    if (Math.max(min, open ? 0 : max) > MAX_COUNT) throw this.#refuse(`a count is over ${MAX_COUNT}`);
    if (max < min) throw this.#refuse("a count's end is before its start");
    return { min, max };
  }

  #atom(): Node {
    const character = this.#take();
    switch (character) {
      case ".":
        return { kind: "unit", set: this.#dotAll ? ANY : complement(LINE_END) };
      case "^":
        return { kind: "assert", what: "line_start" };
      case "$":
        return { kind: "assert", what: "line_end" };
      case "(":
        return this.#group();
      case "[":
        return { kind: "unit", set: this.#members() };
      case "\\":
        return this.#escape();
      default:
        return this.#literal(character);
    }
  }

  #literal(character: string): Node {
    return literal(this.#cased ? character : lowerCased(character));
  }

  #group(): Node {
    if (this.#eat("?")) {
      if (this.#match(/<?[=!]/y) !== null) throw this.#refuse("look-around is not supported");
      if (this.#match(/P=/y) !== null) throw this.#refuse("back-references are not supported");
      const flags = this.#match(/([a-zA-Z]*):/y)?.[1];
      if (flags !== undefined) {
        if (/[^im]/.test(flags) || (this.#cased && flags.includes("i")))
          throw this.#refuse(`the flags "${flags}" are not supported for a group`);
      } else if (this.#match(/P?<[A-Za-z_]\w*>/y) === null) {
        throw this.#refuse("this kind of group is not supported");
      }
    }
    const node = this.#choice();
    if (!this.#eat(")")) throw this.#refuse("there is a ( without its )");
    // A separate node, so that a quantifier applies to all of it.
    return { kind: "sequence", parts: [node] };
  }

  /** `i` changes nothing for lower-cased text, `m` nothing at all; `s` lets `.` match line ends. */
  #setFlags(flags: string): void {
    if (/[^ims]/.test(flags) || (this.#cased && flags.includes("i")))
      throw this.#refuse(`the flags "${flags}" are not supported`);
    this.#dotAll = flags.includes("s");
  }

  #escape(): Node {
    const next = this.#peek();
    const what = ASSERTIONS.get(next);
    if (what !== undefined) {
      this.#at++;
      return { kind: "assert", what };
    }
    if (/[1-9k]/.test(next)) throw this.#refuse("back-references are not supported");
    const escaped = this.#escaped();
    return typeof escaped === "string" ? this.#literal(escaped) : { kind: "unit", set: escaped };
  }

  /** What follows a backslash, also in a class: one character, or a set. */
  #escaped(): string | CharSet {
    const hex = this.#match(/x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})/y);
    if (hex !== null) return String.fromCharCode(Number.parseInt(hex[1] ?? hex[2] ?? "", 16));
    const character = this.#take();
    const known = CLASSES.get(character) ?? CONTROLS.get(character);
    if (known !== undefined) return known;
    if (character === "") throw this.#refuse("it ends with a backslash");
    if (character === "p" || character === "P") throw this.#refuse("Unicode classes are not supported");
    if (/[A-Za-z0-9]/.test(character)) throw this.#refuse(`there is no escape \\${character}`);
    return character;
  }

  /** The set of a class in brackets; a `]` at its very start stands for itself. */
  #members(): CharSet {
    const negated = this.#eat("^");
    const sets: CharSet[] = [];
    for (let first = true; first || this.#peek() !== "]"; first = false) {
      const low = this.#member();
      const ranges = this.#peek() === "-" && !/^-(?:\]|$)/.test(this.#source.slice(this.#at));
      if (typeof low !== "string") {
        if (ranges) throw this.#refuse("a range begins with a class");
        sets.push(low);
        continue;
      }
      if (ranges) this.#at++;
      const high = ranges ? this.#member() : low;
      if (typeof high !== "string") throw this.#refuse("a range ends with a class");
      if (high < low) throw this.#refuse("a range's end is before its start");
      const [from, to] = [low.charCodeAt(0), high.charCodeAt(0)];
      sets.push(this.#cased ? setOf([from, to]) : lowered(from, to));
    }
    this.#at++;
    const set = union(sets);
    return negated ? complement(set) : set;
  }

  #member(): string | CharSet {
    const posix = this.#match(/\[:/y);
    if (posix !== null) throw this.#refuse("POSIX classes are not supported");
    const character = this.#take();
    if (character === "") throw this.#refuse("there is a [ without its ]");
    if (character === "\\") return this.#eat("b") ? "\b" : this.#escaped();
    if (character.length > 1) throw this.#refuse("a class holds a character beyond U+FFFF");
    return character;
  }

  #peek(): string {
    return this.#source.charAt(this.#at);
  }

  /** The next character, with two units if it is beyond U+FFFF; `""` at the end. */
  #take(): string {
    const point = this.#source.codePointAt(this.#at);
    if (point === undefined) return "";
    const character = String.fromCodePoint(point);
    this.#at += character.length;
    return character;
  }

  #eat(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  #match(sticky: RegExp): RegExpExecArray | null {
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#source);
    if (found !== null) this.#at += found[0].length;
    return found;
  }

  #refuse(reason: string): Refusal {
    return new Refusal(`${reason} (at character ${Math.min(this.#at, this.#source.length)})`);
  }
}

/** Lower-cases as the text is lower-cased: only where the result has the same length. */
function lowerCased(character: string): string {
  const lower = character.toLowerCase();
  return lower.length === character.length ? lower : character;
}

/** One character. */
function literal(text: string): Node {
  const parts = Array.from({ length: text.length }, (_, i): Node => {
    const unit = text.charCodeAt(i);
    return { kind: "unit", set: setOf([unit, unit]) };
  });
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { kind: "sequence", parts };
}

/** Whether a unit counts as part of a word. */
export const isWord = (unit: number): boolean => contains(WORD, unit);
export const isLineEnd = (unit: number): boolean => contains(LINE_END, unit);
