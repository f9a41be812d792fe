/** Removes versions of uploaded skills that are loose and that nothing can need any more, with their objects. */
import * as z from "zod/mini";
import UPLOADS from "../../migrations/0002_uploaded_skills.sql?raw";
import SESSIONS from "../../migrations/0004_sessions.sql?raw";
import DAEMONS from "../../migrations/0006_daemons.sql?raw";
import RUNS from "../../migrations/0009_runs.sql?raw";
import WORKFLOWS from "../../migrations/0010_workflows.sql?raw";
import TASKS from "../../migrations/0012_tasks.sql?raw";
import UPLOADED_OBJECTS from "../../migrations/0021_uploaded_objects.sql?raw";
import UPLOADS_BY_DIGEST from "../../migrations/0022_uploads_by_digest.sql?raw";
import RUNS_BY_FILTER from "../../migrations/0028_runs_by_filter.sql?raw";
import { removeInBatches, Tables } from "../database.ts";
import type { Bindings } from "../env.ts";

const UPLOADED = UPLOADED_OBJECTS + UPLOADS + UPLOADS_BY_DIGEST;
const SCHEMA = UPLOADED + SESSIONS + RUNS + RUNS_BY_FILTER + WORKFLOWS + TASKS + DAEMONS;

const HOUR_MS = 3_600_000;
/**
 * How long a version stays after it has become loose, and after its last use: longer than the answers of calls and the
 * stored responses that may ask for it again.
 */
const LOOSE_FOR_MS = 31 * 24 * HOUR_MS;
/**
 * How long after the noted time of a version something may begin with it: isolates cache uploads for seconds, and
 * `noteUses` is precise to a day.
 */
const BEGINS_WITHIN_MS = 48 * HOUR_MS;
/** When a sweep that has not finished must have died: the platform ends it after 15 minutes. */
const ENDS_MS = HOUR_MS;
/** Versions that a sweep removes at once. */
const BATCH = 20;
/**
 * The most objects that a sweep removes. Each takes a call of KV, a version may have more than a thousand, and all sweeps
 * of a trigger together may make a thousand calls.
 */
const MAX_OBJECTS = 200;

const REFERRED = ["uploaded_skills", "uploaded_versions"]
  .map((table) => `EXISTS (SELECT 1 FROM ${table} AS n WHERE n.digest = uploaded_records.digest)`)
  .join(" OR ");

/** Whether the row `n` of the version's tenant is that of something that may have begun with the version. */
const BEGUN = `n.tenant = v.tenant
  AND n.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', (v.loose_ms + ${BEGINS_WITHIN_MS}) / 1000.0, 'unixepoch')`;
/**
 * What may need a loose version: a run that has not ended; a workflow run, a task or a daemon as long as it exists,
 * since all of them can continue with the versions that they have; a container that names it.
 */
const NEEDED = `EXISTS (SELECT 1 FROM runs AS n INDEXED BY runs_unsettled WHERE ${BEGUN} AND n.settled_at IS NULL)
  OR ${["workflow_runs", "tasks", "daemons"].map((table) => `EXISTS (SELECT 1 FROM ${table} AS n WHERE ${BEGUN})`).join(" OR ")}
  OR EXISTS (SELECT 1 FROM sessions AS n WHERE n.tenant = v.tenant AND n.id >= 'container_01' AND n.id < 'container_02'
    AND instr(n.metadata, v.digest))`;

/** Whether a version that stays uses the object `o`. No version can begin to while the object is noted for removal. */
const SHARED = `EXISTS (SELECT 1 FROM uploaded_objects AS p JOIN uploaded_records AS r ON r.digest = p.digest
  WHERE p.key = o.key AND r.removing_ms IS NULL)`;

const digestShape = z.lazy(() => z.object({ digest: z.string() }));
const keyShape = z.lazy(() => z.object({ key: z.string() }));

/** @param now Unix ms */
export async function sweepUploads(env: Bindings, now: number): Promise<void> {
  const tables = new Tables(env.DB, SCHEMA);
  let left = MAX_OBJECTS;
  await removeInBatches(async () => {
    const [, claimed] = await tables.batch([
      // An upload that is under way has no version yet.
      [`UPDATE uploaded_records SET loose_ms = NULL WHERE loose_ms < ? AND (${REFERRED})`, [now - HOUR_MS]],
      [
        `UPDATE uploaded_records SET removing_ms = ?1 WHERE digest IN (SELECT v.digest FROM uploaded_records AS v
           WHERE v.loose_ms < ?2 AND (v.removing_ms IS NULL OR v.removing_ms < ?3) AND NOT (${NEEDED}) LIMIT ?4)
         RETURNING digest`,
        [now, now - LOOSE_FOR_MS, now - ENDS_MS, BATCH],
      ],
    ]);
    const found = z.array(digestShape).parse(claimed);
    if (found.length === 0) return false;
    const digests = JSON.stringify(found.map(({ digest }) => digest));
    const ours = "digest IN (SELECT value FROM json_each(?1))";
    const objects = await tables.rows(
      keyShape,
      `SELECT DISTINCT key FROM uploaded_objects AS o WHERE ${ours} AND NOT ${SHARED} LIMIT ?2`,
      [digests, left],
    );
    const keys = objects.map(({ key }) => key);
    for (const key of keys) await env.SKILLS.delete(key);
    if (keys.length > 0) await env.FILES.delete(keys);
    left -= keys.length;
    await tables.batch([
      [
        `DELETE FROM uploaded_objects AS o WHERE ${ours} AND (key IN (SELECT value FROM json_each(?2)) OR ${SHARED})`,
        [digests, JSON.stringify(keys)],
      ],
      // A version that has objects left is claimed again later.
      [
        `DELETE FROM uploaded_records WHERE ${ours} AND NOT EXISTS
           (SELECT 1 FROM uploaded_objects AS o WHERE o.digest = uploaded_records.digest)`,
        [digests],
      ],
    ]);
    return found.length === BATCH && left > 0;
  });
}
