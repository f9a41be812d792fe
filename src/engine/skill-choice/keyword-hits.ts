/** How many words of a query are parts of texts, at a cost that does not depend on the number of words. Pure. */

/** Words with fewer characters say nothing. */
const MIN_LENGTH = 3;

export interface Keywords {
  /** How often the query has each word. */
  counts: ReadonlyMap<string, number>;
  /** The lengths of the words, ascending. */
  lengths: readonly number[];
}

const wordsOf = (text: string): string[] =>
  text
    .normalize("NFC")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length >= MIN_LENGTH);

export function keywordsOf(query: string): Keywords {
  const counts = new Map<string, number>();
  for (const word of wordsOf(query)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const lengths = new Set(Array.from(counts.keys(), ({ length }) => length));
  return { counts, lengths: Array.from(lengths).sort((a, b) => a - b) };
}

/**
 * The number of the query's words that are parts of the text; a word counts as often as the query has it. A part of a
 * text that is a word lies within one of the text's own words, so it is these that Hull looks up, and not the query's.
 */
export function hitsIn(text: string, { counts, lengths }: Keywords): number {
  const found = new Set<string>();
  for (const word of new Set(wordsOf(text))) {
    for (const length of lengths) {
      if (length > word.length) break;
      for (let at = 0; at + length <= word.length; at++) {
        const part = word.slice(at, at + length);
        if (counts.has(part)) found.add(part);
      }
    }
  }
  return Array.from(found).reduce((sum, part) => sum + (counts.get(part) ?? 0), 0);
}
