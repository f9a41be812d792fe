/**
 * Regular expressions from outside, matched in linear time, with a bound on the work. Pure.
 *
 * The package re2js cannot take this place: its searches have no such bound and cannot be stopped (`a.{900}b` takes it
 * seconds for half a megabyte), it counts matches a hundred times slower, and `cost.ts` needs the parser anyway.
 */
import { Automaton, type Budget } from "./automaton.ts";
import { requiredTexts } from "./literals.ts";
import { parsePattern, Refusal } from "./parse.ts";
import { compileProgram } from "./program.ts";

export interface Pattern {
  /** Whether a text may have a match: a cheap look for texts that each match contains. */
  mayMatch: (text: string) => boolean;
  /** The number of non-overlapping matches in a text; `null`: the budget is used up. */
  count: (text: string, budget: Budget) => number | null;
}

/**
 * A case-insensitive expression over lower-cased text; `^` and `$` match at the ends of lines. `reason`: why it is
 * refused, e.g. for look-around, back-references, or its size.
 * @param options `cased`: the expression is over unchanged text, and distinguishes capital letters
 */
export function compilePattern(
  source: string,
  { cased = false }: { cased?: boolean } = {},
): { ok: true; pattern: Pattern } | { ok: false; reason: string } {
  try {
    const tree = parsePattern(source, cased);
    const automaton = new Automaton(compileProgram(tree));
    const required = requiredTexts(tree);
    const mayMatch = (text: string): boolean => required?.some((part) => text.includes(part)) ?? true;
    const count = (text: string, budget: Budget): number | null =>
      mayMatch(text) ? automaton.count(text, budget) : 0;
    return { ok: true, pattern: { mayMatch, count } };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, reason: error.message };
    throw error;
  }
}
