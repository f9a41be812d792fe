/** Ranks documents by the words of a query: Okapi BM25 (Robertson & Zaragoza 2009). */

const K1 = 1.5;
const B = 0.75;

/** Where words occur; built once and queried often. */
export interface WordIndex {
  /** Per word: document, frequency, document, frequency, … */
  postings: ReadonlyMap<string, readonly number[]>;
  /** Number of words of each document. */
  lengths: readonly number[];
  averageLength: number;
}

/**
 * Lower-cased runs of letters and digits: `open_file` is two words. Scripts without blanks between words give pairs of
 * neighbouring characters, as usual for BM25 in these languages.
 */
export function wordsOf(text: string): string[] {
  const words =
    text
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{Alphabetic}\p{M}\p{N}]+/gu) ?? [];
  return UNSPACED.test(text) ? words.flatMap(withPairs) : words;
}

/** The pairs alone. */
export const pairsIn = (text: string): string[] =>
  UNSPACED.test(text) ? wordsOf(text).filter((word) => UNSPACED.test(word)) : [];

const SCRIPTS = "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}";
const UNSPACED = new RegExp(`[${SCRIPTS}]`, "u");
const PIECES = new RegExp(`[${SCRIPTS}]+|[^${SCRIPTS}]+`, "gu");

const withPairs = (word: string): string[] =>
  (word.match(PIECES) ?? []).flatMap((piece) => {
    const characters = Array.from(piece);
    return characters.length < 3 || !UNSPACED.test(piece)
      ? [piece]
      : characters.slice(1).map((character, before) => `${characters[before]}${character}`);
  });

/** Costs time in proportion to the number of words. */
export const indexWords = (documents: readonly string[]): WordIndex => indexTokens(documents.map(wordsOf));

/** The same for documents that are already split into words. */
export function indexTokens(documents: readonly (readonly string[])[]): WordIndex {
  const postings = new Map<string, number[]>();
  const lengths: number[] = [];
  let total = 0;
  for (const [number, words] of documents.entries()) {
    lengths.push(words.length);
    total += words.length;
    for (const word of words) {
      const list = postings.get(word);
      if (list === undefined) postings.set(word, [number, 1]);
      else if (list[list.length - 2] !== number) list.push(number, 1);
      else list[list.length - 1] = (list[list.length - 1] ?? 0) + 1;
    }
  }
  return { postings, lengths, averageLength: total / Math.max(1, documents.length) };
}

/** The score of every document; 0: it shares no word. A word that the query repeats counts each time. */
export function wordScores(index: WordIndex, query: readonly string[]): Float64Array {
  const { postings, lengths, averageLength } = index;
  const scores = new Float64Array(lengths.length);
  const repeats = new Map<string, number>();
  for (const word of query) repeats.set(word, (repeats.get(word) ?? 0) + 1);
  for (const [word, times] of repeats) {
    const list = postings.get(word) ?? [];
    const containing = list.length / 2;
    const idf = Math.log((lengths.length - containing + 0.5) / (containing + 0.5) + 1);
    for (let i = 0; i < list.length; i += 2) {
      const number = list[i] ?? 0;
      const frequency = list[i + 1] ?? 0;
      const norm = K1 * (1 - B + (B * (lengths[number] ?? 0)) / averageLength);
      scores[number] = (scores[number] ?? 0) + (times * idf * frequency * (K1 + 1)) / (frequency + norm);
    }
  }
  return scores;
}
