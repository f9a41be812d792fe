/**
 * The catalog pointer. Its row in D1 decides: a change names the revision that it replaces, so of two changes at the
 * same time one fails. KV `catalog:current`, which isolates read, is a copy of the row.
 */
import * as z from "zod/mini";
import CATALOG_POINTER from "../../migrations/0020_catalog_pointer.sql?raw";
import { Tables } from "../database.ts";
import type { Bindings } from "../env.ts";
import { CatalogUnreadable } from "../errors/request.ts";
import { objectOf, textOf } from "../skill/json.ts";
import type { CatalogPointer } from "../skill/manifest.ts";
import { POINTER_KEY, pointerOf } from "./published.ts";
import { putValue } from "./put-value.ts";

/** The most catalogs in the pointer, which show a skill's earlier versions. */
const MAX_EARLIER = 20;

/** The pointer, and the revision that a change of it replaces. */
interface StoredPointer {
  /** 0: there is no row yet. */
  revision: number;
  /** `null`: nothing was published. */
  pointer: CatalogPointer | null;
  /** RFC 3339, also of a pointer that counts as none; `""`: nothing was published. */
  published_at: string;
}

/** A row; `text` is the pointer as JSON. */
type Row = z.output<typeof rowShape>;
const rowShape = z.lazy(() => z.object({ revision: z.int(), text: z.string() }));

const tables = ({ DB }: Bindings): Tables => new Tables(DB, CATALOG_POINTER);

/**
 * The stored pointer.
 * @param replaces the pointer will be replaced, so one that this version cannot read counts as none
 * @throws CatalogUnreadable if a later version of Hull stored it
 */
export async function storedPointer(env: Bindings, replaces: boolean): Promise<StoredPointer> {
  const { revision, text } = await latestRow(env);
  const published_at = timeOf(text);
  try {
    return { revision, published_at, pointer: pointerOf(JSON.parse(text)) };
  } catch (error) {
    if (replaces && CatalogUnreadable.matches(error)) return { revision, published_at, pointer: null };
    throw error;
  }
}

/**
 * Points to a catalog that is stored; returns the new pointer, or `null` if somebody else changed it meanwhile.
 * @param previous id of the catalog served until now
 * @param pinned the catalog that this deployment is pinned to
 * @param by id of the publisher's key; `null`: it has none
 */
export async function movePointer(
  env: Bindings,
  { revision, pointer, published_at }: StoredPointer,
  {
    id,
    previous,
    pinned,
    by,
    now,
  }: { id: string; previous: string | null; pinned: string | null; by: string | null; now: Date },
): Promise<CatalogPointer | null> {
  const last = pointer === null ? [] : [{ id: pointer.id, published_at: pointer.published_at }];
  const next: CatalogPointer = {
    id,
    previous,
    published_at: laterThan(published_at, now),
    ...(by === null ? {} : { published_by: by }),
    ...(pinned === null ? {} : { pinned }),
    earlier: [...last, ...(pointer?.earlier ?? [])].slice(0, MAX_EARLIER),
  };
  return (await replaceRow(env, revision, JSON.stringify(next))) ? next : null;
}

/** Copies the row to KV, and again if somebody changes it meanwhile; returns the copy, or `null` as JSON. */
export async function copyPointer(env: Bindings): Promise<string> {
  for (let row = await latestRow(env); ; ) {
    if (row.revision > 0 && (await env.SKILLS.get(POINTER_KEY)) !== row.text)
      await putValue(env, POINTER_KEY, row.text);
    const now = await readRow(env);
    if (now.revision === row.revision) return row.text;
    row = now;
  }
}

/** The row. Earlier versions of Hull write KV alone: if that is newer, it becomes the row. */
async function latestRow(env: Bindings): Promise<Row> {
  for (;;) {
    const [row, copy] = await Promise.all([readRow(env), env.SKILLS.get(POINTER_KEY)]);
    const isNewer = copy !== null && (row.revision === 0 || timeOf(copy) > timeOf(row.text));
    if (!isNewer) return row;
    await replaceRow(env, row.revision, copy);
  }
}

async function readRow(env: Bindings): Promise<Row> {
  const query = "SELECT revision, pointer AS text FROM catalog_pointer";
  return (await tables(env).first(rowShape, query)) ?? { revision: 0, text: "null" };
}

/** Whether the row had this revision, and so was replaced. */
async function replaceRow(env: Bindings, revision: number, text: string): Promise<boolean> {
  const replace = `INSERT INTO catalog_pointer (one, revision, pointer) VALUES (1, ?1 + 1, ?2)
    ON CONFLICT (one) DO UPDATE SET revision = excluded.revision, pointer = excluded.pointer WHERE revision = ?1`;
  return (await tables(env).run(replace, [revision, text])) > 0;
}

/** `published_at` of a pointer in JSON, also of one that this version cannot read. */
const timeOf = (text: string): string => textOf(objectOf(JSON.parse(text)).published_at);

/** The time of a change: later than that of the pointer that it replaces, whatever the clocks say. */
function laterThan(before: string, now: Date): string {
  const last = Date.parse(before);
  return new Date(last >= now.getTime() ? last + 1 : now).toISOString();
}
