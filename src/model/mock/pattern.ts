/**
 * Whether a pattern matches a text. Every `*` stands for any text, also empty; other characters stand for themselves;
 * letter case counts. Without `*` the two must be equal. Takes one pass over the text, whatever the pattern.
 */
export function patternFits(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  // The leftmost place of each piece leaves the most room for later pieces.
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
