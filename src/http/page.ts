/** Lists in pages. */
import { BadRequest } from "../errors/request.ts";

const MAX_PAGE = 1000;

/** The number of rows of a page: `?limit=`. @throws BadRequest */
export function pageLimit(query: URLSearchParams, otherwise = 20): number {
  const text = query.get("limit") ?? String(otherwise);
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= MAX_PAGE) return limit;
  throw new BadRequest({ detail: `limit must be a whole number from 1 to ${MAX_PAGE}, not "${text}".` });
}

/** An answer that is valid only at this moment, and only for this caller. */
export const jsonNow = (value: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  Response.json(value, { status, headers: { "cache-control": "no-store", ...headers } });
