/** Lists in pages, with each dialect's parameters and shape. */
import { isSame } from "../../auth/sign-in.ts";
import { BadRequest } from "../../errors/request.ts";
import { objectOf } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { type Dialect, dialectOf, withoutVendor } from "./dialect.ts";

const DEFAULT_LIMIT = 20;
/** Parameters that may differ from page to page. */
const PAGING = ["page", "limit"];

/** `?limit=`, by default 20. @throws BadRequest */
export function limitOf(query: URLSearchParams, { min = 1, max }: { min?: number; max: number }): number {
  const text = query.get("limit") ?? String(DEFAULT_LIMIT);
  const limit = Number(text);
  if (/^\d{1,6}$/.test(text) && limit >= min && limit <= max) return limit;
  const detail = `limit must be a whole number from ${min} to ${max}, not "${text.slice(0, 32)}".`;
  throw new BadRequest({ detail, param: "limit" });
}

/** `?order=` of OpenAI's lists: whether the oldest come first. @throws BadRequest */
export function ascendingOf(query: URLSearchParams): boolean {
  const order = query.get("order") ?? "desc";
  if (order === "asc" || order === "desc") return order === "asc";
  throw new BadRequest({ detail: `order must be asc or desc, not "${order.slice(0, 32)}".`, param: "order" });
}

/** The signature of a cursor: for one position, tenant, dialect, path and set of filters. */
function sealOf(context: RequestContext, position: number): Promise<string> {
  const { request, tenant, deployment } = context;
  const { pathname, searchParams } = new URL(request.url);
  const filters = [...searchParams].filter(([name]) => !PAGING.includes(name)).map((pair) => pair.join("="));
  const list = [tenant, dialectOf(context), withoutVendor(pathname), ...filters.sort()];
  return deployment.listSeal.of([...list, position]);
}

/** The position at which the page begins; `null`: the beginning. @throws BadRequest for a cursor of another list */
export async function pageOf(context: RequestContext, query: URLSearchParams): Promise<number | null> {
  const page = query.get("page");
  if (page === null || page === "") return null;
  const [, digits, sealed] = /^page_(\d{1,16})_([0-9a-f]{32})$/.exec(page) ?? [];
  if (digits !== undefined && (await isSame(await sealOf(context, Number(digits)), sealed ?? "")))
    return Number(digits);
  const detail = "page must be the next_page of an earlier answer of the same list.";
  throw new BadRequest({ detail, param: "page" });
}

/** The `next_page` for the position of a page's last item. */
export async function cursorAt(context: RequestContext, position: number): Promise<string> {
  return `page_${position}_${await sealOf(context, position)}`;
}

/** A page's items and the cursor of the next page. @param next `null` on the last page */
export function listDocument(
  data: readonly object[],
  { dialect, next, hasMore }: { dialect: Dialect; next: string | null; hasMore: boolean },
): object {
  if (dialect === "anthropic") return { data, next_page: next };
  if (dialect === "anthropic_legacy") return { data, has_more: hasMore, next_page: next };
  return openaiPage(data, hasMore);
}

/** A page of OpenAI's lists. */
export const openaiPage = (data: readonly unknown[], has_more: boolean): object => ({
  object: "list",
  data,
  first_id: idOf(data[0]),
  last_id: idOf(data.at(-1)),
  has_more,
});

const idOf = (item: unknown): Json => objectOf(item).id ?? null;

/** A page of a list in memory. @param what an item is. @throws BadRequest */
export function pageWithin(
  all: readonly unknown[],
  query: URLSearchParams,
  { max, what }: { max: number; what: string },
): object {
  const limit = limitOf(query, { max });
  const after = query.get("after");
  const from = after === null ? 0 : all.findIndex((item) => idOf(item) === after) + 1;
  if (after !== null && from === 0) throw notListed(what, after);
  return openaiPage(all.slice(from, from + limit), all.length > from + limit);
}

/** A parameter names something that the list does not have. */
export const notListed = (what: string, id: string, param = "after"): InstanceType<typeof BadRequest> =>
  new BadRequest({ detail: `${param} names no ${what}: "${id.slice(0, 64)}".`, param });
