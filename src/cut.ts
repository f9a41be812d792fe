/** Cuts texts at Unicode characters: providers refuse half a surrogate pair. Pure. */

/** The first characters of a text, without splitting a surrogate pair. @param most UTF-16 units */
export function firstOf(text: string, most: number): string {
  if (text.length <= most) return text;
  return isLowSurrogate(text, most) ? text.slice(0, Math.max(0, most - 1)) : text.slice(0, most);
}

/**
 * The first words of a text, without a part of one: nobody could find and redact a part of a secret. A blank, a quote or a
 * character that is not ASCII ends a word. @param most UTF-16 units
 */
export function firstWords(text: string, most: number): string {
  const isWithin = (at: number): boolean => at < text.length && /[!#-&(-~]/.test(text.charAt(at));
  let end = Math.min(most, text.length);
  while (end > 0 && isWithin(end) && isWithin(end - 1)) end -= 1;
  return firstOf(text, end);
}

/** The last characters of a text, without splitting a surrogate pair. @param most UTF-16 units */
export function lastOf(text: string, most: number): string {
  const from = Math.max(0, text.length - most);
  return text.slice(isLowSurrogate(text, from) ? from + 1 : from);
}

const isLowSurrogate = (text: string, at: number): boolean => /[\uDC00-\uDFFF]/.test(text.charAt(at));
