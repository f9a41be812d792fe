/** The words by which skills and prompts are compared: lower-cased, stemmed lightly, without those that tell nothing. Pure. */
import { once } from "../../memo.ts";

/** Words of every request and every description. */
const STOP_WORDS = new Set(
  `a about above after again against all also am an and another any are aren as at be because been before being below
  between both but by can cannot could couldn did didn do does doesn doing don done down during each either else etc even
  ever every few for from further had has hasn have haven having he her here hers him his how however i if in into is isn
  it its itself just let like ll many may me might mine more most much must my near neither no nor not now of off often on
  once one only onto or other our ours out over own per please quite rather re really same shall she should shouldn since
  so some someone something such than that the their theirs them then there these they thing things this those through
  thus to too two under until up upon us use used useful user users uses using ve very via want wanted wants was wasn way
  we well were what whatever when whenever where whether which while who whom whose why will with within without won would
  yes yet you your yours
  able ask asked asks case cases come comes create created creates creating currently different do e eg ensure example
  examples existing find follow following g general get gets getting give given gives go goes going good great handle
  handles help helpful helps ie include included includes including involve involved involves involving keep kind know
  look looking made main make makes making mention mentioned mentions need needed needs new provide provided provides
  providing related request requested requests required requires run running say see set several show simple
  specific start support supports sure take takes task tasks tell trigger triggers try type types various want whatever
  work works working write writes writing written`.split(/\s+/),
);

/** Words that requests of every kind have, and descriptions of many kinds of skills. */
const COMMON_WORDS = `add analyze answer app article build bug calculate change check class clean code color column combine
  compare compute content convert copy count data date delete design directory document draft edit edited email error
  explain export extract fast file fix folder format function generate handling idea image import improve info information
  input install item language large line link list load local log message model modify move multiple name note number open
  optimize output page paragraph parse plan problem process program project prompt python query question quick read
  rename replace report result review save script search section send sentence server service site size slow small sort
  split step store string structure style summarize summary system table tell template test text title tool translate
  update value variable version view web word year`;

/** Names of one thing: the second is read wherever the first stands. */
const SAME = new Map([
  ["excel", "xlsx"],
  ["xls", "xlsx"],
  ["xlsm", "xlsx"],
  ["powerpoint", "pptx"],
  ["ppt", "pptx"],
  ["deck", "pptx"],
  ["doc", "docx"],
  ["yml", "yaml"],
  ["jpeg", "jpg"],
  ["js", "javascript"],
  ["ts", "typescript"],
  ["k8s", "kubernetes"],
  ["spreadsheet", "xlsx"],
  ["slideshow", "pptx"],
]);

/** What words come to, by how they are written: texts of one kind repeat them. */
export type KnownWords = Map<string, readonly string[]>;

/**
 * The words of a text. Identifiers count whole and in their parts (`web-app`, `loadSkill`); `.xlsx` is the word `xlsx`; a
 * program's name and the extension of its files are one word.
 * @param known is added to; the same for many texts
 */
export function telling(text: string, known: KnownWords = new Map()): string[] {
  const words: string[] = [];
  for (const written of text.match(isAscii(text) ? ASCII_WORD : WORD) ?? []) {
    let own = known.get(written);
    if (own === undefined) {
      own = wordsOf(written);
      known.set(written, own);
    }
    for (const word of own) words.push(word);
  }
  // Word, the program: the word alone is a word.
  if ((text.includes("ord ") || text.includes("Word")) && WORD_FILES.some((form) => form.test(text)))
    words.push("docx");
  return words;
}

const WORD = /[\p{L}\p{N}]+(?:[-_'’][\p{L}\p{N}]+)*/gu;
/** The same of a text of ASCII alone, which is read much faster. */
const ASCII_WORD = /[A-Za-z0-9]+(?:[-_'][A-Za-z0-9]+)*/g;
const WORD_FILES = [
  /\bword (?:doc|file|document|format|report|letter|memo)/i,
  /\bMicrosoft Word\b|\bin Word\b|\bWord's\b/,
];

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);

function wordsOf(written: string): readonly string[] {
  const lower = written.toLowerCase();
  const same = SAME.get(singular(lower));
  if (same !== undefined) return [same];
  // Most words are plain ones.
  if (PLAIN.test(written)) return lower.length === 1 || STOP_WORDS.has(lower) ? NONE : [stemmed(lower)];
  const parts = partsOf(written);
  const kept = parts.filter((part) => !STOP_WORDS.has(part) && (part.length > 1 || /\p{Lo}/u.test(part)));
  const stems = kept.map((part) => SAME.get(singular(part)) ?? stemmed(part));
  return parts.length > 1 && stems.length > 1 ? [...stems, stems.join("-")] : stems;
}

function partsOf(written: string): string[] {
  if (JOINED.test(written)) return written.split(/[-_]/);
  return written
    .replace(/['’]s\b/g, "")
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1-$2")
    .toLowerCase()
    .split(/[-_'’]/);
}

const JOINED = /^[a-z0-9_-]+$/;
const PLAIN = /^[A-Z]?[a-z0-9]+$/;
const NONE: readonly string[] = [];

const singular = (word: string): string => (word.length > 3 && word.endsWith("s") ? word.slice(0, -1) : word);

/** No ending comes before one that ends with it. */
const ENDINGS = [
  "ations",
  "ation",
  "ings",
  "ing",
  "ers",
  "er",
  "ed",
  "or",
  "ment",
  "ly",
  "able",
  "ive",
  "ion",
];

/** Without the endings of numbers and tenses: `merged`, `merging` and `merges` are one. */
export function stemmed(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  let stem = word.endsWith("s") ? withoutPlural(word) : word;
  const ending = ENDINGS.find((end) => stem.endsWith(end));
  if (ending !== undefined && stem.length - ending.length >= 4) {
    stem = withoutDoubled(stem.slice(0, -ending.length));
  } else if (stem.length >= 6 && /[aeiouy].*(?:ing|ed)$/.test(stem)) {
    stem = withoutDoubled(stem.replace(/(?:ing|ed)$/, ""));
  }
  if (stem.endsWith("e")) stem = stem.slice(0, -1);
  return stem.endsWith("y") ? stem.replace(/([^aeiou])y$/, "$1i") : stem;
}

function withoutPlural(word: string): string {
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2);
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word;
}

/** `stopp` is `stop`, `call` is `call`. */
const withoutDoubled = (stem: string): string =>
  stem.at(-1) === stem.at(-2) && /[^aeiouls]$/.test(stem) ? stem.slice(0, -1) : stem;

/** Whether a word of `telling` is one that says little of what a request is about. */
export const isCommon = (word: string): boolean => commonStems().has(word);

const commonStems = once(() => new Set(COMMON_WORDS.split(/\s+/).map(stemmed)));
