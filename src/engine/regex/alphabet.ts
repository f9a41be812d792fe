/** Units that an expression cannot distinguish become one letter, so that tables stay small. */
import { type CharSet, contains, LINE_END, WORD } from "./char-set.ts";
import type { Program } from "./program.ts";

export interface Alphabet {
  /** The letter of each UTF-16 unit. */
  letterOf: Uint16Array;
  /** Number of letters. */
  size: number;
  /** A sample unit of each letter. */
  units: readonly number[];
}

/** The alphabet of a program's sets and of its assertions. */
export function alphabetOf({ instructions }: Program): Alphabet {
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
