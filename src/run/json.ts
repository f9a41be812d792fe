/** JSON text with the position of its first fault, which the platform's parser does not always report. Pure. */
import { MAX_JSON_DEPTH, nestsTooDeep } from "../skill/json-depth.ts";
import type { Json } from "../skill/manifest.ts";

type ParsedJson = { ok: true; value: Json } | { ok: false; offset: number; reason: string };

/**
 * Parses; `offset` counts UTF-16 units to the first invalid character. Nesting beyond `MAX_JSON_DEPTH` is a fault of
 * the bracket that exceeds it.
 */
export function parseWithOffset(text: string): ParsedJson {
  try {
    const value: Json = JSON.parse(text);
    // A shorter text cannot hold so many brackets and their ends.
    if (text.length <= 2 * MAX_JSON_DEPTH || !nestsTooDeep(value)) return { ok: true, value };
    const offset = new Scanner(text).fault();
    return {
      ok: false,
      offset,
      reason: `nested more than ${MAX_JSON_DEPTH} levels deep at offset ${offset}`,
    };
  } catch {
    const offset = new Scanner(text).fault();
    const found =
      offset >= text.length ? "the text ends too early" : `unexpected ${JSON.stringify(text[offset])}`;
    return { ok: false, offset, reason: `${found} at offset ${offset}` };
  }
}

const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const BLANKS = /[ \t\n\r]*/y;

/** Walks a JSON text (RFC 8259) without recursion, to where it breaks. */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Offset of the first fault, or of the bracket that nests too deep; the text's length if the text only ends too
   * early.
   */
  fault(): number {
    /** The characters that close each open array or object. */
    const open: ("]" | "}")[] = [];
    let expect: "value" | "key" | "after" = "value";
    let mayClose = false;
    for (;;) {
      this.#match(BLANKS);
      const character = this.#text[this.#at];
      if (character === undefined) return this.#at;
      const closes = character === open.at(-1);
      if (closes && (expect === "after" || mayClose)) {
        open.pop();
        this.#at++;
        expect = "after";
        mayClose = false;
      } else if (expect === "after") {
        if (character !== "," || open.length === 0) return this.#at;
        this.#at++;
        expect = open.at(-1) === "}" ? "key" : "value";
        mayClose = false;
      } else if (expect === "key") {
        if (!this.#string()) return this.#at;
        this.#match(BLANKS);
        if (this.#text[this.#at] !== ":") return this.#at;
        this.#at++;
        expect = "value";
        mayClose = false;
      } else if (character === "[" || character === "{") {
        if (open.length === MAX_JSON_DEPTH) return this.#at;
        open.push(character === "[" ? "]" : "}");
        this.#at++;
        expect = character === "[" ? "value" : "key";
        mayClose = true;
      } else if (this.#string() || (character !== '"' && this.#match(LITERAL))) {
        expect = "after";
        mayClose = false;
      } else {
        return this.#at;
      }
    }
  }

  /** A whole string; a broken one leaves the position at its fault. */
  #string(): boolean {
    if (this.#text[this.#at] !== '"') return false;
    this.#at++;
    // One pattern for the whole string would keep a backtracking state per character, and fail on long strings.
    do this.#match(PLAIN);
    while (this.#match(ESCAPE));
    if (this.#text[this.#at] !== '"') return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const length = pattern.exec(this.#text)?.[0].length ?? 0;
    this.#at += length;
    return length > 0;
  }
}
