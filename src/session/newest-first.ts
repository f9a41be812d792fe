/** Pages of lists, newest first, whose items have a creation time and an id. */
import { BadRequest } from "../errors/request.ts";

/** Where a page begins; without a cursor, at the newest item. @throws BadRequest for an unknown cursor */
export function positionIn(cursor: string | null): [created_at: string, id: string] {
  if (cursor === null) return ["~", "~"];
  const [, before, id] = /^([0-9TZ:.-]+)~([A-Za-z0-9._:-]+)$/.exec(cursor) ?? [];
  if (before === undefined || id === undefined) {
    throw new BadRequest({ detail: "The parameter cursor must be a next_cursor of this listing." });
  }
  return [before, id];
}

/** Makes a page of rows. The query must have read one row more than `limit`. */
export function pageOf<T extends { created_at: string; id: string }>(
  found: readonly T[],
  limit: number,
): { data: T[]; next_cursor: string | null } {
  const data = found.slice(0, limit);
  const last = data.at(-1);
  const more = found.length > limit && last !== undefined;
  return { data, next_cursor: more ? `${last.created_at}~${last.id}` : null };
}
