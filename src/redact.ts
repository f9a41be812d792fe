/**
 * The one redactor, through which log lines, errors and streams pass. It removes each secret in plain form, with
 * percent escapes, with the escapes of JSON, and in Base64, even if that is split into lines, uses the alphabet for
 * URLs or begins with something else; the same holds for a secret that is itself text in Base64. It works on bytes, so
 * that text in any chunks and binary output use the same code, in time linear in the bytes.
 */
import { wellFormedJson } from "./bytes.ts";
import { Automaton, type Pattern, ROOT } from "./redact/automaton.ts";
import { patternsOf } from "./redact/patterns.ts";
import { Scanner, wakesOf } from "./redact/scanner.ts";
import { sieveOf } from "./redact/sieve.ts";

/** Replaces a secret. */
export const REDACTED = "[redacted]";

/** Characters of the shortest value that is removed: shorter ones would cause false hits everywhere. */
export const MIN_SECRET_LENGTH = 8;

const SOUNDS_SECRET = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|AUTH)(?:_|$)/i;

/** The variables whose names indicate secrets, and whose values are too short to be removed. */
export function tooShortToRedact(
  names: Iterable<string>,
  read: (name: string) => string | undefined,
): string[] {
  return [...new Set(names)].filter((name) => {
    const length = read(name)?.length ?? 0;
    return SOUNDS_SECRET.test(name) && length > 0 && length < MIN_SECRET_LENGTH;
  });
}

/** From so many characters on, a sieve is worth its tables. */
const LONG = 1024;

const EMPTY = new Uint8Array(0);
const NONE: readonly Automaton[] = [];
const MARK = new TextEncoder().encode(REDACTED);

export class Redactor {
  readonly #secrets = new Set<string>();
  /** Another redactor, whose secrets this one removes too. */
  readonly #below: Redactor | null;
  /** Secrets that no automaton finds yet. */
  #fresh: string[] = [];
  /** Finds the others: fewer in each automaton than in the one before, so that a new secret costs little. */
  #own: Automaton[] = [];
  /** Characters read since the last of them was made. */
  #read = 0;
  /** The last answer of `#current`, and that of `#below` at the time. */
  #automata: readonly Automaton[] = NONE;
  #seen: readonly Automaton[] = NONE;

  /** @param secrets values to remove; those under 8 characters are ignored */
  constructor(secrets: Iterable<string>, below: Redactor | null = null) {
    this.#below = below;
    this.learn(secrets);
  }

  /** Removes these too from now on, even in streams that have begun. */
  learn(secrets: Iterable<string>): void {
    for (const secret of secrets) {
      if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) continue;
      this.#secrets.add(secret);
      this.#fresh.push(secret);
    }
  }

  /** A redactor that also removes these, for a limited use; this one stays unchanged. */
  with(secrets: readonly string[]): Redactor {
    return secrets.length === 0 ? this : new Redactor(secrets, this);
  }

  text(value: string): string {
    // No form of a secret is shorter than the secret.
    if (value.length < MIN_SECRET_LENGTH || this.#isClear(value, false)) return value;
    const bytes = new TextEncoder().encode(value);
    const out = this.bytes(bytes);
    return out === bytes ? value : new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(out);
  }

  /**
   * A JSON-like value with every string redacted, including keys. If it contains no secret, the result is the value
   * itself, else a copy.
   */
  json<T>(value: T): T;
  json(value: unknown): unknown {
    return this.#holdsSecret(value) ? this.#redacted(value) : value;
  }

  /** A JSON-like value as the JSON text of an answer, with every string redacted, including keys. */
  jsonText(value: unknown): string {
    const text = value === undefined ? "null" : wellFormedJson(value);
    // Without JSON's own escapes, every string appears unchanged in the text.
    if (!text.includes("\\") && this.#isClear(text, false)) return text;
    return this.#holdsSecret(value) ? wellFormedJson(this.#redacted(value)) : text;
  }

  #redacted(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.#redacted(item));
    // A number with all its digits is no object to copy (src/skill/exact-json.ts).
    if (typeof value !== "object" || value === null || JSON.isRawJSON(value)) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, item]) => [this.text(key), this.#redacted(item)]));
  }

  #holdsSecret(value: unknown): boolean {
    if (typeof value === "string") return this.text(value) !== value;
    if (Array.isArray(value)) return value.some((item) => this.#holdsSecret(item));
    if (typeof value !== "object" || value === null) return false;
    for (const key in value) {
      if (this.#holdsSecret(key) || this.#holdsSecret(Reflect.get(value, key))) return true;
    }
    return false;
  }

  /** The bytes without secrets: unchanged if they contain none. */
  bytes(value: Uint8Array): Uint8Array {
    return new Redaction(this.#current(value.length)).step(value, true);
  }

  /** A redactor for one stream, which also finds secrets that are split across chunks. */
  stream(): StreamRedactor {
    let automata = this.#current(0);
    const redaction = new Redaction(automata);
    const step = (chunk: Uint8Array, last: boolean): Uint8Array => {
      const current = this.#current(chunk.length);
      if (current !== automata) redaction.use(current);
      automata = current;
      return redaction.step(chunk, last);
    };
    return {
      push: (chunk) => step(chunk, false),
      passes: (text) => redaction.atRest && text.isWellFormed() && this.#isClear(text, true),
      end: () => step(EMPTY, true),
    };
  }

  /** The automata with which to read a text of this length. They change with the secrets, and when one for all pays. */
  #current(length: number): readonly Automaton[] {
    const below = this.#below === null ? NONE : this.#below.#current(length);
    this.#read += length;
    const pays = this.#own.length > 1 && this.#read > this.#own.reduce((sum, { price }) => sum + price, 0);
    const changes = pays || this.#fresh.length > 0;
    if (!changes && below === this.#seen) return this.#automata;
    if (changes) this.#merge(pays);
    this.#automata = [...this.#own, ...below];
    this.#seen = below;
    return this.#automata;
  }

  /** Makes an automaton of the fresh secrets and of all others, or of those that fewer automata find. */
  #merge(all: boolean): void {
    let patterns: readonly Pattern[] = this.#fresh.flatMap(patternsOf);
    this.#fresh = [];
    for (let last = this.#own.at(-1); last !== undefined; last = this.#own.at(-1)) {
      if (!all && last.patterns.length > patterns.length) break;
      patterns = [...last.patterns, ...patterns];
      this.#own.pop();
    }
    this.#own.push(new Automaton(patterns));
    this.#read = 0;
  }

  /**
   * Whether a text contains no secret and does not end with the beginning of one. A quick check reads its characters,
   * plain and as Base64 in lines or with the alphabet for URLs; if other escapes might matter, its bytes are scanned.
   */
  #isClear(text: string, isPart: boolean): boolean {
    const automata = this.#current(text.length);
    for (const automaton of automata) {
      if (!isPart && text.length >= LONG && automaton.isAscii && sieveOf(automaton).clears(text)) continue;
      const wakes = wakesOf(automaton);
      let state = ROOT;
      /** The state of `base64` when read as Base64; `ROOT` if plain text leads to the same. */
      let decoded = ROOT;
      for (let at = 0; at < text.length; at++) {
        const unit = text.charCodeAt(at);
        if (state === ROOT && decoded === ROOT && unit < 0x80 && wakes[unit] === 0) continue;
        if (unit === 0x25 || unit === 0x5c || (unit >= 0x80 && !automaton.isAscii))
          return isClearInBytes(automata, text, isPart);
        const byte = unit < 0x80 ? unit : 0x80;
        decoded = decodedNext(automaton, decoded, state, byte);
        state = automaton.next(state, byte);
        if (decoded === automaton.base64.from(state)) decoded = ROOT;
        if (automaton.found(state) > 0 || automaton.base64.found(decoded) > 0) return false;
      }
      if (isPart && (state !== ROOT || decoded !== ROOT)) return false;
    }
    return true;
  }
}

/**
 * The state after one more byte if its reading as Base64, in lines or with the alphabet for URLs, differs from plain
 * text.
 */
function decodedNext(automaton: Automaton, decoded: number, plain: number, byte: number): number {
  const { base64 } = automaton;
  const before = decoded === ROOT ? base64.from(plain) : decoded;
  switch (byte) {
    case 0x0a:
    case 0x0d:
      return before;
    case 0x2d:
      return base64.next(before, 0x2b);
    case 0x5f:
      return base64.next(before, 0x2f);
    default:
      return decoded === ROOT ? ROOT : base64.next(decoded, byte);
  }
}

function isClearInBytes(automata: readonly Automaton[], text: string, isPart: boolean): boolean {
  const bytes = new TextEncoder().encode(text);
  let clear = true;
  for (const automaton of automata) {
    const scanner = new Scanner(automaton, 0, () => {
      clear = false;
    });
    scanner.scan(bytes);
    if (isPart && scanner.open() < bytes.length) clear = false;
  }
  return clear;
}

export interface StreamRedactor {
  push(chunk: Uint8Array): Uint8Array;
  /** Whether `push` would return the bytes of this text immediately and unchanged; then they need not be pushed. */
  passes(text: string): boolean;
  /** Returns the rest that was held back. */
  end(): Uint8Array;
}

/** A part of the text that contains secrets, by its positions from the beginning. */
interface Span {
  start: number;
  end: number;
}

/**
 * Replaces each part of a text that contains a secret, or several overlapping ones, by a mark. It holds back bytes that
 * may still become part of one. All positions count from the beginning of the text.
 */
class Redaction {
  #scanners: readonly Scanner[];
  /** Ordered, without overlaps: the parts still to mark. */
  readonly #spans: Span[] = [];
  /** The end of the last mark. */
  #marked = 0;
  /** How far the text was returned, and how far it was pushed. */
  #done = 0;
  #at = 0;
  /** Contains the bytes from `#done` to `#at`, from `#from` on. */
  #held = EMPTY;
  #from = 0;

  constructor(automata: readonly Automaton[]) {
    this.#scanners = this.#scannersOf(automata);
  }

  get atRest(): boolean {
    return this.#done === this.#at;
  }

  /** Looks for other secrets from now on, also in what is held back. */
  use(automata: readonly Automaton[]): void {
    this.#scanners = this.#scannersOf(automata);
    const held = this.#held.subarray(this.#from, this.#from + this.#at - this.#done);
    for (const scanner of this.#scanners) scanner.scan(held);
  }

  /** The text that can be returned after this chunk: the chunk itself, if that is all. */
  step(chunk: Uint8Array, last: boolean): Uint8Array {
    for (const scanner of this.#scanners) scanner.scan(chunk);
    const end = this.#at + chunk.length;
    const until = last
      ? end
      : this.#scanners.reduce((first, scanner) => Math.min(first, scanner.open()), end);
    if (this.atRest && until === end && this.#spans.length === 0 && this.#marked <= this.#at) {
      this.#at = end;
      this.#done = end;
      return chunk;
    }
    this.#hold(chunk);
    return this.#answer(until);
  }

  #scannersOf(automata: readonly Automaton[]): Scanner[] {
    return automata.map((automaton) => {
      return new Scanner(automaton, this.#done, (start, end) => this.#cover(start, end));
    });
  }

  /** Records a secret, which may overlap with earlier ones. */
  #cover(start: number, end: number): void {
    const spans = this.#spans;
    let behind = spans.length;
    while (behind > 0 && (spans[behind - 1]?.start ?? 0) >= end) behind--;
    let at = behind;
    const span = { start, end };
    for (
      let before = spans[at - 1];
      before !== undefined && before.end > span.start;
      before = spans[at - 1]
    ) {
      span.start = Math.min(span.start, before.start);
      span.end = Math.max(span.end, before.end);
      at--;
    }
    if (at === 0 && span.start < this.#marked) {
      this.#marked = Math.max(this.#marked, span.end);
      spans.splice(0, behind);
    } else if (at === spans.length) spans.push(span);
    else spans.splice(at, behind - at, span);
  }

  #hold(chunk: Uint8Array): void {
    const length = this.#at - this.#done;
    if (this.#from + length + chunk.length > this.#held.length) {
      const larger = new Uint8Array(2 * (length + chunk.length));
      larger.set(this.#held.subarray(this.#from, this.#from + length));
      this.#held = larger;
      this.#from = 0;
    }
    this.#held.set(chunk, this.#from + length);
    this.#at += chunk.length;
  }

  /** The text from the end of the last answer up to this position, with marks. */
  #answer(until: number): Uint8Array {
    const ready = this.#spans.findIndex(({ start }) => start >= until);
    const spans = this.#spans.splice(0, ready === -1 ? this.#spans.length : ready);
    const out = new Uint8Array(until - this.#done + spans.length * MARK.length);
    let length = 0;
    const say = (from: number, to: number): void => {
      for (let at = Math.max(from, this.#done, this.#marked); at < to; at++) {
        out[length++] = this.#held[this.#from + at - this.#done] ?? 0;
      }
    };
    let from = this.#done;
    for (const { start, end } of spans) {
      say(from, start);
      out.set(MARK, length);
      length += MARK.length;
      this.#marked = end;
      from = end;
    }
    say(from, until);
    this.#from += until - this.#done;
    this.#done = until;
    if (this.atRest) {
      this.#held = EMPTY;
      this.#from = 0;
    }
    return out.subarray(0, length);
  }
}
