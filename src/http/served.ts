/** The skills that the caller of a request can use: published ones, and uploads of the caller's tenant. */
import type { LoadedCatalog } from "../registry/published.ts";
import { unknownSkill } from "../registry/tenant-catalog.ts";
import type { Card } from "../skill/manifest.ts";
import type { RequestContext } from "./context.ts";

/** The catalog of the caller's tenant. */
export function servedTo({ deployment, caller, background }: RequestContext): Promise<LoadedCatalog> {
  return deployment.catalogs.of(caller.tenant, background);
}

/**
 * Applies `find` to the skills that the caller can use.
 * @throws what `missing` makes of the whole catalog
 */
export async function findServed(
  context: RequestContext,
  find: (catalog: LoadedCatalog) => Card | undefined,
  missing: (catalog: LoadedCatalog) => Error,
): Promise<{ card: Card; catalog: LoadedCatalog }> {
  const { deployment, caller, background } = context;
  const { card, catalog } = await deployment.catalogs.find(caller.tenant, find, background);
  if (card === undefined) throw missing(catalog);
  return { card, catalog };
}

/** The skill of a slug. @throws SkillNotFound with near names */
export function findSlug(
  context: RequestContext,
  slug: string,
): Promise<{ card: Card; catalog: LoadedCatalog }> {
  return findServed(
    context,
    ({ bySlug }) => bySlug.get(slug),
    (catalog) => unknownSkill(catalog, slug),
  );
}
