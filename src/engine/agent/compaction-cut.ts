/** Where compaction cuts a history. Pure. */

/** What the cut needs to know about a message. */
export interface CutItem {
  /** `tool`: the message holds results, and stays with the calls before it. */
  role: string;
  /**
   * Archiving it helps. False for the summary of an earlier compaction: archiving that alone would make the next
   * compaction due immediately.
   */
  fresh: boolean;
}

/** The messages from `start` up to, but without, `end`. */
export interface Span {
  start: number;
  end: number;
}

/**
 * The span that a compaction archives; `null`: nothing. The cut moves back to the beginning of a user's message. If
 * that archives nothing new, as in a long run on one prompt, it moves back to the beginning of a model's turn.
 */
export function archivedSpan(
  items: readonly CutItem[],
  { keep_first, keep_last }: { keep_first: number; keep_last: number },
): Span | null {
  if (items.length <= keep_first + keep_last) return null;
  let start = keep_first;
  while (start > 0 && items[start]?.role === "tool") start++;
  const wanted = items.length - keep_last;
  for (const boundary of [isUser, isNoResult]) {
    let end = wanted;
    while (end > start && end < items.length && !boundary(items[end])) end--;
    if (items.slice(start, end).some(({ fresh }) => fresh)) return { start, end };
  }
  return null;
}

/** The span before the last `keep_last` messages. It leaves more of them only if a result would lose its call. */
export function spanBeforeLast(items: readonly CutItem[], keep_last: number): Span {
  let end = Math.max(0, items.length - keep_last);
  while (end > 0 && items[end]?.role === "tool") end--;
  return { start: 0, end };
}

const isUser = (item: CutItem | undefined): boolean => item?.role === "user";
const isNoResult = (item: CutItem | undefined): boolean => item?.role !== "tool";
