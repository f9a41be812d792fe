/** `GET /skills/:slug/versions`: the versions published, or uploaded, under a slug. */
import { versionsOf } from "../../registry/versions.ts";
import type { RequestContext } from "../context.ts";
import { numberedPage, numericCursor, pageLimit } from "../page.ts";
import type { Params } from "../routes.ts";
import { findSlug } from "../served.ts";

/** A page of versions, the newest first. The cursor is the number of older ones, so new versions do not change it. */
export async function listVersions(context: RequestContext, params: Params): Promise<Response> {
  const query = new URL(context.request.url).searchParams;
  const limit = pageLimit(query);
  const cursor = numericCursor(query);
  const { card, catalog } = await findSlug(context, params.slug ?? "");
  const all = await versionsOf(context.env, catalog, card);
  const rest = cursor === null ? all : all.slice(Math.max(0, all.length - cursor));
  const left = rest.length - limit;
  const page = numberedPage({ data: rest.slice(0, limit), next: left > 0 ? left : null });
  return Response.json(page, { headers: { "cache-control": "no-cache" } });
}
