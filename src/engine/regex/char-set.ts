/** Sets of UTF-16 code units. Those of case-insensitive expressions are sets of units of lower-cased text. */
import { once } from "../../memo.ts";

/** Sorted, disjoint ranges: first, last, first, last, … */
export type CharSet = readonly number[];

const MAX_UNIT = 0xffff;

/** The set of some ranges, in any order. */
export function setOf(...ranges: (readonly [number, number])[]): CharSet {
  const sorted = ranges.toSorted((a, b) => a[0] - b[0]);
  const merged: number[] = [];
  for (const [first, last] of sorted) {
    const end = merged.at(-1);
    if (end !== undefined && first <= end + 1) merged[merged.length - 1] = Math.max(end, last);
    else merged.push(first, last);
  }
  return merged;
}

export function union(sets: readonly CharSet[]): CharSet {
  return setOf(...sets.flatMap(rangesOf));
}

export function complement(set: CharSet): CharSet {
  const rest: [number, number][] = [];
  let from = 0;
  for (const [first, last] of rangesOf(set)) {
    if (first > from) rest.push([from, first - 1]);
    from = last + 1;
  }
  if (from <= MAX_UNIT) rest.push([from, MAX_UNIT]);
  return setOf(...rest);
}

export function contains(set: CharSet, unit: number): boolean {
  for (let i = 0; i < set.length; i += 2) {
    if (unit <= (set[i + 1] ?? -1)) return unit >= (set[i] ?? Number.POSITIVE_INFINITY);
  }
  return false;
}

/** The unit of a set with exactly one unit, else `null`. */
export function onlyUnit(set: CharSet): number | null {
  return set.length === 2 && set[0] === set[1] ? (set[0] ?? null) : null;
}

/** A range in lower-cased text. Its upper-case letters stay in the set, since lower-cased text has none. */
export function lowered(first: number, last: number): CharSet {
  const ranges: [number, number][] = [[first, last]];
  const from = Math.max(first, 0x41);
  const to = Math.min(last, 0x5a);
  if (from <= to) ranges.push([from + 32, to + 32]);
  if (last > 0x7f) {
    for (const [upper, lower] of letterPairs()) {
      if (upper >= first && upper <= last) ranges.push([lower, lower]);
    }
  }
  return setOf(...ranges);
}

function rangesOf(set: CharSet): [number, number][] {
  const ranges: [number, number][] = [];
  for (let i = 0; i < set.length; i += 2) ranges.push([set[i] ?? 0, set[i + 1] ?? 0]);
  return ranges;
}

/** Capital letters beyond ASCII with their lower-case forms, according to the platform. */
const letterPairs = once((): [number, number][] => {
  const pairs: [number, number][] = [];
  for (let unit = 0x80; unit <= MAX_UNIT; unit++) {
    const upper = String.fromCharCode(unit);
    const lower = upper.toLowerCase();
    if (lower !== upper && lower.length === 1) pairs.push([unit, lower.charCodeAt(0)]);
  }
  return pairs;
});

export const DIGIT = setOf([0x30, 0x39]);
export const WORD = setOf([0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]);
/** ECMA-262: white space and line terminators. */
export const SPACE = setOf(
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
);
/** ECMA-262: line terminators, which `.` excludes. */
export const LINE_END = setOf([0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]);
/** The halves of a surrogate pair. */
export const HIGH = setOf([0xd800, 0xdbff]);
export const LOW = setOf([0xdc00, 0xdfff]);

/** Whether a set has all characters beyond U+FFFF: sets that name members cannot have any. */
export const isWide = (set: CharSet): boolean => contains(set, 0xd800) && contains(set, 0xdfff);

export const ANY = setOf([0, MAX_UNIT]);
