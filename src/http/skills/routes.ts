/** `<method> <route>` of a skill, and its card (serving.md §5.1). */
import { MethodNotAllowed, NotFound } from "../../errors/request.ts";
import { currentCatalog, type LoadedCatalog } from "../../registry/published.ts";
import type { Card } from "../../skill/manifest.ts";
import { discardBody } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { guard, optionsResponse } from "../routes.ts";
import { cardOf, skillCard } from "./cards.ts";
import { runSkill } from "./run.ts";

/** `GET /skills/:slug/card`. */
export async function cardRoute(context: RequestContext, params: Record<string, string>): Promise<Response> {
  const catalog = await currentCatalog(context.env, context.background);
  return skillCard(context, cardOf(catalog, params.slug ?? ""));
}

/** Everything that no fixed route took: a skill's own route, or `/skills/<slug>` of one that is served elsewhere. */
export async function skillRoute(context: RequestContext, path: string): Promise<Response> {
  const { method } = context.request;
  if (method === "OPTIONS") {
    const card = find(await currentCatalog(context.env, context.background), path);
    return optionsResponse(card === undefined ? ["OPTIONS"] : allowed(card, path));
  }
  await guard(context, "invoke");
  const catalog = await currentCatalog(context.env, context.background);
  const card = find(catalog, path) ?? missing(catalog, path);
  const runs = card.route === path;
  if (runs && method === card.method) return runSkill(context, card);
  const readsCard = (method === "GET" || method === "HEAD") && !(runs && card.method === "GET");
  if (readsCard) {
    await discardBody(context.request);
    return skillCard(context, card);
  }
  throw new MethodNotAllowed({ method, allowed: allowed(card, path) });
}

function find(catalog: LoadedCatalog, path: string): Card | undefined {
  const slug = /^\/skills\/([^/]+)$/.exec(path)?.[1];
  return catalog.byRoute.get(path) ?? (slug === undefined ? undefined : catalog.bySlug.get(slug));
}

function missing(catalog: LoadedCatalog, path: string): Card {
  const slug = /^\/skills\/([^/]+)$/.exec(path)?.[1];
  if (slug !== undefined) return cardOf(catalog, slug);
  throw new NotFound({ path });
}

/** HEAD never runs a skill, so a skill that answers GET itself has no HEAD. */
function allowed(card: Card, path: string): string[] {
  if (card.route !== path) return ["GET", "HEAD", "OPTIONS"];
  return card.method === "GET" ? ["GET", "OPTIONS"] : ["GET", "HEAD", card.method, "OPTIONS"];
}
