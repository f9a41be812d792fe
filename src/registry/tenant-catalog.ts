/**
 * The skills that one tenant can use: the published catalog and the tenant's uploads. An isolate refreshes the uploads
 * in the background, so only a tenant's first request, and a request for an unknown skill, wait for D1. Requests for
 * published skills never read the uploads.
 */

import { sha256, utf8 } from "../bytes.ts";
import type { Bindings } from "../env.ts";
import { SkillNotFound } from "../errors/request.ts";
import type { Background } from "../log.ts";
import { memo } from "../memo.ts";
import { type CacheEntry, RecentMap, usable } from "../recent.ts";
import type { Card } from "../skill/manifest.ts";
import { nearest } from "../skill/match.ts";
import { byteOrder } from "../skill/path.ts";
import { RouteTable } from "../skill/route.ts";
import type { CardLookup, LoadedCatalog, SkillRegistry } from "./published.ts";
import { type Upload, uploadsOf } from "./uploads.ts";

/** Age in ms up to which cached uploads are used. For this long, other isolates may miss a new upload. */
export const KNOWN_FOR_MS = 10_000;
/** Age in ms from which cached uploads are read again in the background. */
const REFRESH_AFTER_MS = 2000;
/** Age in ms up to which cached uploads count as complete: a request for an unknown skill causes no other read of D1. */
export const COMPLETE_FOR_MS = 1000;
/** The most tenants, and uploads of all of them, in an isolate's cache. */
const MAX_TENANTS = 1000;
const MAX_CARDS = 2000;

interface Known extends CacheEntry {
  uploads: readonly Upload[];
  /** Number of the read, since reads may end in another order. */
  sequence: number;
}

export class TenantCatalogs {
  readonly #env: Bindings;
  readonly #registry: SkillRegistry;
  readonly #byTenant = new RecentMap<string, Known>(MAX_TENANTS, {
    most: MAX_CARDS,
    of: ({ uploads }) => uploads.length,
  });
  #reads = 0;
  #catalog: LoadedCatalog | null = null;
  /** That catalog, merged with uploads after the first request for them. */
  #views = new WeakMap<readonly Upload[], LoadedCatalog>();

  constructor(env: Bindings, registry: SkillRegistry) {
    this.#env = env;
    this.#registry = registry;
  }

  /**
   * The skills that a tenant can use.
   * @param oldestMs greatest permitted age of the cached uploads
   * @throws CatalogMissing if nothing was published
   */
  async of(tenant: string, background: Background, oldestMs = KNOWN_FOR_MS): Promise<LoadedCatalog> {
    const catalog = await this.#registry.catalog(background);
    const ages = { refresh: REFRESH_AFTER_MS, expire: oldestMs };
    const read = (): Promise<Known> => this.read(tenant);
    const { uploads } = usable(this.#byTenant.get(tenant), ages, read, background) ?? (await read());
    if (uploads.length === 0) return catalog;
    if (this.#catalog !== catalog) {
      this.#catalog = catalog;
      this.#views = new WeakMap();
    }
    const known = this.#views.get(uploads);
    if (known !== undefined) return known;
    const view = await merged(catalog, uploads);
    if (this.#catalog === catalog) this.#views.set(uploads, view);
    return view;
  }

  /**
   * Applies `find` to the published skills, then to the tenant's uploads. If the cached uploads may lack a new one, they
   * are read again. If no card is found, `catalog` has all skills of the tenant.
   */
  async find(
    tenant: string,
    find: (catalog: LoadedCatalog) => Card | undefined,
    background: Background,
  ): Promise<{ card: Card | undefined; catalog: LoadedCatalog }> {
    const published = await this.#registry.catalog(background);
    const folder = find(published);
    if (folder !== undefined) return { card: folder, catalog: published };
    const known = await this.of(tenant, background);
    const upload = find(known);
    if (upload !== undefined) return { card: upload, catalog: known };
    const catalog = await this.of(tenant, background, COMPLETE_FOR_MS);
    return { card: find(catalog), catalog };
  }

  /** Reads a tenant's uploads again; this also makes a change through this isolate take effect here immediately. */
  async read(tenant: string): Promise<Known> {
    this.#reads += 1;
    const sequence = this.#reads;
    const readAt = Date.now();
    const found = await uploadsOf({ env: this.#env, tenant });
    const before = this.#byTenant.get(tenant);
    if (before !== undefined && before.sequence > sequence) return before;
    // Equal uploads keep their view.
    const uploads = before !== undefined && sameUploads(before.uploads, found) ? before.uploads : found;
    const known: Known = { uploads, sequence, readAt, refreshing: false };
    this.#byTenant.set(tenant, known);
    return known;
  }
}

function sameUploads(a: readonly Upload[], b: readonly Upload[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ digest, card }, i) => digest === b[i]?.digest && (card === null) === (b[i]?.card === null))
  );
}

/**
 * Merges a catalog with uploads. An upload is not served if a published skill has its address. This copies nothing,
 * since every tenant has its own view.
 */
async function merged(catalog: LoadedCatalog, uploads: readonly Upload[]): Promise<LoadedCatalog> {
  const free = uploads.filter((upload) => publishedHolder(catalog, upload) === null);
  const served = free.flatMap(({ card }) => card ?? []);
  const parts = [catalog.tag, ...served.map(({ slug, version }) => `${slug}@${version}`)];
  const tag = (await sha256(utf8(parts.join("\n")))).slice(0, 32);
  return {
    ...catalog,
    tag,
    get cards() {
      return [...catalog.cards, ...served].sort((a, b) => byteOrder(a.slug, b.slug));
    },
    bySlug: both(catalog.bySlug, new Map(served.map((card) => [card.slug, card]))),
    byRoute: both(catalog.byRoute, new Map(served.map((card) => [card.route, card]))),
    uploads: served,
    unreadable: [
      ...catalog.unreadable,
      ...free.flatMap(({ slug, route, card }) =>
        card === null ? [{ slug, route, origin: "uploaded" as const }] : [],
      ),
    ],
  };
}

function both(published: CardLookup, uploaded: ReadonlyMap<string, Card>): CardLookup {
  return {
    get: (key) => published.get(key) ?? uploaded.get(key),
    keys: () => [...published.keys(), ...uploaded.keys()],
  };
}

/** A published skill that Hull does not serve because it cannot read its card keeps its address, too. */
const routesOf = memo(({ cards, unreadable }: LoadedCatalog): RouteTable => {
  const table = new RouteTable();
  for (const { slug, route } of [...cards, ...unreadable]) table.claim({ folder: slug, slug, route });
  return table;
});

/** The skill of the published catalog that prevents an upload at this address, by the rules of the build. */
export function publishedHolder(
  catalog: LoadedCatalog,
  { slug, route }: Pick<Card, "slug" | "route">,
): Pick<Card, "slug" | "route"> | null {
  return routesOf(catalog).conflict({ folder: slug, slug, route })?.holder ?? null;
}

/** The error that the catalog has no skill of this slug, with near names. */
export function unknownSkill({ bySlug, unreadable }: LoadedCatalog, slug: string): Error {
  const found = unreadable.find((skill) => skill.slug === slug);
  if (found !== undefined) return new SkillNotFound({ unreadable: slug, origin: found.origin });
  return new SkillNotFound({ slug, near: nearest(slug, bySlug.keys(), 3) });
}
