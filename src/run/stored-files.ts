/**
 * Files that stay until they are deleted or expire; `/v1/files` lists them. They are also files of `/files`, under the
 * same ids.
 */
import type { Bindings } from "../env.ts";
import { StorageQuotaExceeded } from "../errors/request.ts";
import {
  beginFile,
  type FileRow,
  finishFile,
  removeFileRow,
  sweepFileRows,
} from "../registry/stored-files/rows.ts";
import type { RunContext } from "./context.ts";
import { fileKey, storeOn } from "./files.ts";
import type { Body } from "./large-body.ts";

/** Facts about a file that are known once its body has been read. */
type Settled = Pick<FileRow, "purpose" | "downloadable" | "expires_ms">;

/**
 * Stores a file. The row exists before the bytes, so the sweep removes whatever an interrupted upload leaves.
 * @param settle called when the body has been read
 * @throws StorageQuotaExceeded
 */
export async function saveFile(
  { env, tenant, settings }: RunContext,
  { filename, mime }: { filename: string; mime: string },
  body: Body,
  settle: () => Settled | Promise<Settled>,
): Promise<FileRow> {
  const id = `file_${crypto.randomUUID().replaceAll("-", "")}`;
  await beginFile(env, tenant, id);
  try {
    const shelf = {
      bucket: env.FILES,
      key: () => fileKey(tenant, id),
      options: {
        httpMetadata: { contentType: mime },
        customMetadata: { filename: encodeURIComponent(filename) },
      },
    };
    const size = await storeOn(shelf, body, null);
    const limit = settings.limits.max_stored_bytes;
    const row = await finishFile(env, tenant, { id, filename, mime, size, ...(await settle()) }, limit);
    if (row === null) throw new StorageQuotaExceeded({ limit });
    return row;
  } catch (error) {
    // If this fails, the sweep removes it later.
    await dropStoredFile(env, tenant, id).catch(() => {});
    throw error;
  }
}

/** Removes a file with its bytes. */
export async function dropStoredFile(env: Bindings, tenant: string, id: string): Promise<void> {
  await env.FILES.delete(fileKey(tenant, id));
  await removeFileRow(env, tenant, id);
}

/** Removes expired files, and uploads that never completed. */
export function sweepStoredFiles(env: Bindings): Promise<void> {
  return sweepFileRows(env, (files) => env.FILES.delete(files.map(({ tenant, id }) => fileKey(tenant, id))));
}
