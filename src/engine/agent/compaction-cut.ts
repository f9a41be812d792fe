/** Where a history is cut for compaction. Pure. */

/** What the cut asks of a message. */
export interface CutItem {
  /** `tool`: the message holds results, and stays with the calls before it. */
  role: string;
  /** Archiving it is a gain: not so for the summary of an earlier compaction alone, which would be due again at once. */
  fresh: boolean;
}

/** The messages from `start` to before `end` are archived. */
export interface Span {
  start: number;
  end: number;
}

/**
 * What a compaction archives; `null`: nothing. The cut moves back to where a user's message begins. Where that archives
 * nothing new, as in a long run on one prompt, it moves back to where a turn of the model begins.
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
    if (hasNew(items.slice(start, end))) return { start, end };
  }
  return null;
}

/** The span where the last `keep_last` messages stay, more only where a result would lose its call. */
export function spanBeforeLast(items: readonly CutItem[], keep_last: number): Span {
  let end = Math.max(0, items.length - keep_last);
  while (end > 0 && items[end]?.role === "tool") end--;
  return { start: 0, end };
}

const isUser = (item: CutItem | undefined): boolean => item?.role === "user";
const isNoResult = (item: CutItem | undefined): boolean => item?.role !== "tool";

const hasNew = (items: readonly CutItem[]): boolean => items.some(({ fresh }) => fresh);
