/**
 * Published skills: immutable objects in KV, addressed by SHA-256, and the pointer `catalog:current`. The isolate
 * caches immutable objects, and refreshes the pointer in the background.
 */
import * as z from "zod/mini";
import { askedAgain } from "../asked-again.ts";
import { type Bindings, learnVariables, type Settings } from "../env.ts";
import { CatalogMissing, CatalogUnreadable, SkillNotFound } from "../errors/request.ts";
import { Internal } from "../errors.ts";
import { type Background, logFault, logLine } from "../log.ts";
import { RecentMap } from "../recent.ts";
import { isObject, objectOf } from "../skill/json.ts";
import {
  type BundledFile,
  type Card,
  type Catalog,
  type CatalogPointer,
  cardShape,
  catalogPointerShape,
  catalogShape,
  type SkillRecord,
  skillRecordShape,
} from "../skill/manifest.ts";
import { readTarFile } from "../skill/tar.ts";
import { BlobCache, MAX_FILE_BYTES } from "./blob-cache.ts";

export const POINTER_KEY = "catalog:current";
/** How the keys of objects begin that belong to skills of tenants. */
export const UPLOADED = "uploaded/";

/**
 * Age in ms at which a cached pointer is read again in the background. A publish through this isolate takes effect
 * immediately.
 */
const POINTER_FRESH_MS = 5000;
/** KV's own edge cache for immutable values, in seconds. */
const IMMUTABLE_TTL_S = 86_400;
/** The same for an object that was missing. KV caches that, too, but the object may have been stored since. */
const MISSING_TTL_S = 60;
/** Skill records kept per isolate; a record is a few KB. */
const MAX_CACHED_RECORDS = 2000;

/** Cards by slug, or by route. */
export interface CardLookup {
  get(key: string): Card | undefined;
  keys(): Iterable<string>;
}

export interface LoadedCatalog {
  id: string;
  /** Sorted by slug. */
  readonly cards: readonly Card[];
  bySlug: CardLookup;
  byRoute: CardLookup;
  /** SHA-256 of its OpenAPI document; `null` if it was published without one. */
  openapi: string | null;
  /** Names of the variables that its proxy skills put into their calls. */
  variables: readonly string[];
  /** As in `Catalog`. */
  overrides: NonNullable<Catalog["overrides"]>;
  /** As in `Catalog`. */
  faults: NonNullable<Catalog["faults"]>;
  /** Changes with the served skills; validators are derived from it. */
  tag: string;
  /** The uploaded skills among `cards`; none in the catalog that all tenants share. */
  uploads: readonly Card[];
  /** Skills that Hull does not serve, because a later version stored their cards. */
  unreadable: readonly UnreadableSkill[];
}

interface UnreadableSkill extends Pick<Card, "slug" | "route"> {
  origin: "published" | "uploaded";
}

/** The registry and an isolate's cache of it: immutable objects, and for seconds the pointer. */
export class SkillRegistry {
  readonly #env: Bindings;
  readonly #settings: Settings;
  #pointer: { id: string; checkedAt: number } | null = null;
  #catalog: LoadedCatalog | null = null;
  readonly #records = new RecentMap<string, SkillRecord>(MAX_CACHED_RECORDS);
  /** When this isolate last tried to note a use of a tenant's version, in Unix ms, by digest. */
  readonly #notedUses = new RecentMap<string, number>(MAX_CACHED_RECORDS);
  readonly #blobs = new BlobCache();
  /** The document of the served catalog. */
  #openapi: { digest: string; bytes: Uint8Array } | null = null;

  constructor(env: Bindings, settings: Settings) {
    this.#env = env;
    this.#settings = settings;
  }

  /** Makes a pointer that this isolate has just written take effect here immediately. */
  pointerMoved(id: string): void {
    this.#pointer = { id, checkedAt: Date.now() };
  }

  /** Reads the pointer. @throws CatalogUnreadable if a later version of Hull stored it */
  async refresh(): Promise<void> {
    const known = this.#pointer;
    const id = servedId(await readPointer(this.#env), this.#settings.pinnedCatalog);
    // The pointer may have moved through this isolate after it was read.
    if (id !== null && this.#pointer === known) this.#pointer = { id, checkedAt: Date.now() };
  }

  /**
   * The catalog that this deployment serves; the one before while the present one cannot be read. From then on the
   * redactor knows its variables.
   * @throws CatalogMissing if nothing was published; CatalogUnreadable if a later version of Hull published it
   */
  async catalog(background: Background): Promise<LoadedCatalog> {
    const id = await this.#currentId(background);
    const known = this.#catalog;
    if (known?.id === id) return known;
    try {
      const loaded = await loadCatalog(this.#env, this.#settings, id);
      learnVariables(this.#settings, loaded.variables);
      this.#catalog = loaded;
      return loaded;
    } catch (error) {
      if (known === null || CatalogUnreadable.matches(error)) throw error;
      // KV does not answer, or lacks the new catalog here as yet. The next look at the pointer tries again.
      if (this.#pointer?.id === id) {
        logFault(this.#settings.eventRedactor, { event: "catalog_not_loaded", catalog: id }, error);
        this.#pointer = { id: known.id, checkedAt: Date.now() };
      }
      return known;
    }
  }

  async #currentId(background: Background): Promise<string> {
    if (this.#pointer === null) await this.refresh();
    const known = this.#pointer;
    if (known === null) throw new CatalogMissing({});
    if (Date.now() - known.checkedAt > POINTER_FRESH_MS) {
      known.checkedAt = Date.now();
      background(this.refresh());
    }
    return known.id;
  }

  /** The record of a skill version. @throws SkillNotFound if a later version of Hull stored it */
  async skill(digest: string): Promise<SkillRecord> {
    const record = await this.#record(digest);
    if (record === null) throw lacks(`skill:${digest}`);
    return record;
  }

  /** `null`: it was removed, or never stored. */
  async #record(digest: string): Promise<SkillRecord | null> {
    const known = this.#records.get(digest);
    if (known !== undefined) return known;
    const value = await readObject(this.#env, `skill:${digest}`);
    if (value === null) return null;
    const { data: record } = skillRecordShape.safeParse(value);
    if (record === undefined) throw unreadableRecord(value, digest);
    this.#records.set(digest, record);
    return record;
  }

  /**
   * The same for a version that a caller may have named.
   * @throws SkillNotFound if another tenant uploaded it, or Hull does not have it
   */
  async skillOf(tenant: string, digest: string): Promise<SkillRecord> {
    const record = await this.keptSkill(tenant, digest);
    if (record === null) throw new SkillNotFound({ id: digest });
    return record;
  }

  /** The same; `null` if Hull does not have it. A version that nothing serves stays longer with each use. */
  async keptSkill(tenant: string, digest: string): Promise<SkillRecord | null> {
    const record = await this.#record(digest);
    if (record?.uploaded_by === undefined) return record;
    if (record.uploaded_by !== tenant) return null;
    // Imported on first use, because few isolates need it.
    const { noteUses, RENEWED_MS } = await import("./uploaded-objects.ts");
    const now = Date.now();
    if (now - (this.#notedUses.get(digest) ?? 0) < RENEWED_MS) return record;
    this.#notedUses.set(digest, now);
    await noteUses(this.#env, [digest]);
    return record;
  }

  /** The same for lists; `null` if a later version of Hull stored it. */
  readableSkill(digest: string): Promise<SkillRecord | null> {
    return this.skill(digest).catch(SkillNotFound.orNull);
  }

  /** The bytes of an OpenAPI document; the last one is cached. */
  async openapi(digest: string): Promise<Uint8Array> {
    if (this.#openapi?.digest === digest) return this.#openapi.bytes;
    const stored = new Response(await readBytes(this.#env, "openapi", digest));
    const bytes = new Uint8Array(await stored.arrayBuffer());
    this.#openapi = { digest, bytes };
    return bytes;
  }

  /** A file that a skill serves: its bytes if small, else a stream. */
  async blob({ sha256, size }: StoredFile): Promise<Uint8Array | ReadableStream<Uint8Array>> {
    const known = this.#blobs.get(sha256);
    if (known !== undefined) return known;
    const stored = await readBytes(this.#env, "blob", sha256);
    if (size > MAX_FILE_BYTES) return stored;
    const bytes = new Uint8Array(await new Response(stored).arrayBuffer());
    this.#blobs.set(sha256, bytes);
    return bytes;
  }

  /** The bytes of a file of a skill's folder; `null`: an earlier build stored only the files that it ran. */
  async file({ manifest, pack }: SkillRecord, file: BundledFile): Promise<Uint8Array | null> {
    if (file.path === manifest.serve) {
      return new Uint8Array(await new Response(await this.blob(file)).arrayBuffer());
    }
    return pack === null ? null : this.packed(pack, file);
  }

  /**
   * The bytes of a file of a pack; `null`: the pack lacks it. It is read only once while the isolate has room for it.
   */
  async packed(pack: string, { path, sha256, size }: BundledFile): Promise<Uint8Array | null> {
    const known = this.#blobs.get(sha256);
    if (known !== undefined) return known;
    const bytes = await readTarFile(await readBytes(this.#env, "pack", pack), path);
    if (bytes !== null && size <= MAX_FILE_BYTES) this.#blobs.set(sha256, bytes);
    return bytes;
  }
}

type StoredFile = Pick<BundledFile, "sha256" | "size">;

async function loadCatalog(env: Bindings, { eventRedactor }: Settings, id: string): Promise<LoadedCatalog> {
  const { unreadable, ...catalog } = await readCatalog(env, id);
  for (const { slug } of unreadable) logLine(eventRedactor, { event: "skill_unreadable", slug }, "error");
  return {
    id,
    cards: catalog.cards,
    bySlug: new Map(catalog.cards.map((card) => [card.slug, card])),
    byRoute: new Map(catalog.cards.map((card) => [card.route, card])),
    openapi: catalog.openapi ?? null,
    variables: catalog.variables ?? [],
    overrides: catalog.overrides ?? {},
    faults: catalog.faults ?? {},
    tag: id.slice(0, 32),
    uploads: [],
    unreadable,
  };
}

/** A stored catalog. `unreadable`: skills whose cards this version does not know. @throws CatalogUnreadable */
export async function readCatalog(
  env: Bindings,
  id: string,
): Promise<Catalog & { unreadable: UnreadableSkill[] }> {
  const value = await readObject(env, `catalog:${id}`);
  if (value === null) throw lacks(`catalog:${id}`);
  const { data: whole } = catalogShape.safeParse(value);
  if (whole !== undefined) return { ...whole, unreadable: [] };
  const cards: Card[] = [];
  const unreadable: UnreadableSkill[] = [];
  const rest = objectOf(value);
  for (const given of Array.isArray(rest.cards) ? rest.cards : []) {
    const { data: card } = cardShape.safeParse(given);
    if (card !== undefined) cards.push(card);
    else unreadable.push({ ...readShape(addressShape, given, `catalog:${id}`), origin: "published" });
  }
  return { ...readShape(catalogShape, { ...rest, cards }, `catalog:${id}`), unreadable };
}

/** What Hull must know about a card that it does not serve. */
const addressShape = z.lazy(() => z.object({ slug: z.string(), route: z.string() }));

/** @throws CatalogUnreadable */
function readShape<T>(shape: z.ZodMiniType<T>, value: unknown, what: string): T {
  const { data, error } = shape.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error?.issues ?? [];
  throw new CatalogUnreadable({ what, issue: `${issue?.path.join(".")}: ${issue?.message}` });
}

function unreadableRecord(value: unknown, digest: string): Error {
  const { manifest, stored, uploaded_by } = objectOf(value);
  const slug = isObject(manifest) && typeof manifest.slug === "string" ? manifest.slug : digest;
  const owned = stored === true ? "stored" : "uploaded";
  return new SkillNotFound({ unreadable: slug, origin: uploaded_by === undefined ? "published" : owned });
}

/**
 * The catalog that a deployment serves: the one published to it, else the one it is pinned to. A pointer that was moved
 * for another deployment does not count, so code and catalog switch together in both directions.
 */
export function servedId(pointer: CatalogPointer | null, pinned: string | null): string | null {
  if (pointer === null) return pinned;
  return pinned === null || pointer.pinned === pinned ? pointer.id : pinned;
}

/** `catalog:current`; `null` before the first publish. @throws CatalogUnreadable */
export async function readPointer(env: Bindings): Promise<CatalogPointer | null> {
  return pointerOf(await askedAgain(() => env.SKILLS.get(POINTER_KEY, "json")));
}

/** @param value `null`: nothing was published. @throws CatalogUnreadable */
export const pointerOf = (value: unknown): CatalogPointer | null =>
  value === null ? null : readShape(catalogPointerShape, value, POINTER_KEY);

/** A stream of a skill's pack, a served file (`blob`), its hooks or an OpenAPI document. */
export async function readBytes(
  env: Bindings,
  kind: "pack" | "blob" | "module" | "openapi",
  digest: string,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const key = `${kind}:${digest}`;
  const small = (place: string, cacheTtl: number) => env.SKILLS.get(place, { type: "stream", cacheTtl });
  const large = async (place: string) => (await env.FILES.get(place))?.body ?? null;
  const found = await askedAgain(
    async () =>
      (await placed(key, (place) => small(place, IMMUTABLE_TTL_S))) ??
      (await placed(key, large)) ??
      (await placed(key, (place) => small(place, MISSING_TTL_S))),
  );
  if (found === null) throw lacks(key);
  return found;
}

/** `null`: it is not stored. */
async function readObject(env: Bindings, key: `${"skill" | "catalog"}:${string}`): Promise<unknown> {
  const read = (cacheTtl: number) =>
    placed(key, async (place): Promise<unknown> => env.SKILLS.get(place, { type: "json", cacheTtl }));
  return askedAgain(async () => (await read(IMMUTABLE_TTL_S)) ?? (await read(MISSING_TTL_S)));
}

/** What is stored under the key of a published or an uploaded object. */
async function placed<T>(key: string, read: (place: string) => Promise<T | null>): Promise<T | null> {
  return (await read(key)) ?? (await read(UPLOADED + key));
}

const lacks = (key: string): Error => new Internal({ cause: `the registry lacks ${key}` });
