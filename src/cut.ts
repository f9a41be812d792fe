/** Cuts texts at Unicode characters: providers refuse half a surrogate pair. Pure. */

/** The first characters of a text, without splitting a surrogate pair. @param most UTF-16 units */
export function firstOf(text: string, most: number): string {
  if (text.length <= most) return text;
  return isLowSurrogate(text, most) ? text.slice(0, Math.max(0, most - 1)) : text.slice(0, most);
}

/** The last characters of a text, without splitting a surrogate pair. @param most UTF-16 units */
export function lastOf(text: string, most: number): string {
  const from = Math.max(0, text.length - most);
  return text.slice(isLowSurrogate(text, from) ? from + 1 : from);
}

const isLowSurrogate = (text: string, at: number): boolean => /[\uDC00-\uDFFF]/.test(text.charAt(at));
