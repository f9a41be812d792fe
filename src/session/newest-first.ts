/** Pages of lists, newest first, whose items have a creation time and an id. */
import type * as z from "zod/mini";
import { pageOfRows, type Tables } from "../database.ts";
import { unknownCursor } from "../errors/unknown-cursor.ts";

/** Identifies a page. */
export interface Wanted {
  tenant: string;
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
 * @param select the columns and the table; the columns include `id` and `created_at`
 * @param filter further conditions, with parameters from `?5` on
 * @throws BadRequest for a cursor that no page returned
 */
export async function newestFirst<T extends { created_at: string; id: string }>(
  tables: Tables,
  shape: z.ZodMiniType<T>,
  { tenant, limit, cursor }: Wanted,
  select: string,
  filter: { where: string; values: readonly unknown[] } = { where: "true", values: [] },
): Promise<NewestFirst<T>> {
  const [before, id] = positionIn(cursor);
  const found = await tables.rows(
    shape,
    `${select} WHERE tenant = ?1 AND (created_at, id) < (?2, ?3) AND ${filter.where}
     ORDER BY created_at DESC, id DESC LIMIT ?4`,
    [tenant, before, id, limit + 1, ...filter.values],
  );
  return pageOfRows(found, limit, (last) => `${last.created_at}~${last.id}`);
}

/** Where a page begins; without a cursor, at the newest item. @throws BadRequest for an unknown cursor */
function positionIn(cursor: string | null): [created_at: string, id: string] {
  if (cursor === null) return ["~", "~"];
  const [, before, id] = /^([0-9TZ:.-]+)~([A-Za-z0-9._:-]+)$/.exec(cursor) ?? [];
  if (before === undefined || id === undefined) throw unknownCursor();
  return [before, id];
}
