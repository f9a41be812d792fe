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

/**
 * The first fault of a text; `null`: it is JSON.
 * @param depth arrays and objects inside one another that are not too many
 * @param from where the text begins
 */
export function scanJson(
  text: string,
  { depth, from = 0, listener }: { depth: number; from?: number; listener?: JsonListener },
): JsonFault | null {
  const open: ("]" | "}")[] = [];
  let expect: "value" | "key" | "after" = "value";
  /**
   * The bracket or comma before, if more than a value may follow it: after an opening bracket its own end, after a comma
   * no end.
   */
  let before: "bracket" | "comma" | null = null;
  let at = from;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const length = pattern.exec(text)?.[0].length ?? 0;
    at += length;
    return length > 0;
  };
  /** Skips a string, or its part before the fault. */
  const string = (): boolean => {
    at++;
    // One pattern for the whole string would keep a backtracking state per character, and fail on long strings.
    do skip(PLAIN);
    while (skip(ESCAPE));
    if (text[at] !== '"') return false;
    at++;
    return true;
  };
  const fault = (expected: JsonFault["expected"], begin = at): JsonFault => ({
    offset: at,
    at: begin,
    expected,
    closes: open.at(-1) ?? null,
  });
  for (;;) {
    skip(BLANKS);
    const begin = at;
    const character = text[at];
    const closes = open.at(-1);
    const ends = closes !== undefined && character === closes;
    if (ends && (expect === "after" || before === "bracket")) {
      open.pop();
      at++;
      listener?.close(at);
      expect = "after";
      before = null;
    } else if (expect === "after") {
      if (closes === undefined) return character === undefined ? null : fault("end");
      if (character !== ",") return fault("comma");
      at++;
      expect = closes === "}" ? "key" : "value";
      before = "comma";
    } else if (ends && before === "comma") {
      return fault("member");
    } else if (expect === "key") {
      if (character !== '"') return fault("key");
      if (!string()) return fault("string", begin);
      listener?.key(text.slice(begin, at), begin);
      skip(BLANKS);
      if (text[at] !== ":") return fault("colon");
      at++;
      expect = "value";
      before = null;
    } else if (character === "[" || character === "{") {
      if (open.length === depth) return fault("depth");
      open.push(character === "[" ? "]" : "}");
      at++;
      listener?.open(character, begin);
      expect = character === "[" ? "value" : "key";
      before = "bracket";
    } else {
      if (character === '"' ? !string() : !skip(LITERAL))
        return fault(character === '"' ? "string" : "value", begin);
      listener?.scalar(text.slice(begin, at), begin);
      expect = "after";
      before = null;
    }
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
