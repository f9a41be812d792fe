/**
 * Reads JSON text (RFC 8259) piece by piece and says where it breaks, without recursion. The visitor of jsonc-parser
 * recurses for each level, and V8 names no offset for an unexpected token or end. Pure.
 */

/** Receives the parts of a text, in order. Offsets count UTF-16 units. */
export interface JsonListener {
  open(bracket: "[" | "{", at: number): void;
  /** @param end the offset behind the bracket */
  close(end: number): void;
  /** @param source with its quotes */
  key(source: string, at: number): void;
  scalar(source: string, at: number): void;
}

export interface JsonFault {
  /** The first invalid character; the text's length if the text ends too early. */
  offset: number;
  /** Where the string begins that contains this character; outside of strings, the same as `offset`. */
  at: number;
  /**
   * What the text should have there. `string`: the string's end or a valid escape; `end`: nothing more; `member`: a
   * value or key after a comma; `depth`: no further bracket.
   */
  expected: "value" | "key" | "colon" | "comma" | "member" | "string" | "end" | "depth";
  /** What closes the array or object around it; `null`: there is none. */
  closes: "]" | "}" | null;
}

const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const BLANKS = /[ \t\n\r]*/y;

interface ScanOptions {
  /** Arrays and objects inside one another that are not too many. */
  depth: number;
  /** Where the text begins. */
  from?: number;
  listener?: JsonListener;
}

/** The first fault of a text; `null`: it is JSON. */
export const scanJson = (text: string, options: ScanOptions): JsonFault | null =>
  new Scan(text, options).run();

/** The last sign before a place; `start`: a colon, or nothing. */
type Before = "start" | "bracket" | "comma" | "value";

/** Each reader of a sign returns what it has read, or the fault. */
class Scan {
  readonly #text: string;
  readonly #depth: number;
  readonly #listener: JsonListener | undefined;
  readonly #open: ("]" | "}")[] = [];
  #at: number;

  constructor(text: string, { depth, from = 0, listener }: ScanOptions) {
    this.#text = text;
    this.#depth = depth;
    this.#at = from;
    this.#listener = listener;
  }

  run(): JsonFault | null {
    let before: Before = "start";
    for (;;) {
      this.#skip(BLANKS);
      if (before === "value" && this.#open.length === 0)
        return this.#at === this.#text.length ? null : this.#fault("end");
      const read = this.#next(before);
      if (typeof read === "object") return read;
      before = read;
    }
  }

  #next(before: Before): Before | JsonFault {
    const character = this.#text[this.#at];
    const closes = this.#open.at(-1);
    if (before !== "start" && character === closes)
      return before === "comma" ? this.#fault("member") : this.#close();
    if (before === "value") return this.#take(",") ? "comma" : this.#fault("comma");
    if (before !== "start" && closes === "}") return this.#key();
    return character === "[" || character === "{" ? this.#bracket(character) : this.#scalar();
  }

  #close(): Before {
    this.#open.pop();
    this.#at++;
    this.#listener?.close(this.#at);
    return "value";
  }

  #key(): Before | JsonFault {
    const begin = this.#at;
    if (this.#text[begin] !== '"') return this.#fault("key");
    if (!this.#skipString()) return this.#fault("string", begin);
    this.#listener?.key(this.#text.slice(begin, this.#at), begin);
    this.#skip(BLANKS);
    return this.#take(":") ? "start" : this.#fault("colon");
  }

  #bracket(bracket: "[" | "{"): Before | JsonFault {
    if (this.#open.length === this.#depth) return this.#fault("depth");
    this.#open.push(bracket === "[" ? "]" : "}");
    this.#listener?.open(bracket, this.#at);
    this.#at++;
    return "bracket";
  }

  #scalar(): Before | JsonFault {
    const begin = this.#at;
    const isString = this.#text[begin] === '"';
    if (isString ? !this.#skipString() : !this.#skip(LITERAL))
      return this.#fault(isString ? "string" : "value", begin);
    this.#listener?.scalar(this.#text.slice(begin, this.#at), begin);
    return "value";
  }

  /** Whether this sign is here; it is skipped. */
  #take(sign: string): boolean {
    const isHere = this.#text[this.#at] === sign;
    if (isHere) this.#at++;
    return isHere;
  }

  /** The same for a pattern, which may match nothing. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const length = pattern.exec(this.#text)?.[0].length ?? 0;
    this.#at += length;
    return length > 0;
  }

  /** Skips a string, or its part before the fault. */
  #skipString(): boolean {
    this.#at++;
    // One pattern for the whole string would keep a backtracking state per character, and fail on long strings.
    do this.#skip(PLAIN);
    while (this.#skip(ESCAPE));
    return this.#take('"');
  }

  #fault(expected: JsonFault["expected"], begin = this.#at): JsonFault {
    return { offset: this.#at, at: begin, expected, closes: this.#open.at(-1) ?? null };
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const LIST = 0x5b;
const OBJECT = 0x7b;

/**
 * Whether a JSON text has more values than `most`, about: it counts commas and opening brackets. It parses nothing, so it
 * also takes a text that is not JSON.
 */
export function holdsMoreValues(text: string, most: number): boolean {
  if (text.length <= most) return false;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at);
    else if (unit === COMMA || unit === LIST || unit === OBJECT) count++;
    if (count > most) return true;
  }
  return false;
}

/** The offset of the quote that ends a string; the text's length if none does. */
function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
