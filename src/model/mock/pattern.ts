/**
 * Whether a pattern fits a text: every `*` stands for anything, also for nothing; any other character for itself; without
 * a `*` the two are equal. Case counts. Goes through the text once, whatever the pattern.
 */
export function patternFits(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  // The leftmost place of each piece leaves the most for those after it.
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
