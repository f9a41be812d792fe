/** The listing and the cards of what is served (serving.md §5.1). */
import { BadRequest, SkillNotFound } from "../../errors/request.ts";
import { currentCatalog, type LoadedCatalog, readSkill } from "../../registry/published.ts";
import { searchCards } from "../../registry/search.ts";
import { type Card, MODES } from "../../skill/manifest.ts";
import { nearest } from "../../skill/match.ts";
import { noneMatch } from "../conditional.ts";
import type { RequestContext } from "../context.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/** `GET /skills`: a JSON array, paged by `Link`, with a weak validator over catalog and query. */
export async function listSkills(context: RequestContext): Promise<Response> {
  const catalog = await currentCatalog(context.env, context.background);
  const url = new URL(context.request.url);
  const etag = `W/"${catalog.id.slice(0, 32)}"`;
  if (noneMatch(context.request, etag)) return notModified(etag);
  const limit = limitOf(url);
  const mode = url.searchParams.get("mode");
  if (mode !== null && !MODES.some((m) => m === mode)) {
    throw new BadRequest({ detail: `mode "${mode}" is none of ${MODES.join(", ")}.` });
  }
  const query = { q: url.searchParams.get("q") ?? "", mode, limit, after: url.searchParams.get("cursor") };
  const page = searchCards(catalog.cards, query);
  const headers = new Headers({
    "content-type": "application/json",
    "cache-control": "no-cache",
    "x-total-count": String(page.total),
    etag,
  });
  if (page.next !== null) {
    const next = new URLSearchParams(url.searchParams);
    next.set("cursor", page.next);
    headers.set("link", `</skills?${next}>; rel="next"`);
  }
  return new Response(JSON.stringify(page.cards), { headers });
}

/** A skill's card with its documentation; an llm skill's body is its prompt and stays private. */
export async function skillCard(context: RequestContext, card: Card): Promise<Response> {
  const etag = `"${card.version.slice(0, 32)}"`;
  if (noneMatch(context.request, etag)) return notModified(etag);
  const record = await readSkill(context.env, card.version);
  const doc = card.mode === "llm" ? {} : { doc: record.body };
  return new Response(JSON.stringify({ ...card, ...doc }), {
    headers: { "content-type": "application/json", "cache-control": "no-cache", etag },
  });
}

/** The card of a slug. @throws SkillNotFound with near names */
export function cardOf(catalog: LoadedCatalog, slug: string): Card {
  const card = catalog.bySlug.get(slug);
  if (card !== undefined) return card;
  throw new SkillNotFound({ slug, near: nearest(slug, catalog.bySlug.keys(), 3) });
}

function limitOf(url: URL): number {
  const text = url.searchParams.get("limit") ?? String(DEFAULT_LIMIT);
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > MAX_LIMIT) {
    throw new BadRequest({ detail: `limit is a whole number from 1 to ${MAX_LIMIT}, not "${text}".` });
  }
  return limit;
}

function notModified(etag: string): Response {
  return new Response(null, { status: 304, headers: { etag } });
}
