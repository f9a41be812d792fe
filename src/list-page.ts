/** Pages of lists. */

/** Which rows of a list to read. */
export interface PageWanted {
  limit: number;
  /** What the ordering columns have in the last row of the previous page; `null`: begin at the start. */
  after: readonly (string | number)[] | null;
  /** Absent: the last rows come first. */
  ascending?: boolean;
}

export interface Page<T> {
  data: T[];
  has_more: boolean;
}

/** A page of rows, of which the query read one more than `limit`. @param nameOf where the page after this row begins */
export function pageOfRows<T, Name = string>(
  found: readonly T[],
  limit: number,
  nameOf: (last: T) => Name,
): { data: T[]; next_cursor: Name | null } {
  const data = found.slice(0, limit);
  const last = data.at(-1);
  return { data, next_cursor: found.length > limit && last !== undefined ? nameOf(last) : null };
}
