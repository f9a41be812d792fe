/** Lists in pages. */
import { unknownCursor } from "../errors/unknown-cursor.ts";
import type { Wanted } from "../session/newest-first.ts";
import type { RequestContext } from "./context.ts";
import { jsonAnswer } from "./json.ts";
import { wholeIn } from "./parameters.ts";

/** The number of rows of a page: `?limit=`. @throws BadRequest */
export const pageLimit = (
  query: URLSearchParams,
  { min = 1, max = 1000, otherwise = 20 }: { min?: number; max?: number; otherwise?: number } = {},
): number => wholeIn(query, "limit", { min, max, otherwise });

/** The page of a list, newest first. @throws BadRequest */
export const wantedPage = ({ query }: RequestContext): Wanted => ({
  limit: pageLimit(query),
  cursor: query.get("cursor"),
});

/** Where a page of a list begins whose cursors are numbers; `null`: at the list's beginning. @throws BadRequest */
export function numericCursor(query: URLSearchParams): number | null {
  const text = query.get("cursor");
  if (text === null || /^\d{1,15}$/.test(text)) return text === null ? null : Number(text);
  throw unknownCursor();
}

/** The page of such a list that begins with the newest. @throws BadRequest */
export const pageBefore = ({ query }: RequestContext): { limit: number; before: number } => ({
  limit: pageLimit(query),
  before: numericCursor(query) ?? Number.MAX_SAFE_INTEGER,
});

/** The page of such a list whose cursors count the items before. @throws BadRequest */
export const pageFrom = ({ query }: RequestContext): { limit: number; offset: number } => ({
  limit: pageLimit(query),
  offset: numericCursor(query) ?? 0,
});

/** A page of such a list. @param next where the next page begins; `null`: this is the last one */
export const numberedPage = <T>({ data, next }: { data: T[]; next: number | null }) => ({
  data,
  next_cursor: next === null ? null : String(next),
});

/** An answer that is valid only at this moment, and only for this caller. */
export const jsonNow = (value: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  jsonAnswer(value, { status, headers: { "cache-control": "no-store", ...headers } });
