/** `<method> <route>` of a skill, and its card. */
import { MethodNotAllowed, NotFound } from "../../errors/request.ts";
import { HullError, toHullError } from "../../errors.ts";
import { lazily } from "../../lazily.ts";
import type { LoadedCatalog } from "../../registry/published.ts";
import { unknownSkill } from "../../registry/tenant-catalog.ts";
import type { Card } from "../../skill/manifest.ts";
import { discardBody } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { guard } from "../guard.ts";
import { NO_PATH } from "../path.ts";
import { checkRate } from "../rate.ts";
import { optionsResponse, type Params } from "../routes.ts";
import { findServed, findSlug } from "../served.ts";
import { skillCard } from "./cards.ts";

/** Runs a skill and answers; see `run.ts`. */
export const runSkill = lazily(async () => (await import("./run.ts")).runSkill);

const begunSkill = lazily(async () => (await import("./run.ts")).begunSkill);

/**
 * The methods that OPTIONS lists for a path without a published skill. Whether an uploaded skill has the path is known
 * only to its tenant.
 */
const ANY_METHOD = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** `GET /skills/:slug/card`. */
export async function getCard(context: RequestContext, params: Params): Promise<Response> {
  const { card } = await findSlug(context, params.slug ?? "");
  return skillCard(context, card);
}

/**
 * Handles every path that no fixed route matched: a skill's own route, or `/skills/<slug>` of a skill with another
 * route.
 */
export async function skillRoute(context: RequestContext, path: string): Promise<Response> {
  const { method } = context.request;
  const catalog = await context.deployment.registry.catalog(context.background).catch(toHullError);
  const known = catalog instanceof HullError ? undefined : find(catalog, path);
  if (known !== undefined) context.route = "skill";
  if (method === "OPTIONS") return optionsResponse(known === undefined ? ANY_METHOD : allowed(known, path));
  const anyOrigin = known?.mode === "static-file" && known.route === path;
  await guard(context, "invoke", { anyOrigin });
  if (catalog instanceof HullError) throw catalog;
  const begun = context.request.headers.has("idempotency-key") ? await begunSkill(context, path) : null;
  if (begun !== null) {
    context.route = "skill";
    await checkRate(context);
    return runSkill(context, { slug: begun.slug, version: begun.version, begun: true });
  }
  const card = known ?? (await findUploaded(context, path));
  if (!allowed(card, path).includes(method)) {
    throw new MethodNotAllowed({ method, allowed: allowed(card, path) });
  }
  await checkRate(context);
  if (runMethods(card, path).includes(method)) return runSkill(context, card);
  await discardBody(context);
  return skillCard(context, card);
}

/** The slug in `/skills/<slug>`. */
function slugIn(path: string): string | undefined {
  return /^\/skills\/([^/]+)$/.exec(path)?.[1];
}

function find(catalog: LoadedCatalog, path: string): Card | undefined {
  const slug = slugIn(path);
  return catalog.byRoute.get(path) ?? (slug === undefined ? undefined : catalog.bySlug.get(slug));
}

async function findUploaded(context: RequestContext, path: string): Promise<Card> {
  if (path === NO_PATH) throw new NotFound({ path: "a path with // (is an id in it empty?)" });
  const found = findServed(
    context,
    (catalog) => find(catalog, path),
    (catalog) => {
      const slug = slugIn(path) ?? catalog.unreadable.find(({ route }) => route === path)?.slug;
      return slug === undefined ? new NotFound({ path }) : unknownSkill(catalog, slug);
    },
  );
  const { card } = await found;
  context.route = "skill";
  return card;
}

/** Methods that run the skill. HEAD runs no script and no model, so skills that answer GET themselves have no HEAD. */
function runMethods(card: Card, path: string): string[] {
  if (card.route !== path) return [];
  if (card.mode === "static-file") return ["GET", "HEAD", "POST"];
  return card.mode === "proxy" && card.method === "GET" ? ["GET", "HEAD"] : [card.method];
}

/** If the skill does not answer GET itself, GET and HEAD give its card. */
function allowed(card: Card, path: string): string[] {
  const runs = runMethods(card, path);
  return [...(runs.includes("GET") ? [] : ["GET", "HEAD"]), ...runs, "OPTIONS"];
}
