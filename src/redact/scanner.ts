/** Finds patterns in a text, both directly and through decoders, in one pass over chunks of any size. */
import { memo } from "../memo.ts";
import { type Automaton, type Finder, ROOT } from "./automaton.ts";
import { base64Decoder, type Decoder, ESCAPES, jsonDecoder, percentDecoder, type Take } from "./decoders.ts";

/** Handles a part of the text that contains a pattern: positions from the beginning of the text. */
type Cover = (start: number, end: number) => void;

const all = (automaton: Automaton): Finder => automaton;
const inBase64 = (automaton: Automaton): Finder => automaton.base64;

const DECODERS = [
  { decoder: percentDecoder, begins: new Set<number>(ESCAPES.percent), finderOf: all },
  { decoder: jsonDecoder, begins: new Set<number>(ESCAPES.json), finderOf: all },
  { decoder: base64Decoder, begins: new Set<number>(ESCAPES.base64), finderOf: inBase64 },
];

/** By byte: whether a decoder begins to read an escape there. */
const ESCAPE_BYTES = new Uint8Array(256);
for (const { begins } of DECODERS) for (const byte of begins) ESCAPE_BYTES[byte] = 1;

/** By byte: whether anything can begin with it. */
export const wakesOf = memo((automaton: Automaton) =>
  ESCAPE_BYTES.map((begins, byte) => (begins === 1 || automaton.next(ROOT, byte) !== ROOT ? 1 : 0)),
);

export class Scanner {
  readonly #automaton: Automaton;
  readonly #cover: Cover;
  /** One for each decoder, from the first escape on. */
  #views: readonly { view: View; begins: ReadonlySet<number> }[] = [];
  readonly #wakes: Uint8Array;
  #state = ROOT;
  #at: number;
  #decoding = false;

  /** @param at position of the first byte to scan */
  constructor(automaton: Automaton, at: number, cover: Cover) {
    this.#automaton = automaton;
    this.#cover = cover;
    this.#at = at;
    this.#wakes = wakesOf(automaton);
  }

  scan(chunk: Uint8Array): void {
    const automaton = this.#automaton;
    const wakes = this.#wakes;
    let state = this.#state;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] ?? 0;
      if (state === ROOT && wakes[byte] === 0 && !this.#decoding) continue;
      const before = state;
      state = automaton.next(before, byte);
      const found = automaton.found(state);
      const end = this.#at + i + 1;
      if (found > 0) this.#cover(end - found, end);
      if (this.#decoding || ESCAPE_BYTES[byte] === 1) this.#decode(byte, end - 1, before);
    }
    this.#state = state;
    this.#at += chunk.length;
  }

  /** Where the first incomplete pattern may begin; after the last byte if there is none. */
  open(): number {
    let open = this.#at - this.#automaton.depth(this.#state);
    for (const { view } of this.#views) if (view.active) open = Math.min(open, view.open());
    return open;
  }

  /** @param before the state of the plain text before this byte */
  #decode(byte: number, at: number, before: number): void {
    let decoding = false;
    if (this.#views.length === 0) {
      const automaton = this.#automaton;
      this.#views = DECODERS.map(({ decoder, begins, finderOf }) => {
        return { view: new View(finderOf(automaton), automaton.longest, this.#cover, decoder), begins };
      });
    }
    for (const { view, begins } of this.#views) {
      if (!view.active && begins.has(byte)) view.begin(before, at);
      if (view.active) view.push(byte, at);
      decoding ||= view.active;
    }
    this.#decoding = decoding;
  }
}

/**
 * The text as one decoder sees it. The view is active from an escape on, until nothing of the escape can become part of
 * a pattern. From there on, scanning the plain text finds everything that the view would find.
 */
class View {
  active = false;
  readonly #finder: Finder;
  readonly #longest: number;
  readonly #decoder: Decoder;
  #state = ROOT;
  /** Bytes read since it became active, and the position in the text at that time. */
  #read = 0;
  #origin = 0;
  /** Where each of the last of these begins in the text: a ring, made on first use. */
  #starts = new Float64Array(0);
  /** Number of the byte from which on the text is plain. */
  #plainFrom = 0;

  /** @param longest bytes of the longest pattern */
  constructor(
    finder: Finder,
    longest: number,
    cover: Cover,
    decoder: (take: Take, skip: () => void) => Decoder,
  ) {
    this.#finder = finder;
    this.#longest = longest;
    const take: Take = (byte, start, end, plain) => {
      this.#starts[this.#read % this.#starts.length] = start;
      this.#read++;
      if (!plain) this.#plainFrom = this.#read;
      this.#state = finder.next(this.#state, byte);
      const found = finder.found(this.#state);
      if (found > 0) cover(this.#startOf(found), end);
    };
    this.#decoder = decoder(take, () => {
      this.#plainFrom = this.#read;
    });
  }

  /** @param state of the automaton before this position */
  begin(state: number, at: number): void {
    if (this.#starts.length === 0) this.#starts = new Float64Array(this.#longest + 1);
    this.active = true;
    this.#decoder.reset();
    this.#state = this.#finder.from(state);
    this.#read = 0;
    this.#origin = at;
    this.#plainFrom = Number.NEGATIVE_INFINITY;
  }

  push(byte: number, at: number): void {
    this.#decoder.push(byte, at);
    const plain = this.#finder.depth(this.#state) <= this.#read - this.#plainFrom;
    if (plain && this.#decoder.from() === -1) this.active = false;
  }

  open(): number {
    const begun = this.#startOf(this.#finder.depth(this.#state));
    const from = this.#decoder.from();
    return from === -1 ? begun : Math.min(begun, from);
  }

  /** Where the last bytes of this number begin in the text; infinite for none. */
  #startOf(count: number): number {
    if (count === 0) return Number.POSITIVE_INFINITY;
    const first = this.#read - count;
    return first < 0 ? this.#origin + first : (this.#starts[first % this.#starts.length] ?? 0);
  }
}
