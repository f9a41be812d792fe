/** Lists in pages. */

import { BadRequest } from "../errors/request.ts";
import { unknownCursor } from "../errors/unknown-cursor.ts";
import type { Wanted } from "../session/newest-first.ts";
import type { RequestContext } from "./context.ts";
import { jsonAnswer } from "./json.ts";

const MAX_PAGE = 1000;

/** The number of rows of a page: `?limit=`. @throws BadRequest */
export function pageLimit(query: URLSearchParams, otherwise = 20): number {
  const text = query.get("limit") ?? String(otherwise);
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= MAX_PAGE) return limit;
  throw new BadRequest({ detail: `limit must be a whole number from 1 to ${MAX_PAGE}, not "${text}".` });
}

/** The page of a list, newest first, of the caller's tenant. @throws BadRequest */
export function wantedPage({ query, tenant }: RequestContext): Wanted {
  return { tenant, limit: pageLimit(query), cursor: query.get("cursor") };
}

/** Where a page of a list begins whose cursors are numbers; `null`: at the list's beginning. @throws BadRequest */
export function numericCursor(query: URLSearchParams): number | null {
  const text = query.get("cursor");
  if (text === null || /^\d{1,15}$/.test(text)) return text === null ? null : Number(text);
  throw unknownCursor();
}

/** A page of such a list. @param next where the next page begins; `null`: this is the last one */
export const numberedPage = <T>({ data, next }: { data: T[]; next: number | null }) => ({
  data,
  next_cursor: next === null ? null : String(next),
});

/** An answer that is valid only at this moment, and only for this caller. */
export const jsonNow = (value: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  jsonAnswer(value, { status, headers: { "cache-control": "no-store", ...headers } });
