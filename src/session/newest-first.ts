/** Pages of lists, newest first, whose items have a creation time and an id. */
import type * as z from "zod/mini";
import type { OwnStatement, OwnTables } from "../database.ts";
import { unknownCursor } from "../errors/unknown-cursor.ts";

/** Identifies a page. */
export interface Wanted {
  limit: number;
  /** The `next_cursor` of the previous page; `null`: this is the first one. */
  cursor: string | null;
}

export interface NewestFirst<T> {
  data: T[];
  next_cursor: string | null;
}

/**
 * A page of a tenant's rows.
 * @param query all of it up to its last condition; the columns include `id` and `created_at`
 * @throws BadRequest for a cursor that no page returned
 */
export async function newestFirst<T extends { created_at: string; id: string }>(
  own: OwnTables,
  shape: z.ZodMiniType<T>,
  query: OwnStatement,
  { limit, cursor }: Wanted,
): Promise<NewestFirst<T>> {
  const after = cursor === null ? null : positionIn(cursor);
  const { data, has_more } = await own.page(shape, query, ["created_at", "id"], { limit, after });
  const last = data.at(-1);
  return { data, next_cursor: has_more && last !== undefined ? `${last.created_at}~${last.id}` : null };
}

/** Where a page begins. @throws BadRequest for an unknown cursor */
function positionIn(cursor: string): [created_at: string, id: string] {
  const [, before, id] = /^([0-9TZ:.-]+)~([A-Za-z0-9._:-]+)$/.exec(cursor) ?? [];
  if (before === undefined || id === undefined) throw unknownCursor();
  return [before, id];
}
