/** Regular expressions from outside, matched in linear time. Pure. */
import { Automaton } from "./automaton.ts";
import { leadingText, requiredTexts } from "./literals.ts";
import { parsePattern, Refusal } from "./parse.ts";
import { compileProgram } from "./program.ts";

export interface Pattern {
  automaton: Automaton;
  /** Texts, one of which every match contains; `null`: unknown. */
  required: readonly string[] | null;
  /** The text that every match begins with; `""`: there is none. */
  lead: string;
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
    return { ok: true, pattern: { automaton, required: requiredTexts(tree), lead: leadingText(tree) } };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, reason: error.message };
    throw error;
  }
}
