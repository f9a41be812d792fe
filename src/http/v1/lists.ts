/** Lists in pages, with each dialect's parameters and shape. */

import { isSame } from "../../auth/sign-in.ts";
import { firstOf } from "../../cut.ts";
import { BadRequest } from "../../errors/request.ts";
import type { Page } from "../../list-page.ts";
import { objectOf } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow, pageLimit } from "../page.ts";
import { oneOf } from "../parameters.ts";
import { type Dialect, dialectOf, withoutVendor } from "./dialect.ts";

/** Parameters that may differ from page to page. */
const PAGING = ["page", "limit"];

/** `?order=` of OpenAI's lists: whether the oldest come first. @throws BadRequest */
export const ascendingOf = (query: URLSearchParams): boolean =>
  oneOf(query, "order", ["asc", "desc"]) === "asc";

/** The signature of a cursor: for one position, tenant, dialect, path and set of filters. */
function sealOf(context: RequestContext, position: number): Promise<string> {
  const { request, tenant, deployment } = context;
  const { pathname, searchParams } = new URL(request.url);
  const filters = [...searchParams].filter(([name]) => !PAGING.includes(name)).map((pair) => pair.join("="));
  const list = [tenant, dialectOf(context), withoutVendor(pathname), ...filters.sort()];
  return deployment.listSeal.of([...list, position]);
}

/** The position after which the page begins; `null`: the beginning. @throws BadRequest for a cursor of another list */
export async function pageOf(context: RequestContext, query: URLSearchParams): Promise<number[] | null> {
  const page = query.get("page");
  if (page === null || page === "") return null;
  const [, digits, sealed] = /^page_(\d{1,16})_([0-9a-f]{32})$/.exec(page) ?? [];
  if (digits !== undefined && (await isSame(await sealOf(context, Number(digits)), sealed ?? "")))
    return [Number(digits)];
  const detail = "page must be the next_page of an earlier answer of the same list.";
  throw new BadRequest({ detail, param: "page" });
}

/** The answer with a page of rows. @param positionOf where a row stands in the list */
export async function pageAnswer<T>(
  context: RequestContext,
  { data: rows, has_more }: Page<T>,
  shown: (row: T, dialect: Dialect) => object,
  positionOf: (row: T) => number,
): Promise<Response> {
  const dialect = dialectOf(context);
  const data = rows.map((row) => shown(row, dialect));
  if (dialect === "openai") return jsonNow(openaiPage({ data, has_more }));
  const last = rows.at(-1);
  const at = has_more && last !== undefined ? positionOf(last) : null;
  const next_page = at === null ? null : `page_${at}_${await sealOf(context, at)}`;
  return jsonNow(dialect === "anthropic" ? { data, next_page } : { data, has_more, next_page });
}

/** A page of OpenAI's lists. */
export const openaiPage = ({ data, has_more }: Page<unknown>): object => ({
  object: "list",
  data,
  first_id: idOf(data[0]),
  last_id: idOf(data.at(-1)),
  has_more,
});

const idOf = (item: unknown): Json => objectOf(item).id ?? null;

/** Those items of a list in memory that follow `from` others. */
export const itemsFrom = <T>(all: readonly T[], from: number, limit: number): Page<T> => ({
  data: all.slice(from, from + limit),
  has_more: all.length > from + limit,
});

/** A page of a list in memory. @param what an item is. @throws BadRequest */
export async function pageWithin(
  all: readonly unknown[],
  query: URLSearchParams,
  { max, what }: { max: number; what: string },
): Promise<object> {
  const limit = pageLimit(query, { max });
  const after = await namedIn(query, "after", what, (id) => all.findIndex((item) => idOf(item) === id));
  const from = after === null ? 0 : after + 1;
  return openaiPage(itemsFrom(all, from, limit));
}

/**
 * What a parameter names in a list; `null`: it is absent or empty.
 * @param what an item is
 * @param find `null` or -1: the list has no such item
 * @throws BadRequest
 */
export async function namedIn<T>(
  query: URLSearchParams,
  param: string,
  what: string,
  find: (id: string) => T | null | Promise<T | null>,
): Promise<T | null> {
  const id = query.get(param) ?? "";
  if (id === "") return null;
  const found = await find(id);
  if (found !== null && found !== -1) return found;
  throw new BadRequest({ detail: `${param} names no ${what}: "${firstOf(id, 64)}".`, param });
}
