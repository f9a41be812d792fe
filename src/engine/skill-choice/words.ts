/**
 * The words that compare skills and prompts: lower-cased, lightly stemmed, without stop words. The stems of Porter's rules,
 * which the package stemmer has, are not light: `general` and `generator` become one. Pure.
 */
import { once } from "../../memo.ts";

/** Words that are common to all requests and descriptions. */
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

/** Words that occur in requests of every kind, and in descriptions of many kinds of skills. */
const COMMON_WORDS = `add analyze answer app article build bug calculate change check class clean code color column combine
  compare compute content convert copy count data date delete design directory document draft edit edited email error
  explain export extract fast file fix folder format function generate handling idea image import improve info information
  input install item language large line link list load local log message model modify move multiple name note number open
  optimize output page paragraph parse plan problem process program project prompt python query question quick read
  rename replace report result review save script search section send sentence server service site size slow small sort
  split step store string structure style summarize summary system table tell template test text title tool translate
  update value variable version view web word year`;

/** More words of everyday requests. Skills have such names, but a request with the word need not mean the skill. */
const EVERYDAY_WORDS = `access agent api assistant audio blog brainstorming brand browser budget business button calendar
  call camera chart chat client coach command commit community company computer config configure connect contact content
  context control cook course css csv customer daily dashboard database debug deploy develop device diagram docs docx
  domain download draw event excel finance flow focus form game git github goal google graph greet guide health hello
  help history home html http icon infographics internet interview invoice java javascript job journal json key kit
  launch law learn legal lesson letter library life linux loop mail manage map markdown market marketing math media
  meeting memory menu metric mobile modal mode monitor movie music network news notes office order outline package paper
  password payment pdf people personal phone photo picture pitch play playground poem poll post pptx present press price
  print private product profile publish quiz receipts recipe record release remember reminder remote research resource
  resume rewrite rule sales scan schedule school score screen secret security select sell setup share shell ship shop
  sign slides social song sound source speech spell sport sql stack state status stock story strategy study sum svg sync
  talk target teach team terminal ticket time todo track trade train transformers travel tree tweet typescript upload url
  video vision voice war watch weather website wiki window xlsx xml yaml`;

/** Different names of the same thing: the first name of each pair counts as the second. */
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

/**
 * The words of a text. Identifiers count both whole and in parts (`web-app`, `loadSkill`); `.xlsx` is the word `xlsx`;
 * a program's name and its file extension are one word.
 * @param known the words of each spelling, since similar texts repeat them: a cache that grows; share it between texts
 */
export function significantWords(text: string, known: Map<string, readonly string[]> = new Map()): string[] {
  const words: string[] = [];
  for (const written of writtenWords(text)) {
    const had = known.get(written);
    const own = had ?? wordsOf(written);
    if (had === undefined) known.set(written, own);
    for (const word of own) words.push(word);
  }
  if (meansWordFiles(text)) words.push("docx");
  return words;
}

/** Each of the words once. It reads each spelling once, so a long text costs little more than finding its spellings. */
export function distinctWords(text: string): string[] {
  const spellings = new Set(writtenWords(text));
  const words = new Set(Array.from(spellings).flatMap(wordsOf));
  if (meansWordFiles(text)) words.add("docx");
  return [...words];
}

/** Whether a text speaks of Word, the program: on its own it is a plain word. */
const meansWordFiles = (text: string): boolean =>
  (text.includes("ord ") || text.includes("Word")) && WORD_FILES.some((form) => form.test(text));

/** One word may be written in several forms of Unicode. */
const writtenWords = (text: string): readonly string[] => text.normalize("NFC").match(WORD) ?? NONE;

const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[-_'’][\p{L}\p{M}\p{N}]+)*/gu;
const WORD_FILES = [
  /\bword (?:doc|file|document|format|report|letter|memo)/i,
  /\bMicrosoft Word\b|\bin Word\b|\bWord's\b/,
];

function wordsOf(written: string): readonly string[] {
  const lower = written.toLowerCase();
  const same = SAME.get(singular(lower));
  if (same !== undefined) return [same];
  // A short way for plain words, the most common ones.
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

/** Longer endings come before the shorter ones that they end with. */
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

/** Removes the endings of numbers and tenses: `merged`, `merging` and `merges` become one. */
export function stemmed(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  let stem = word.endsWith("s") ? withoutPlural(word) : word;
  const ending = ENDINGS.find((end) => stem.endsWith(end));
  const begun = stem.replace(/(?:ing|ed)$/, "");
  if (ending !== undefined && stem.length - ending.length >= 4) {
    stem = withoutDoubled(stem.slice(0, -ending.length));
  } else if (stem.length >= 6 && begun !== stem && /[aeiouy]/.test(begun)) {
    stem = withoutDoubled(begun);
  }
  if (stem.endsWith("e")) stem = stem.slice(0, -1);
  return stem.endsWith("y") ? stem.replace(/([^aeiou])y$/, "$1i") : stem;
}

function withoutPlural(word: string): string {
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2);
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word;
}

/** `stopp` becomes `stop`, `call` stays `call`. */
const withoutDoubled = (stem: string): string =>
  stem.at(-1) === stem.at(-2) && /[^aeiouls]$/.test(stem) ? stem.slice(0, -1) : stem;

/** Whether a word of `significantWords` says little about the subject of a request. */
export const isCommon = (word: string): boolean => commonStems().has(word);

const commonStems = once(() => new Set(COMMON_WORDS.split(/\s+/).map(stemmed)));

/** Whether a word, in lower case, names something by itself. */
export const isProperName = (word: string): boolean =>
  word.length > 2 && !STOP_WORDS.has(word) && !isCommon(stemmed(word)) && !everydayStems().has(stemmed(word));

const everydayStems = once(() => new Set(EVERYDAY_WORDS.split(/\s+/).map(stemmed)));
