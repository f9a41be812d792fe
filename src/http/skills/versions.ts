/** `GET /skills/:slug/versions`: the versions published, or uploaded, under a slug. */
import { BadRequest } from "../../errors/request.ts";
import { versionsOf } from "../../registry/versions.ts";
import type { RequestContext } from "../context.ts";
import { pageLimit } from "../page.ts";
import { findSlug } from "../served.ts";

/** A page of versions, the newest first. The cursor is the number of older ones, so new versions do not change it. */
export async function skillVersions(
  context: RequestContext,
  params: Record<string, string>,
): Promise<Response> {
  const query = new URL(context.request.url).searchParams;
  const limit = pageLimit(query);
  const cursor = query.get("cursor");
  if (cursor !== null && !/^\d{1,9}$/.test(cursor)) {
    throw new BadRequest({ detail: "The parameter cursor must be a next_cursor of this listing." });
  }
  const { card, catalog } = await findSlug(context, params.slug ?? "");
  const all = await versionsOf(context.env, catalog, card);
  const rest = cursor === null ? all : all.slice(Math.max(0, all.length - Number(cursor)));
  const left = rest.length - limit;
  const page = { data: rest.slice(0, limit), next_cursor: left > 0 ? String(left) : null };
  return Response.json(page, { headers: { "cache-control": "no-cache" } });
}
