/**
 * Runs a program as an automaton that makes its states when first reached: each unit of text costs one table lookup,
 * whatever the expression (Cox, "Regular Expression Matching in the Wild", 2010). A state is the ordered list of
 * instructions that are still possible; the order makes matches those of a backtracking engine.
 */
import { type CharSet, contains, LINE_END, WORD } from "./char-set.ts";
import { type Assertion, isLineEnd, isWord } from "./parse.ts";
import type { Program } from "./program.ts";

/** The work left, counted in table lookups and visited instructions. */
export interface Budget {
  left: number;
}

/** What precedes a position. */
const TEXT_START = 0;
const LINE_START = 1;
const AFTER_WORD = 2;
const ELSEWHERE = 3;

/** What a step reports about matches that end before the unit read. */
const EMPTY = 1;
const FILLED = 2;

interface State {
  /** Instructions to continue with, most preferred first; all have read something. */
  kernel: readonly number[];
  before: number;
  /** Whether a match may still begin. */
  searching: boolean;
}

/** What a new cell costs in addition to the instructions visited. */
const STATE_COST = 20;
/** The most cells of the table, and instructions in its states: some 15 MB. When either is used up, the table is emptied. */
const MAX_CELLS = 1 << 18;
const MAX_HELD = 1 << 20;
const DEAD = 0;

export class Automaton {
  readonly #program: Program;
  readonly #alphabet: Alphabet;
  /** The letter for the end of the text. */
  readonly #end: number;
  readonly #width: number;
  readonly #maxStates: number;
  readonly #asserts: boolean;
  #states: State[] = [];
  #rows = new Map<string, number>();
  /** Number of instructions in all states. */
  #held = 0;
  /**
   * By row and letter (a state's row is its number · width). Positive: the next row, and nothing else to report.
   * Negative: -1 - (the next row · 4 + the kind of match). 0: not known yet.
   */
  #table: Int32Array;
  /** The rows in which a search begins, by what precedes the text; -1: not created yet. */
  readonly #starts = new Int32Array(4);
  /** Marks of the current step; reused, since sets would have to be emptied. */
  readonly #seen: Int32Array;
  readonly #queued: Int32Array;
  #mark = 0;

  constructor(program: Program) {
    this.#program = program;
    this.#alphabet = alphabetOf(program);
    this.#end = this.#alphabet.size;
    this.#width = this.#alphabet.size + 1;
    this.#maxStates = Math.max(8, Math.floor(MAX_CELLS / this.#width));
    this.#asserts = program.instructions.some(({ op }) => op === "assert");
    this.#seen = new Int32Array(program.instructions.length);
    this.#queued = new Int32Array(program.instructions.length);
    this.#table = new Int32Array(this.#width * 64);
    this.#reset();
  }

  /** The number of non-overlapping matches; `null`: the budget is used up. */
  count(text: string, budget: Budget): number | null {
    const { letterOf } = this.#alphabet;
    const end = text.length;
    let matches = 0;
    for (let from = 0; from <= end; ) {
      let row = this.#startRow(this.#context(text, from));
      let matchEnd = -1;
      let kind = 0;
      let at = from;
      let table = this.#table;
      for (; at <= end; at++) {
        let cell = 0;
        // The hot loop: nothing to report, on to the next row.
        for (; at < end; at++) {
          cell = table[row + (letterOf[text.charCodeAt(at)] ?? 0)] ?? 0;
          if (cell <= 0) break;
          row = cell;
        }
        const letter = at < end ? (letterOf[text.charCodeAt(at)] ?? 0) : this.#end;
        if (at === end) cell = table[row + letter] ?? 0;
        if (cell === 0) {
          cell = this.#step(row, letter, budget);
          table = this.#table;
        }
        const step = cell > 0 ? cell << 2 : -1 - cell;
        if ((step & 3) !== 0) {
          matchEnd = at;
          kind = step & 3;
        }
        row = step >> 2;
        if (row === DEAD) break;
      }
      budget.left -= at - from + 1;
      if (budget.left < 0) return null;
      if (matchEnd === -1) return matches;
      matches++;
      from = kind === EMPTY ? behind(text, matchEnd) : matchEnd;
    }
    return matches;
  }

  #startRow(before: number): number {
    const known = this.#starts[before] ?? -1;
    if (known !== -1) return known;
    const row = this.#row({ kernel: [], before, searching: true });
    this.#starts[before] = row;
    return row;
  }

  #context(text: string, at: number): number {
    if (!this.#asserts) return ELSEWHERE;
    return at === 0 ? TEXT_START : contextAfter(text.charCodeAt(at - 1));
  }

  /** Computes one cell: where `letter` leads from a state, and whether a match ends before it. */
  #step(row: number, letter: number, budget: Budget): number {
    const state = this.#states[row / this.#width];
    if (state === undefined || budget.left < 0) return -1;
    const { instructions, start } = this.#program;
    const unit = letter === this.#end ? null : (this.#alphabet.units[letter] ?? null);
    const mark = ++this.#mark;
    const kernel: number[] = [];
    let match = 0;
    const roots = state.searching ? [...state.kernel, start] : state.kernel;
    for (let i = 0; i < roots.length && match === 0; i++) {
      const stack = [roots[i] ?? 0];
      for (let pc = stack.pop(); pc !== undefined && match === 0; pc = stack.pop()) {
        budget.left--;
        const instruction = instructions[pc];
        if (instruction === undefined || this.#seen[pc] === mark) continue;
        this.#seen[pc] = mark;
        switch (instruction.op) {
          case "split":
            stack.push(instruction.second, instruction.first);
            break;
          case "assert":
            if (holds(instruction.what, state.before, unit)) stack.push(instruction.next);
            break;
          case "unit":
            if (unit !== null && this.#queued[instruction.next] !== mark && contains(instruction.set, unit)) {
              this.#queued[instruction.next] = mark;
              kernel.push(instruction.next);
            }
            break;
          case "match":
            // Cut off less preferred instructions; no further match may begin.
            match = i < state.kernel.length ? FILLED : EMPTY;
        }
      }
    }
    // Naming and keeping a state costs more than visiting an instruction.
    budget.left -= STATE_COST + 4 * kernel.length;
    const searching = state.searching && match === 0;
    const over = unit === null || (kernel.length === 0 && !searching);
    const before = this.#asserts && unit !== null ? contextAfter(unit) : ELSEWHERE;
    const full = this.#states.length >= this.#maxStates || this.#held > MAX_HELD;
    if (full) this.#reset();
    const next = over ? DEAD : this.#row({ kernel, before, searching });
    const cell = next !== DEAD && match === 0 ? next : -1 - ((next << 2) | match);
    if (!full) this.#table[row + letter] = cell;
    return cell;
  }

  /** The row of a new or known state. */
  #row(state: State): number {
    const key = `${state.before}${state.searching ? "s" : "m"}${state.kernel.join()}`;
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const row = (this.#states.push(state) - 1) * this.#width;
    this.#rows.set(key, row);
    this.#held += state.kernel.length;
    if (row + this.#width > this.#table.length) {
      const larger = new Int32Array(this.#table.length * 2);
      larger.set(this.#table);
      this.#table = larger;
    }
    return row;
  }

  #reset(): void {
    this.#states = [{ kernel: [], before: ELSEWHERE, searching: false }];
    this.#rows = new Map();
    this.#held = 0;
    this.#starts.fill(-1);
    this.#table.fill(0);
  }
}

/** The position behind the character at another one. */
const behind = (text: string, at: number): number => at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);

function contextAfter(unit: number): number {
  if (isWord(unit)) return AFTER_WORD;
  return isLineEnd(unit) ? LINE_START : ELSEWHERE;
}

/** @param unit the next unit; `null`: the text ends */
function holds(what: Assertion, before: number, unit: number | null): boolean {
  switch (what) {
    case "text_start":
      return before === TEXT_START;
    case "text_end":
      return unit === null;
    case "line_start":
      return before === TEXT_START || before === LINE_START;
    case "line_end":
      return unit === null || isLineEnd(unit);
    case "boundary":
    case "no_boundary": {
      const differs = (before === AFTER_WORD) !== (unit !== null && isWord(unit));
      return differs === (what === "boundary");
    }
  }
}

interface Alphabet {
  /** The letter of each UTF-16 unit. */
  letterOf: Uint16Array;
  /** Number of letters. */
  size: number;
  /** A sample unit of each letter. */
  units: readonly number[];
}

/**
 * The alphabet of a program's sets and of its assertions: units that they cannot distinguish become one letter, so that
 * tables stay small.
 */
function alphabetOf({ instructions }: Program): Alphabet {
  const sets = new Map<string, CharSet>();
  for (const instruction of instructions) {
    if (instruction.op === "unit") sets.set(instruction.set.join(), instruction.set);
    if (instruction.op === "assert") sets.set("word", WORD).set("line end", LINE_END);
  }
  const edges = new Set([0]);
  for (const set of sets.values()) {
    for (let i = 0; i < set.length; i += 2) edges.add(set[i] ?? 0).add((set[i + 1] ?? 0) + 1);
  }
  const starts = Array.from(edges).sort((a, b) => a - b);
  const letterOf = new Uint16Array(0x10000);
  const letters = new Map<string, number>();
  const units: number[] = [];
  for (const [i, start] of starts.entries()) {
    const key = Array.from(sets.values(), (set) => (contains(set, start) ? "1" : "0")).join("");
    const letter = letters.get(key) ?? units.push(start) - 1;
    letters.set(key, letter);
    letterOf.fill(letter, start, starts[i + 1] ?? letterOf.length);
  }
  return { letterOf, size: units.length, units };
}
