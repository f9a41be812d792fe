/** Uploaded skills in D1, as requests read them: the owners of slugs and routes, and earlier versions. */

import * as z from "zod/mini";
import UPLOADS from "../../migrations/0002_uploaded_skills.sql?raw";
import { jsonColumn, ownTables, Tables } from "../database.ts";
import type { Bindings, Owner } from "../env.ts";
import type { Page, PageWanted } from "../list-page.ts";
import { cardShape, sha256 } from "../skill/manifest.ts";

/** The most uploaded skills of one tenant: an isolate holds all their cards. */
export const MAX_UPLOADS = 200;

/** Those of `uploadShape`. */
export const COLUMNS = "slug, route, owner, digest, card, created_at, updated_at";

export type Upload = z.output<typeof uploadShape>;
export const uploadShape = z.lazy(() =>
  z.object({
    slug: z.string(),
    route: z.string(),
    /** The tenant. */
    owner: z.string(),
    /** SHA-256 of the skill record. */
    digest: sha256(),
    /** `null`: a later version of Hull stored it in a form that this version cannot read. */
    card: z.pipe(jsonColumn(), z.union([cardShape, z.transform(() => null)])),
    /** RFC 3339: time of the first upload, and of the served version. */
    created_at: z.string(),
    updated_at: z.string(),
  }),
);

export const uploadTables = ({ DB }: Bindings): Tables => new Tables(DB, UPLOADS);

/** All uploads of a tenant, sorted by slug. */
export async function uploadsOf(owner: Owner): Promise<Upload[]> {
  const { data } = await listUploads(owner, { after: null, limit: MAX_UPLOADS });
  return data;
}

/** A page of a tenant's uploads, sorted by slug. */
export function listUploads(owner: Owner, page: PageWanted): Promise<Page<Upload>> {
  const query = `SELECT ${COLUMNS} FROM uploaded_skills WHERE owner = ?1` as const;
  return ownTables(owner, UPLOADS).page(uploadShape, [query, []], ["slug"], { ...page, ascending: true });
}

/** The versions of an upload, the newest first. */
export async function uploadedVersions(
  env: Bindings,
  slug: string,
): Promise<{ digest: string; published_at: string }[]> {
  return uploadTables(env).rows(
    z.object({ digest: z.string(), published_at: z.string() }),
    "SELECT digest, uploaded_at AS published_at FROM uploaded_versions WHERE slug = ? ORDER BY version DESC",
    [slug],
  );
}

/** The tenants whose uploads declare daemons. */
export async function uploadersOfDaemons(env: Bindings): Promise<string[]> {
  const query = "SELECT DISTINCT owner FROM uploaded_skills WHERE json_extract(card, '$.daemon')";
  const rows = await uploadTables(env).rows(z.object({ owner: z.string() }), query);
  return rows.map(({ owner }) => owner);
}
