/** Content on its way into a workspace: to R2 as it comes, hashed and counted, before the manifest learns of it. */
import { digested } from "../digest.ts";
import { type Body, holdOrStore, type Shelf, storeWhole } from "../large-body.ts";
import type { WorkspaceAccess } from "./access.ts";

/** @param key from `beginFile`; what is stored there is the workspace's to remove, whatever happens */
export async function storeContent(
  bucket: R2Bucket,
  workspace: Pick<WorkspaceAccess, "noteUpload">,
  key: string,
  content: Body,
): Promise<{ sha256: string; size: number }> {
  const { body, sha256 } = digested(content);
  const shelf: Shelf = {
    bucket,
    key: () => key,
    note: async (_, uploadId) => {
      if (uploadId !== null) await workspace.noteUpload(key, uploadId);
    },
  };
  const held = await holdOrStore(shelf, body);
  const { size } = held instanceof Uint8Array ? await storeWhole(shelf, held) : held;
  return { sha256: await sha256, size };
}
