/**
 * Bundles of stored skills: zips in R2 under `skill-bundles/<tenant>/<random>`, found by tenant and SHA-256. A bundle's
 * row is written before its bytes, and the rows of versions after them, so no version lacks its bundle. A bundle
 * without a version is loose; the sweep removes it an hour later.
 */

import * as z from "zod/mini";
import STORED_SKILLS from "../../../migrations/0007_stored_skills.sql?raw";
import SKILLS_BY_NAME from "../../../migrations/0030_stored_skills_by_name.sql?raw";
import { sha256 } from "../../bytes.ts";
import { type OwnTables, ownTables, removeInBatches, Tables } from "../../database.ts";
import type { Bindings, Owner } from "../../env.ts";

/** How long a loose bundle stays: longer than any request takes from storing the bundle to storing the version. */
const LOOSE_FOR_MS = 3_600_000;
/** Bundles that a sweep removes at once; R2 removes 1000 objects at once. */
const BATCH = 500;

const SCHEMA = STORED_SKILLS + SKILLS_BY_NAME;
export const ownSkills = (owner: Owner): OwnTables => ownTables(owner, SCHEMA);

const placeShape = z.lazy(() => z.object({ key: z.string(), stored: z.int() }));

const bundleShape = z.lazy(() => z.object({ key: z.string(), size: z.int() }));

/**
 * Stores bytes unless the tenant has them; returns their SHA-256. The bundle stays loose until a version refers to it.
 */
export async function storeBundle(owner: Owner, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await sha256(bytes);
  // A sweep may remove the bytes of a doomed bundle at any moment, so the new bytes get another key.
  const row = await ownSkills(owner).first(
    placeShape,
    `INSERT INTO stored_bundles (tenant, digest, key, size, stored, doomed, loose_ms) VALUES (?1, ?2, ?3, ?4, 0, 0, ?5)
     ON CONFLICT (tenant, digest) DO UPDATE SET key = iif(doomed, excluded.key, key), stored = iif(doomed, 0, stored),
       doomed = 0, loose_ms = excluded.loose_ms
     RETURNING key, stored`,
    [digest, `skill-bundles/${owner.tenant}/${crypto.randomUUID()}`, bytes.length, Date.now()],
  );
  const { key, stored } = placeShape.parse(row);
  if (stored === 1) return digest;
  await owner.env.FILES.put(key, bytes, { sha256: digest, httpMetadata: { contentType: "application/zip" } });
  const done = "UPDATE stored_bundles SET stored = 1 WHERE tenant = ?1 AND digest = ?2 AND key = ?3";
  await ownSkills(owner).run(done, [digest, key]);
  return digest;
}

/** A bundle's key in R2, and its size; `null` if the tenant has none with this SHA-256. */
export function findBundle(owner: Owner, digest: string): Promise<{ key: string; size: number } | null> {
  const query = "SELECT key, size FROM stored_bundles WHERE tenant = ?1 AND digest = ?2 AND stored = 1";
  return ownSkills(owner).first(bundleShape, query, [digest]);
}

const looseShape = z.lazy(() => z.array(z.object({ key: z.string() })));

const REFERRED = `EXISTS (SELECT 1 FROM stored_skill_versions AS v WHERE v.tenant = stored_bundles.tenant
  AND (v.digest = stored_bundles.digest OR v.original = stored_bundles.digest))`;

/** Removes bundles without a version. @param now Unix ms */
export async function sweepBundles(env: Bindings, now = Date.now()): Promise<void> {
  const old = now - LOOSE_FOR_MS;
  const tables = new Tables(env.DB, SCHEMA);
  await removeInBatches(async () => {
    const [, , found] = await tables.batch([
      [`UPDATE stored_bundles SET loose_ms = NULL WHERE loose_ms < ? AND ${REFERRED}`, [old]],
      ["UPDATE stored_bundles SET doomed = 1 WHERE loose_ms < ?", [old]],
      ["SELECT key FROM stored_bundles WHERE loose_ms < ? LIMIT ?", [old, BATCH]],
    ]);
    const keys = looseShape.parse(found).map(({ key }) => key);
    if (keys.length === 0) return false;
    await env.FILES.delete(keys);
    const remove = `DELETE FROM stored_bundles
      WHERE doomed = 1 AND loose_ms < ? AND key IN (SELECT value FROM json_each(?))`;
    await tables.run(remove, [old, JSON.stringify(keys)]);
    return keys.length === BATCH;
  });
}
