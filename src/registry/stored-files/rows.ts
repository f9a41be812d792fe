/**
 * The rows of `/v1/files` in D1, uploads of `/files` among them. A row counts once its bytes are stored in R2, so no
 * row lacks its bytes. Every query contains the tenant, so another tenant's id is unknown.
 */

import * as z from "zod/mini";
import STORED_FILES from "../../../migrations/0008_stored_files.sql?raw";
import STORED_FILES_LEFT from "../../../migrations/0029_stored_files_left.sql?raw";
import STORED_BYTES from "../../../migrations/0036_stored_bytes.sql?raw";
import { flagColumn, matching, type OwnTables, ownTables, removeInBatches, Tables } from "../../database.ts";
import type { Bindings, Owner } from "../../env.ts";
import type { Page, PageWanted } from "../../list-page.ts";

/** How long the row of an expired file stays, in ms. */
const REMEMBERED_MS = 30 * 24 * 3_600_000;
/** After this time, a row whose bytes have not arrived counts as abandoned. */
const UNFINISHED_MS = 24 * 3_600_000;
/** Files that a sweep removes at once. */
const BATCH = 500;

export type FileRow = z.output<typeof rowShape>;
const rowShape = z.lazy(() =>
  z.object({
    /** `file_<32 hex digits>`. */
    id: z.string(),
    filename: z.string(),
    /** Media type with parameters. */
    mime: z.string(),
    /** In bytes. */
    size: z.int(),
    /** In OpenAI's terms. */
    purpose: z.string(),
    /** Whether Anthropic's clients may read the bytes: only those of generated files. */
    downloadable: flagColumn(),
    /** Unix µs, unique per tenant. */
    created_us: z.int(),
    /** Unix ms; `null`: never. */
    expires_ms: z.nullable(z.int()),
  }),
);
const COLUMNS = "id, filename, mime, size, purpose, downloadable, created_us, expires_ms";
/**
 * `stored` is 0 until the bytes are there, and 2 once those of an expired file are gone. A file is shown if it is
 * complete and did not expire long ago.
 */
const SHOWN = "stored > 0 AND (expires_ms IS NULL OR expires_ms > ?2)";

const SCHEMA = STORED_FILES + STORED_FILES_LEFT + STORED_BYTES;
const own = (owner: Owner): OwnTables => ownTables(owner, SCHEMA);
const rememberedSince = (): number => Date.now() - REMEMBERED_MS;

export const isExpired = ({ expires_ms }: FileRow): boolean =>
  expires_ms !== null && expires_ms <= Date.now();

/** Creates the row of a file before its bytes arrive, unless there is one; only the id is known. */
export async function beginFile(owner: Owner, id: string): Promise<void> {
  await own(owner).run(
    `INSERT INTO stored_files (tenant, id, filename, mime, size, purpose, downloadable, stored, created_us, expires_ms)
     SELECT ?1, ?2, '', '', 0, '', 0, 0,
       max(?3, 1 + coalesce((SELECT max(created_us) FROM stored_files WHERE tenant = ?1), 0)), ?4
     WHERE true ON CONFLICT (tenant, id) DO NOTHING`,
    [id, Date.now() * 1000, Date.now() + UNFINISHED_MS],
  );
}

/**
 * Completes the row of a file whose bytes are stored. Returns `null` if the tenant would exceed `quota` bytes with it.
 * @param file all except the time of creation
 */
export async function finishFile(
  owner: Owner,
  file: Omit<FileRow, "created_us">,
  quota: number,
): Promise<FileRow | null> {
  const { id, filename, mime, size, purpose, downloadable, expires_ms } = file;
  return own(owner).first(
    rowShape,
    `UPDATE stored_files SET filename = ?3, mime = ?4, size = ?5, purpose = ?6, downloadable = ?7, expires_ms = ?8,
       stored = 1
     WHERE tenant = ?1 AND id = ?2 AND (stored = 1 OR ?5 + (${USED}) <= ?10) RETURNING ${COLUMNS}`,
    [id, filename, mime, size, purpose, downloadable ? 1 : 0, expires_ms, Date.now(), quota],
  );
}

/**
 * Creates the row of a file whose bytes are stored, unless there is one.
 * @param file `created_ms`: Unix ms; a file created before the tenant's newest one is listed as a moment later than that
 * @returns whether the tenant stays within `quota` bytes with it; otherwise there is no row
 */
export async function addFile(
  owner: Owner,
  file: Omit<FileRow, "created_us"> & { created_ms: number },
  quota: number,
): Promise<boolean> {
  const { id, filename, mime, size, purpose, downloadable, expires_ms, created_ms } = file;
  const shown = [id, filename, mime, size, purpose, downloadable ? 1 : 0, expires_ms];
  const changed = await own(owner).run(
    `INSERT INTO stored_files (tenant, id, filename, mime, size, purpose, downloadable, stored, created_us, expires_ms)
     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, 1,
       max(?11 * 1000, 1 + coalesce((SELECT max(created_us) FROM stored_files WHERE tenant = ?1), 0)), ?8
     WHERE ?5 + (${USED}) <= ?10 OR EXISTS (SELECT 1 FROM stored_files WHERE tenant = ?1 AND id = ?2)
     ON CONFLICT (tenant, id) DO UPDATE SET stored = stored`,
    [...shown, Date.now(), quota, created_ms],
  );
  return changed > 0;
}

/** Bytes of the tenant ?1 at the time ?9: those that triggers count, without what a sweep has still to remove. */
const USED = `coalesce((SELECT bytes FROM stored_bytes WHERE tenant = ?1), 0) -
  (SELECT coalesce(sum(o.size), 0) FROM stored_files AS o INDEXED BY stored_files_kept
   WHERE o.tenant = ?1 AND o.stored = 1 AND o.expires_ms <= ?9)`;

/** `null` for an unknown or foreign id. An expired file stays known for 30 days. */
export async function findFileRow(owner: Owner, id: string): Promise<FileRow | null> {
  const [row] = await findFileRows(owner, [id]);
  return row ?? null;
}

const FILES = `SELECT ${COLUMNS} FROM stored_files WHERE tenant = ?1 AND ${SHOWN}` as const;

/** The rows of those ids that are known, the newest first. */
export function findFileRows(owner: Owner, ids: readonly string[]): Promise<FileRow[]> {
  const query = `${FILES} AND id IN (SELECT value FROM json_each(?3)) ORDER BY created_us DESC` as const;
  return own(owner).rows(rowShape, query, [rememberedSince(), JSON.stringify(ids)]);
}

/** A page of files, in the order of their `created_us`. @param page `purpose`: `null` means any */
export function listFileRows(
  owner: Owner,
  { purpose, ...page }: PageWanted & { purpose: string | null },
): Promise<Page<FileRow>> {
  const [conditions, values] = matching({ purpose });
  const query = `${FILES} ${conditions}` as const;
  return own(owner).page(rowShape, [query, [rememberedSince(), ...values]], ["created_us"], page);
}

/** Hides a file that is being removed. If nobody removes its bytes, the sweep does. */
export async function hideFile(owner: Owner, id: string): Promise<void> {
  const hide = "UPDATE stored_files SET stored = 0, expires_ms = ?3 WHERE tenant = ?1 AND id = ?2";
  await own(owner).run(hide, [id, Date.now()]);
}

/** Removes the row of a file whose bytes are gone. */
export async function removeFileRow(owner: Owner, id: string): Promise<void> {
  await own(owner).run("DELETE FROM stored_files WHERE tenant = ?1 AND id = ?2", [id]);
}

const sweptShape = z.lazy(() => z.object({ tenant: z.string(), id: z.string() }));

/**
 * Removes the bytes of expired files, and the rows of files that expired 30 days ago or were never complete.
 * @param remove removes bytes of files
 * @param now Unix ms
 */
export async function sweepFileRows(
  env: Bindings,
  remove: (files: { tenant: string; id: string }[]) => Promise<void>,
  now: number,
): Promise<void> {
  const tables = new Tables(env.DB, SCHEMA);
  await removeInBatches(async () => {
    const expired = await tables.rows(
      sweptShape,
      "SELECT tenant, id FROM stored_files INDEXED BY stored_files_due WHERE expires_ms <= ?1 AND stored < 2 ORDER BY expires_ms LIMIT ?2",
      [now, BATCH],
    );
    if (expired.length === 0) return false;
    await remove(expired);
    const swept = JSON.stringify(expired.map(({ id }) => id));
    const which = "expires_ms <= ? AND id IN (SELECT value FROM json_each(?))";
    await tables.batch([
      [`DELETE FROM stored_files WHERE stored = 0 AND ${which}`, [now, swept]],
      [`UPDATE stored_files SET stored = 2 WHERE stored = 1 AND ${which}`, [now, swept]],
    ]);
    return expired.length === BATCH;
  });
  // A row whose bytes are still there stays: it alone knows them.
  const forgotten = "DELETE FROM stored_files WHERE expires_ms <= ? AND stored = 2";
  await tables.run(forgotten, [now - REMEMBERED_MS]);
}
