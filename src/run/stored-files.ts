/**
 * The files that `/v1/files` lists: its own, which stay until they are deleted or expire, and uploads of `/files`. Both
 * routes serve both, under the same ids.
 */
import type { Bindings, Owner } from "../env.ts";
import { StorageQuotaExceeded } from "../errors/request.ts";
import {
  addFile,
  beginFile,
  type FileRow,
  finishFile,
  hideFile,
  removeFileRow,
  sweepFileRows,
} from "../registry/stored-files/rows.ts";
import { extensionOf } from "../skill/media.ts";
import type { FileDocument } from "./answers.ts";
import type { RunContext } from "./context.ts";
import { dropFile, fileKey, keepTemporary, newFileId, releaseTemporary, storeBody } from "./files.ts";
import type { Body, BodyStorage } from "./large-body.ts";

/** Facts about a file that are known once its body has been read. */
type Settled = Pick<FileRow, "purpose" | "downloadable" | "expires_ms">;

/**
 * Stores a file. The row exists before the bytes, so the sweep removes whatever an interrupted upload leaves; the index
 * of files removes its parts.
 * @param settle called when the body has been read
 * @param id of the file; an earlier attempt may have stored it
 * @throws StorageQuotaExceeded
 */
export async function saveFile(
  context: RunContext,
  { filename, mime }: { filename: string; mime: string },
  body: Body,
  settle: () => Settled | Promise<Settled>,
  id = newFileId(),
): Promise<FileRow> {
  await beginFile(context, id);
  const parted: string[] = [];
  try {
    const storage: BodyStorage = {
      bucket: context.env.FILES,
      key: () => fileKey(context, id),
      async note(key, uploadId) {
        if (uploadId === null) return;
        parted.push(key);
        await keepTemporary(context, key, uploadId);
      },
      options: {
        httpMetadata: { contentType: mime },
        customMetadata: { filename: encodeURIComponent(filename) },
      },
    };
    const size = await storeBody(storage, body, null);
    await releaseTemporary(context, parted);
    const limit = context.settings.limits.max_stored_bytes;
    const row = await finishFile(context, { id, filename, mime, size, ...(await settle()) }, limit);
    if (row === null) throw new StorageQuotaExceeded({ limit });
    return row;
  } catch (error) {
    // If this fails, the sweep removes it later.
    await removeFile(context, id).catch(() => {});
    throw error;
  }
}

/** The purpose of an upload that names none, in OpenAI's terms. */
export const UPLOAD_PURPOSE = "user_data";

/** The name of a file without one. */
export const unnamed = (mime: string): string => `unnamed${extensionOf(mime)}`;

/**
 * Lists an upload of `/files`, whose bytes are stored. If the tenant has no room for them, they are removed. If the
 * list does not answer, it may have the file all the same: the bytes stay for a request that repeats this one, or
 * expire.
 * @throws StorageQuotaExceeded
 */
export async function listUpload(context: RunContext, file: FileDocument): Promise<void> {
  const { id, filename, mime, size, created_at, expires_at } = file;
  const row = {
    id,
    filename: filename?.split("/").at(-1) || unnamed(mime),
    mime,
    size,
    purpose: UPLOAD_PURPOSE,
    downloadable: false,
    expires_ms: Date.parse(expires_at),
    created_ms: Date.parse(created_at),
  };
  const limit = context.settings.limits.max_stored_bytes;
  if (await addFile(context, row, limit)) return;
  // If this fails, the index of files removes it later.
  await dropFile(context, id).catch(() => {});
  throw new StorageQuotaExceeded({ limit });
}

/** Removes a file of either kind with its bytes, and the record of its upload. */
export async function removeFile(owner: Owner, id: string): Promise<void> {
  await hideFile(owner, id);
  await dropFile(owner, id);
  await removeFileRow(owner, id);
}

/** Removes expired files, and uploads that never completed. @param now Unix ms */
export function sweepStoredFiles(env: Bindings, now = Date.now()): Promise<void> {
  const remove = (files: { tenant: string; id: string }[]): Promise<void> =>
    env.FILES.delete(files.map((file) => fileKey(file, file.id)));
  return sweepFileRows(env, remove, now);
}
