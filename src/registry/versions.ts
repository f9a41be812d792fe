/** The versions of a skill. */
import type { Bindings } from "../env.ts";
import { CatalogUnreadable } from "../errors/request.ts";
import type { Card } from "../skill/manifest.ts";
import type { Version } from "./answers.ts";
import { type LoadedCatalog, readCatalog, readPointer } from "./published.ts";
import { uploadedVersions } from "./uploads.ts";

/**
 * The versions of a served skill, the newest first. For a published skill, the list goes as far back as the catalog
 * pointer; each version has the time of its first publish after a different one. It leaves out what a later version of
 * Hull published. For an upload, it has the last hundred.
 */
export async function versionsOf(env: Bindings, catalog: LoadedCatalog, card: Card): Promise<Version[]> {
  const found = card.uploaded ? await uploadedVersions(env, card.slug) : await published(env, catalog, card);
  const current = found.findIndex(({ digest }) => digest === card.version);
  return found.map((version, i) => ({ ...version, current: i === current }));
}

async function published(
  env: Bindings,
  catalog: LoadedCatalog,
  card: Card,
): Promise<Omit<Version, "current">[]> {
  const pointer = await readPointer(env);
  const known = pointer === null ? [] : [pointer, ...(pointer.earlier ?? [])];
  const served = known.some(({ id }) => id === catalog.id) ? [] : [{ id: catalog.id, published_at: null }];
  const versions: Omit<Version, "current">[] = [];
  for (const { id, published_at } of [...served, ...known]) {
    const cards = id === catalog.id ? catalog.cards : await cardsOf(env, id);
    const version = cards.find(({ slug, uploaded }) => slug === card.slug && uploaded !== true)?.version;
    const last = versions.at(-1);
    if (version === undefined) continue;
    if (last?.digest === version) last.published_at = published_at;
    else versions.push({ digest: version, published_at });
  }
  return versions;
}

async function cardsOf(env: Bindings, id: string): Promise<readonly Card[]> {
  const catalog = await readCatalog(env, id).catch(CatalogUnreadable.orNull);
  return catalog?.cards ?? [];
}
