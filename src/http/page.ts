/** Lists in pages (contract.md "Lists"). */
import { BadRequest } from "../errors/request.ts";

const DEFAULT_PAGE = 20;
const MAX_PAGE = 1000;

/** How many rows a page is to have: `?limit=`. @throws BadRequest */
export function pageLimit(query: URLSearchParams): number {
  const limit = Number(query.get("limit") ?? DEFAULT_PAGE);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE) return limit;
  throw new BadRequest({ detail: `The parameter limit must be a whole number from 1 to ${MAX_PAGE}.` });
}

/** What was said is true now only, and for this caller. */
const UNCACHED = { "cache-control": "no-store" };

export const jsonNow = (value: unknown, status = 200): Response =>
  Response.json(value, { status, headers: UNCACHED });
