/** Cuts texts at Unicode characters: providers refuse half a surrogate pair. Pure. */

/** The first characters of a text, without splitting a surrogate pair. @param most UTF-16 units */
export function firstOf(text: string, most: number): string {
  if (text.length <= most) return text;
  return isLowSurrogate(text, most) ? text.slice(0, Math.max(0, most - 1)) : text.slice(0, most);
}

/**
 * The first words of a text, without a part of one: nobody could find and redact a part of a secret. So it cuts texts that
 * are redacted only later. A blank, a quote or a character that is not ASCII ends a word; of a very long word a part stays.
 * @param most UTF-16 units
 */
export function firstWords(text: string, most: number): string {
  const end = Math.min(most, text.length);
  let to = end;
  while (isInWord(text, to)) to -= 1;
  return firstOf(text, end - to > LONGEST_WORD ? end : to);
}

/** Longer words are no secrets, but output without blanks. */
const LONGEST_WORD = 1000;

/** The last words of a text, likewise. */
export function lastWords(text: string, most: number): string {
  const start = Math.max(0, text.length - most);
  let from = start;
  while (isInWord(text, from)) from += 1;
  return lastOf(text, text.length - (from - start > LONGEST_WORD ? start : from));
}

/** Whether a cut before this character would split a word. */
const isInWord = (text: string, at: number): boolean =>
  /^[!#-&(-~]{2}$/.test(text.slice(Math.max(0, at - 1), at + 1));

/** The last characters of a text, without splitting a surrogate pair. @param most UTF-16 units */
export function lastOf(text: string, most: number): string {
  const from = Math.max(0, text.length - most);
  return text.slice(isLowSurrogate(text, from) ? from + 1 : from);
}

const isLowSurrogate = (text: string, at: number): boolean => /[\uDC00-\uDFFF]/.test(text.charAt(at));
