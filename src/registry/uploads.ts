/** Uploaded skills in D1: the owners of slugs and routes, and earlier versions. */

import * as z from "zod/mini";
import UPLOADS from "../../migrations/0002_uploaded_skills.sql?raw";
import TOOL_CONFIG from "../../migrations/0005_tool_config.sql?raw";
import { databaseWith, Tables } from "../database.ts";
import type { Bindings } from "../env.ts";
import { type Card, cardShape, sha256 } from "../skill/manifest.ts";
import { looseVersions } from "./uploaded-objects.ts";

/** The most uploaded skills of one tenant: an isolate holds all their cards. */
export const MAX_UPLOADS = 200;
/** The most versions to remember of one skill. */
const MAX_VERSIONS = 100;

const COLUMNS = "slug, route, owner, digest, card, created_at, updated_at";

export type Upload = z.output<typeof uploadShape>;
const uploadShape = z.lazy(() =>
  z.object({
    slug: z.string(),
    route: z.string(),
    /** The tenant. */
    owner: z.string(),
    /** SHA-256 of the skill record. */
    digest: sha256(),
    /** `null`: a later version of Hull stored it in a form that this version cannot read. */
    card: z.pipe(
      z.pipe(
        z.string(),
        z.transform((text): unknown => JSON.parse(text)),
      ),
      z.union([cardShape, z.transform(() => null)]),
    ),
    /** RFC 3339: time of the first upload, and of the served version. */
    created_at: z.string(),
    updated_at: z.string(),
  }),
);

const tables = ({ DB }: Bindings): Tables => new Tables(DB, UPLOADS);

/** Selects what uses, or overlaps with, the slug ?1 and the route ?2, which is below the path of the slug ?3. */
const NEAR = `slug IN (?1, ?3) OR route IN (?2, '/skills/' || ?1) OR route GLOB '/skills/' || ?1 || '/*'`;
/** The parameters of `NEAR`. */
const near = ({ slug, route }: Card): string[] => {
  return [slug, route, /^\/skills\/([^/]+)/.exec(route)?.[1] ?? slug];
};

/** The uploads that use, or overlap with, the slug and the route: all possible conflicts of addresses. */
export async function uploadsNear(env: Bindings, card: Card): Promise<Upload[]> {
  const query = `SELECT ${COLUMNS} FROM uploaded_skills WHERE ${NEAR} ORDER BY slug`;
  return tables(env).rows(uploadShape, query, near(card));
}

/** All uploads of a tenant, sorted by slug. */
export async function uploadsOf(env: Bindings, owner: string): Promise<Upload[]> {
  return listUploads(env, { owner, after: "", limit: MAX_UPLOADS });
}

/** Uploads of a tenant whose slug comes after `after`, sorted by slug. */
export async function listUploads(
  env: Bindings,
  { owner, after, limit }: { owner: string; after: string; limit: number },
): Promise<Upload[]> {
  return tables(env).rows(
    uploadShape,
    `SELECT ${COLUMNS} FROM uploaded_skills WHERE owner = ? AND slug > ? ORDER BY slug LIMIT ?`,
    [owner, after, limit],
  );
}

/**
 * Serves a version of a skill from now on; does nothing if it is already served. `taken`: another skill took the slug or
 * the route in the meantime, or a place that overlaps with them. `full`: the owner has as many skills as permitted.
 * `existed`: it replaced an earlier version.
 * @param fresh another version of the owner's own skill also counts as another skill
 */
export async function saveUpload(
  env: Bindings,
  owner: string,
  card: Card,
  { now, fresh }: { now: Date; fresh: boolean },
): Promise<{ saved: Upload; existed: boolean } | "taken" | "full"> {
  const db = await tables(env).database();
  const tooMany = `FROM uploaded_versions WHERE slug = ?1 AND version <=
    (SELECT max(version) FROM uploaded_versions WHERE slug = ?1) - ?2`;
  const values = [...near(card), owner, card.version, JSON.stringify(card), now.toISOString()];
  const statements = [
    db.prepare("SELECT slug FROM uploaded_skills WHERE slug = ?1").bind(card.slug),
    db
      .prepare(
        `INSERT INTO uploaded_skills (slug, route, owner, digest, card, created_at, updated_at)
         SELECT ?1, ?2, ?4, ?5, ?6, ?7, ?7
         WHERE (SELECT count(*) FROM uploaded_skills WHERE owner = ?4 AND slug <> ?1) < ?8
           AND NOT EXISTS (SELECT 1 FROM uploaded_skills WHERE slug <> ?1 AND (${NEAR}))
         ON CONFLICT (slug) DO UPDATE SET route = excluded.route, digest = excluded.digest, card = excluded.card,
           updated_at = iif(digest = excluded.digest, updated_at, excluded.updated_at)
         WHERE owner = excluded.owner AND (NOT ?9 OR digest = excluded.digest)
         RETURNING ${COLUMNS}`,
      )
      .bind(...values, MAX_UPLOADS, fresh ? 1 : 0),
    db
      .prepare(
        `INSERT INTO uploaded_versions (slug, version, digest, uploaded_at)
         SELECT slug, 1 + (SELECT coalesce(max(version), 0) FROM uploaded_versions WHERE slug = ?1), digest, updated_at
         FROM uploaded_skills WHERE slug = ?1 AND digest IS NOT
           (SELECT digest FROM uploaded_versions WHERE slug = ?1 ORDER BY version DESC LIMIT 1)`,
      )
      .bind(card.slug),
    await looseVersions(env, `SELECT digest ${tooMany}`, [card.slug, MAX_VERSIONS]),
    db.prepare(`DELETE ${tooMany}`).bind(card.slug, MAX_VERSIONS),
  ];
  const [before, after] = await db.batch(statements);
  const [saved] = z.array(uploadShape).parse(after?.results);
  if (saved !== undefined) return { saved, existed: before?.results.length === 1 };
  return (await uploadsNear(env, card)).length > 0 ? "taken" : "full";
}

/**
 * Removes an upload with its versions and its configuration, all or none; returns its owner, or `null` if there is none.
 * @param owner `null`: any tenant
 */
export async function removeUpload(
  env: Bindings,
  slug: string,
  owner: string | null,
): Promise<string | null> {
  await databaseWith(env.DB, TOOL_CONFIG);
  const db = await tables(env).database();
  const which = "FROM uploaded_skills WHERE slug = ?1 AND (?2 IS NULL OR owner = ?2)";
  const config = `DELETE FROM tool_config WHERE slug = ?1 AND tenant IN (SELECT owner ${which})`;
  const versions = `FROM uploaded_versions WHERE slug IN (SELECT slug ${which})`;
  const digests = `SELECT digest ${versions} UNION SELECT digest ${which}`;
  const [, , , gone] = await db.batch([
    db.prepare(config).bind(slug, owner),
    await looseVersions(env, digests, [slug, owner]),
    db.prepare(`DELETE ${versions}`).bind(slug, owner),
    db.prepare(`DELETE ${which} RETURNING owner`).bind(slug, owner),
  ]);
  return z.array(z.object({ owner: z.string() })).parse(gone?.results)[0]?.owner ?? null;
}

/** The versions of an upload, the newest first. */
export async function uploadedVersions(
  env: Bindings,
  slug: string,
): Promise<{ digest: string; published_at: string }[]> {
  return tables(env).rows(
    z.object({ digest: z.string(), published_at: z.string() }),
    "SELECT digest, uploaded_at AS published_at FROM uploaded_versions WHERE slug = ? ORDER BY version DESC",
    [slug],
  );
}

/** The tenants whose uploads declare daemons. */
export async function uploadersOfDaemons(env: Bindings): Promise<string[]> {
  const query = "SELECT DISTINCT owner FROM uploaded_skills WHERE json_extract(card, '$.daemon')";
  const rows = await tables(env).rows(z.object({ owner: z.string() }), query);
  return rows.map(({ owner }) => owner);
}
