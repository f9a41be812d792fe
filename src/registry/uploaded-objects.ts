/**
 * Which versions of tenants' skills use which objects: of uploads, of stored skills that a run names, and of skills
 * inside a request. Their objects have keys of their own: a publish or a deploy takes what it finds under the other
 * keys as its own, so under these nothing else can need an object. A version is loose while no upload has it;
 * `sweep-uploads.ts` removes it later.
 */
import * as z from "zod/mini";
import UPLOADED_OBJECTS from "../../migrations/0021_uploaded_objects.sql?raw";
import { type Statement, Tables } from "../database.ts";
import type { Bindings, Owner } from "../env.ts";

/**
 * How old the noted use of a loose version is, in ms, before a further one replaces it, and how long an isolate that has
 * tried to note one waits before it tries again. So the last use is known to a day.
 */
export const RENEWED_MS = 12 * 3_600_000;

const tables = ({ DB }: Bindings): Tables => new Tables(DB, UPLOADED_OBJECTS);
const digestShape = z.lazy(() => z.array(z.object({ digest: z.string() })));

/**
 * Notes the objects of a version before they are stored. `false`: a sweep is removing one of them at this moment, so
 * they must not be stored under these keys.
 */
export async function noteObjects(
  { env, tenant }: Owner,
  digest: string,
  keys: readonly string[],
): Promise<boolean> {
  const list = JSON.stringify(keys);
  const [noted] = await tables(env).batch([
    [
      `INSERT INTO uploaded_records (digest, tenant, loose_ms) SELECT ?1, ?2, ?3
       WHERE NOT EXISTS (SELECT 1 FROM uploaded_objects AS o JOIN uploaded_records AS r ON r.digest = o.digest
         WHERE o.key IN (SELECT value FROM json_each(?4)) AND r.removing_ms IS NOT NULL)
       ON CONFLICT (digest) DO UPDATE SET loose_ms = excluded.loose_ms RETURNING digest`,
      [digest, tenant, Date.now(), list],
    ],
    [
      `INSERT OR IGNORE INTO uploaded_objects (digest, key) SELECT ?1, value FROM json_each(?2)
       WHERE EXISTS (SELECT 1 FROM uploaded_records WHERE digest = ?1 AND removing_ms IS NULL)`,
      [digest, list],
    ],
  ]);
  return digestShape.parse(noted).length === 1;
}

/**
 * Notes that something begins to use versions. If they are loose, they stay for longer. Nothing fails for the lack of
 * this note: it matters in weeks.
 */
export async function noteUses(env: Bindings, digests: readonly string[]): Promise<void> {
  const now = Date.now();
  const note = `UPDATE uploaded_records SET loose_ms = ?2
    WHERE digest IN (SELECT value FROM json_each(?1)) AND loose_ms < ?3 AND removing_ms IS NULL`;
  await tables(env)
    .run(note, [JSON.stringify(digests), now, now - RENEWED_MS])
    .catch(() => {});
}

/**
 * The statement that makes versions loose.
 * @param versions selects their digests; its parameters are the values
 */
export const looseVersions = (versions: string, values: readonly unknown[]): Statement => [
  `UPDATE uploaded_records SET loose_ms = unixepoch('subsec') * 1000 WHERE digest IN (${versions})`,
  values,
];
