/** Similar names, for "did you mean" in diagnostics, in the command line and in 404 answers. */

/**
 * The candidates nearest to `name`, best first, at most `max`. Near means: equal except for letter case and `-`/`_`; or
 * an edit distance (insert, delete, replace, swap neighbours) of at most a third of the length; or, for names of at
 * least three letters, one is a prefix of the other.
 */
export function nearest(name: string, candidates: Iterable<string>, max = 1): string[] {
  const wanted = fold(name);
  if (wanted === "" || wanted.length > 100) return [];
  const scored: { candidate: string; score: number }[] = [];
  for (const candidate of candidates) {
    const folded = fold(candidate);
    const limit = Math.max(1, Math.floor(Math.max(wanted.length, folded.length) / 3));
    const prefix =
      Math.min(wanted.length, folded.length) >= 3 && (folded.startsWith(wanted) || wanted.startsWith(folded));
    if (!prefix && Math.abs(folded.length - wanted.length) > limit) continue;
    const score = distance(wanted, folded);
    if (score <= limit || prefix) scored.push({ candidate, score });
  }
  scored.sort((a, b) => a.score - b.score || (a.candidate < b.candidate ? -1 : 1));
  return scored.slice(0, max).map((s) => s.candidate);
}

function fold(name: string): string {
  return name.toLowerCase().replaceAll("-", "_");
}

/** Optimal string alignment distance, three rows at a time. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      }
      row.push(best);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
