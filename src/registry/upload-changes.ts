/** Changes of the uploaded skills in D1, and what a change may conflict with. */
import * as z from "zod/mini";
import TOOL_CONFIG from "../../migrations/0005_tool_config.sql?raw";
import UPLOADED_OBJECTS from "../../migrations/0021_uploaded_objects.sql?raw";
import { databaseWith, matching } from "../database.ts";
import type { Bindings, Owner } from "../env.ts";
import type { Card } from "../skill/manifest.ts";
import { looseVersions } from "./uploaded-objects.ts";
import { COLUMNS, MAX_UPLOADS, type Upload, uploadShape, uploadTables } from "./uploads.ts";

/** The most versions to remember of one skill. */
const MAX_VERSIONS = 100;

/**
 * Selects what uses, or overlaps with, the slug ?1 and the route ?2, which is below the path of the slug ?3. SQLite here
 * takes patterns of at most 50 bytes, so the path of the slug is no pattern.
 */
const NEAR = `slug IN (?1, ?3) OR route IN (?2, '/skills/' || ?1) OR instr(route, '/skills/' || ?1 || '/') = 1`;
/** The parameters of `NEAR`. */
const near = ({ slug, route }: Card): string[] => {
  return [slug, route, /^\/skills\/([^/]+)/.exec(route)?.[1] ?? slug];
};

/** The uploads that use, or overlap with, the slug and the route: all possible conflicts of addresses. */
export async function uploadsNear(env: Bindings, card: Card): Promise<Upload[]> {
  const query = `SELECT ${COLUMNS} FROM uploaded_skills WHERE ${NEAR} ORDER BY slug`;
  return uploadTables(env).rows(uploadShape, query, near(card));
}

/**
 * Serves a version of a skill from now on; does nothing if it is already served. `taken`: another skill took the slug or
 * the route in the meantime, or a place that overlaps with them. `full`: the owner has as many skills as permitted.
 * `existed`: it replaced an earlier version.
 * @param fresh another version of the owner's own skill also counts as another skill
 */
export async function saveUpload(
  { env, tenant }: Owner,
  card: Card,
  { now, fresh }: { now: Date; fresh: boolean },
): Promise<{ saved: Upload; existed: boolean } | "taken" | "full"> {
  await databaseWith(env.DB, UPLOADED_OBJECTS);
  const tooMany = `FROM uploaded_versions WHERE slug = ?1 AND version <=
    (SELECT max(version) FROM uploaded_versions WHERE slug = ?1) - ?2`;
  const values = [...near(card), tenant, card.version, JSON.stringify(card), now.toISOString()];
  const [before, after] = await uploadTables(env).batch([
    ["SELECT slug FROM uploaded_skills WHERE slug = ?1", [card.slug]],
    [
      `INSERT INTO uploaded_skills (slug, route, owner, digest, card, created_at, updated_at)
       SELECT ?1, ?2, ?4, ?5, ?6, ?7, ?7
       WHERE (SELECT count(*) FROM uploaded_skills WHERE owner = ?4 AND slug <> ?1) < ?8
         AND NOT EXISTS (SELECT 1 FROM uploaded_skills WHERE slug <> ?1 AND (${NEAR}))
       ON CONFLICT (slug) DO UPDATE SET route = excluded.route, digest = excluded.digest, card = excluded.card,
         updated_at = iif(digest = excluded.digest, updated_at, excluded.updated_at)
       WHERE owner = excluded.owner AND (NOT ?9 OR digest = excluded.digest)
       RETURNING ${COLUMNS}`,
      [...values, MAX_UPLOADS, fresh ? 1 : 0],
    ],
    [
      `INSERT INTO uploaded_versions (slug, version, digest, uploaded_at)
       SELECT slug, 1 + (SELECT coalesce(max(version), 0) FROM uploaded_versions WHERE slug = ?1), digest, updated_at
       FROM uploaded_skills WHERE slug = ?1 AND digest IS NOT
         (SELECT digest FROM uploaded_versions WHERE slug = ?1 ORDER BY version DESC LIMIT 1)`,
      [card.slug],
    ],
    looseVersions(`SELECT digest ${tooMany}`, [card.slug, MAX_VERSIONS]),
    [`DELETE ${tooMany}`, [card.slug, MAX_VERSIONS]],
  ]);
  const [saved] = z.array(uploadShape).parse(after);
  if (saved !== undefined) return { saved, existed: before?.length === 1 };
  return (await uploadsNear(env, card)).length > 0 ? "taken" : "full";
}

/**
 * Removes an upload with its versions and its configuration, all or none; returns its owner, or `null` if there is none.
 * @param owner `null` means any tenant
 */
export async function removeUpload(
  env: Bindings,
  slug: string,
  owner: string | null,
): Promise<string | null> {
  await databaseWith(env.DB, TOOL_CONFIG + UPLOADED_OBJECTS);
  const [conditions, owned] = matching({ owner });
  const which = `FROM uploaded_skills WHERE slug = ?1 ${conditions}`;
  const config = `DELETE FROM tool_config WHERE slug = ?1 AND tenant IN (SELECT owner ${which})`;
  const versions = `FROM uploaded_versions WHERE slug IN (SELECT slug ${which})`;
  const values = [slug, ...owned];
  const [, , , gone] = await uploadTables(env).batch([
    [config, values],
    looseVersions(`SELECT digest ${versions}`, values),
    [`DELETE ${versions}`, values],
    [`DELETE ${which} RETURNING owner`, values],
  ]);
  return z.array(z.object({ owner: z.string() })).parse(gone)[0]?.owner ?? null;
}
