/**
 * Finds all of many byte patterns in one pass: time is linear in the bytes, whatever they and the patterns are (Aho and
 * Corasick, "Efficient string matching", 1975). A state takes about 26 bytes of memory, and each byte of a pattern is
 * at most one state.
 */

export interface Pattern {
  bytes: Uint8Array;
  /** Lengths of the prefixes of `bytes` that count as found. */
  ends: readonly number[];
  /** Whether it is text in Base64, which may be split into lines and use the alphabet for URLs. */
  base64: boolean;
}

/** Steps through a text with some of the patterns. */
export interface Finder {
  /** The state after one more byte. */
  next(state: number, byte: number): number;
  /** How many of the last bytes may become a pattern. */
  depth(state: number): number;
  /** Length of the longest pattern that ends with the last byte; 0: none. */
  found(state: number): number;
  /** The state after the bytes that led the automaton to this one. */
  from(state: number): number;
}

/** To add a byte of a pattern takes about as long as to read so many characters. */
const ADDED = 16;

/** The state in which nothing of a pattern has been read. */
export const ROOT = 0;

export class Automaton implements Finder {
  readonly patterns: readonly Pattern[];
  /** Bytes of the longest pattern, and of the shortest prefix that counts as found. */
  readonly longest: number;
  readonly shortest: number;
  /** Characters that it reads in the time that it takes to make it, about. */
  readonly price: number;
  /** Whether all patterns are of ASCII. */
  readonly isAscii: boolean;
  /** By byte: the next state from the root. */
  readonly #first = new Int32Array(256);
  /** By state: the byte that leads to it, and its first successor. Most states have only one. */
  readonly #label: Uint8Array;
  readonly #child: Int32Array;
  /** Whether a state has more successors, which are in `#more` under `state * 256 + byte`. */
  readonly #branches: Uint8Array;
  readonly #more = new Map<number, number>();
  /** By state: the state of the longest proper suffix that also begins a pattern. */
  readonly #fail: Int32Array;
  readonly #depth: Uint32Array;
  /** By state: bytes of the longest pattern that ends there; 0: none. */
  readonly #found: Uint32Array;
  /** By state: the state of the longest suffix that begins a pattern in Base64, and what `#found` is for those. */
  readonly #inBase64: Int32Array;
  readonly #foundInBase64: Uint32Array;
  /** Finds only the patterns in Base64. */
  readonly base64: Finder = {
    next: (state, byte) => this.base64.from(this.next(state, byte)),
    depth: (state) => this.depth(state),
    found: (state) => this.#foundInBase64[state] ?? 0,
    from: (state) => this.#inBase64[state] ?? ROOT,
  };

  constructor(patterns: readonly Pattern[]) {
    const most = patterns.reduce((sum, { bytes }) => sum + bytes.length, 1);
    this.patterns = patterns;
    this.price = ADDED * most;
    this.longest = patterns.reduce((long, { bytes }) => Math.max(long, bytes.length), 0);
    this.shortest = patterns.reduce((short, { ends }) => Math.min(short, ...ends), this.longest);
    this.isAscii = patterns.every(({ bytes }) => bytes.every((byte) => byte < 0x80));
    this.#label = new Uint8Array(most);
    this.#child = new Int32Array(most);
    this.#branches = new Uint8Array(most);
    this.#fail = new Int32Array(most);
    this.#depth = new Uint32Array(most);
    this.#found = new Uint32Array(most);
    this.#inBase64 = new Int32Array(most);
    this.#foundInBase64 = new Uint32Array(most);
    const parents = new Int32Array(most);
    let size = 1;
    for (const { bytes, ends, base64 } of patterns) {
      const path = new Int32Array(bytes.length + 1);
      let at = ROOT;
      for (const [i, byte] of bytes.entries()) {
        let to = this.#successor(at, byte);
        if (to === ROOT) {
          to = size++;
          this.#label[to] = byte;
          this.#depth[to] = i + 1;
          parents[to] = at;
          this.#connect(at, byte, to);
        }
        at = to;
        path[i + 1] = at;
        if (base64) this.#inBase64[at] = at;
      }
      for (const end of ends) {
        this.#found[path[end] ?? ROOT] = end;
        if (base64) this.#foundInBase64[path[end] ?? ROOT] = end;
      }
    }
    this.#link(parents, size);
  }

  next(state: number, byte: number): number {
    for (let at = state; at !== ROOT; at = this.#fail[at] ?? ROOT) {
      const child = this.#child[at] ?? ROOT;
      if (child === ROOT) continue;
      if (this.#label[child] === byte) return child;
      if (this.#branches[at] === 1) {
        const other = this.#more.get(at * 256 + byte);
        if (other !== undefined) return other;
      }
    }
    return this.#first[byte] ?? ROOT;
  }

  depth(state: number): number {
    return this.#depth[state] ?? 0;
  }

  found(state: number): number {
    return this.#found[state] ?? 0;
  }

  from(state: number): number {
    return state;
  }

  #successor(at: number, byte: number): number {
    if (at === ROOT) return this.#first[byte] ?? ROOT;
    const child = this.#child[at] ?? ROOT;
    if (child === ROOT || this.#label[child] === byte) return child;
    return this.#more.get(at * 256 + byte) ?? ROOT;
  }

  #connect(at: number, byte: number, to: number): void {
    if (at === ROOT) this.#first[byte] = to;
    else if (this.#child[at] === ROOT) this.#child[at] = to;
    else {
      this.#branches[at] = 1;
      this.#more.set(at * 256 + byte, to);
    }
  }

  /** Fills in `#fail`, and its contributions to what states find: shallow states first. */
  #link(parents: Int32Array, size: number): void {
    for (const state of this.#byDepth(size)) {
      const parent = parents[state] ?? ROOT;
      const fail = parent === ROOT ? ROOT : this.next(this.#fail[parent] ?? ROOT, this.#label[state] ?? 0);
      this.#fail[state] = fail;
      if (this.#found[state] === 0) this.#found[state] = this.#found[fail] ?? 0;
      if (this.#inBase64[state] === ROOT) this.#inBase64[state] = this.#inBase64[fail] ?? ROOT;
      if (this.#foundInBase64[state] === 0) this.#foundInBase64[state] = this.#foundInBase64[fail] ?? 0;
    }
  }

  /** All states except the root, in the order of their depths. */
  #byDepth(size: number): Int32Array {
    const places = new Int32Array(this.longest + 2);
    const at = (depth: number): number => places[depth] ?? 0;
    for (let state = 1; state < size; state++) places[this.depth(state) + 1] = at(this.depth(state) + 1) + 1;
    for (let depth = 1; depth < places.length; depth++) places[depth] = at(depth) + at(depth - 1);
    const order = new Int32Array(size - 1);
    for (let state = 1; state < size; state++) {
      const place = at(this.depth(state));
      order[place] = state;
      places[this.depth(state)] = place + 1;
    }
    return order;
  }
}
