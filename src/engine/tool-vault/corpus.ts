/** The text that a search reads for each tool, and how often an expression matches in it. */
import { objectOf } from "../../skill/json.ts";
import type { Pattern } from "../regex/pattern.ts";
import type { Tool } from "../tools.ts";
import { indexWords, markHolders, type WordIndex } from "./bm25.ts";

/** Name, description, top-level parameters with their descriptions, tags: one line each, lower-cased. */
export function searchText(tool: Tool): string {
  const properties = objectOf(tool.parameters.properties);
  const parameters = Object.entries(properties).map(([name, schema]) => {
    const { description } = objectOf(schema);
    return typeof description === "string" ? `${name}: ${description}` : name;
  });
  return [tool.name, tool.description, ...parameters, ...(tool.tags ?? [])].join("\n").toLowerCase();
}

/** Documents in one text, with the index of their words. */
export interface Corpus {
  words: WordIndex;
  text: string;
  /** Where each document begins; the last entry is where a next one would. One unit separates two. */
  starts: Uint32Array;
}

export function corpusOf(documents: readonly string[]): Corpus {
  const starts = new Uint32Array(documents.length + 1);
  for (const [i, document] of documents.entries()) starts[i + 1] = (starts[i] ?? 0) + document.length + 1;
  return { words: indexWords(documents), text: documents.join("\n"), starts };
}

/** Lookups and visits that a search may cost: a fixed number, and so many per unit of text. */
const BASE_COST = 1_000_000;
const COST_PER_UNIT = 3;

/** The number of matches in each document; `null`: that would cost too much. */
export function countMatches(corpus: Corpus, pattern: Pattern): Uint32Array | null {
  const { text, starts } = corpus;
  const counts = new Uint32Array(starts.length - 1);
  const budget = { left: BASE_COST + COST_PER_UNIT * text.length };
  const marks = holders(corpus, pattern);
  const next = pattern.lead === "" ? undefined : placesOf(pattern.lead, text);
  for (let document = 0; document < counts.length; document++) {
    if (marks !== null && marks[document] === 0) continue;
    const start = starts[document] ?? 0;
    const end = (starts[document + 1] ?? 0) - 1;
    const count = pattern.automaton.count(text, { start, end }, budget, next);
    if (count === null) return null;
    counts[document] = count;
  }
  return counts;
}

/** Marks the documents that a pattern can match at all; `null`: any. */
function holders({ words }: Corpus, { required }: Pattern): Uint8Array | null {
  if (required === null) return null;
  const marks = new Uint8Array(words.lengths.length);
  return required.every((text) => markHolders(words, text, marks)) ? marks : null;
}

/**
 * Returns a function that finds the next occurrence of a text. Its positions must not decrease. Without an occurrence it
 * returns the text's end or more.
 */
function placesOf(wanted: string, text: string): (from: number) => number {
  let place = -1;
  return (from) => {
    if (place < from) {
      const found = text.indexOf(wanted, from);
      place = found === -1 ? text.length : found;
    }
    return place;
  };
}
