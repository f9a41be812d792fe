/**
 * Regular expressions from outside, matched in linear time, with a bound on the work. Pure.
 *
 * The package re2js cannot take this place: its searches have no such bound and cannot be stopped (`a.{900}b` takes it
 * seconds for half a megabyte), it counts matches a hundred times slower, and `cost.ts` needs the parser anyway.
 */
import { Automaton, type Budget } from "./automaton.ts";
import { onlyUnit } from "./char-set.ts";
import { type Node, parsePattern, Refusal } from "./parse.ts";
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

const MAX_ALTERNATIVES = 16;

/** Texts, at least one of which every match contains; `null`: unknown. */
function requiredTexts(node: Node): string[] | null {
  const found = needles(node);
  return found?.every((text) => text.length > 1) === true ? found : null;
}

function needles(node: Node): string[] | null {
  switch (node.kind) {
    case "unit":
    case "assert": {
      const text = exactText(node);
      return text === null || text === "" ? null : [text];
    }
    case "sequence":
      return best(node.parts);
    case "choice": {
      const all = node.options.map(needles);
      const texts = all.flatMap((some) => some ?? []);
      return all.includes(null) || texts.length > MAX_ALTERNATIVES ? null : [...new Set(texts)];
    }
    case "repeat":
      return node.min === 0 ? null : needles(node.part);
  }
}

/** The most selective texts of a sequence. Adjacent plain text counts as one. */
function best(parts: readonly Node[]): string[] | null {
  const candidates: (string[] | null)[] = [];
  let run = "";
  for (const part of parts) {
    const text = exactText(part);
    if (text !== null) {
      run += text;
      continue;
    }
    candidates.push([run], needles(part));
    run = "";
  }
  candidates.push([run]);
  const shortest = (texts: readonly string[]): number => Math.min(...texts.map((text) => text.length));
  const able = candidates.filter((texts) => texts !== null && shortest(texts) > 0);
  return able.toSorted((a, b) => shortest(b ?? []) - shortest(a ?? []))[0] ?? null;
}

/** The only text that a node matches; `null`: there are several, or it depends on more than text. */
function exactText(node: Node): string | null {
  switch (node.kind) {
    case "unit": {
      const unit = onlyUnit(node.set);
      return unit === null ? null : String.fromCharCode(unit);
    }
    case "assert":
      return "";
    case "sequence": {
      const texts = node.parts.map(exactText);
      return texts.includes(null) ? null : texts.join("");
    }
    default:
      return null;
  }
}
