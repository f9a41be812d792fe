/** Where a session has its R2 objects, and how objects are removed. */

/** Prefix of the keys of a session's R2 objects. */
export const sessionPrefix = (tenant: string, id: string): string => `sessions/${tenant}/${id}/`;

/** The most objects that R2 removes at once. */
const MOST_REMOVED = 1000;

/** Removes any number of objects. */
export async function removeObjects(bucket: R2Bucket, keys: readonly string[]): Promise<void> {
  for (let first = 0; first < keys.length; first += MOST_REMOVED)
    await bucket.delete(keys.slice(first, first + MOST_REMOVED));
}

/** Removes all objects whose keys begin with a prefix. */
export async function removeBelow(bucket: R2Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { objects, truncated } = await bucket.list({ prefix });
    if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
    if (!truncated) return;
  }
}

/** An object with its multipart upload; `null`: it has none. */
export interface StoredUpload {
  key: string;
  upload_id: string | null;
}

/** Ends multipart uploads. */
export async function abortUploads(bucket: R2Bucket, rows: readonly StoredUpload[]): Promise<void> {
  for (const { key, upload_id } of rows) {
    if (upload_id === null) continue;
    // A completed or aborted upload has nothing to abort.
    await bucket
      .resumeMultipartUpload(key, upload_id)
      .abort()
      .catch(() => {});
  }
}
