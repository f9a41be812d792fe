/** A session's files as the work folder of a handler in an isolate. */
import { Internal } from "../../errors.ts";
import type { FolderFile } from "../../tool/isolate/handler-rpc.ts";
import type { WorkFolder } from "../handler/ports.ts";
import type { FileChange, WorkspaceAccess } from "./access.ts";
import { keyFor, storeContent } from "./store.ts";
import { refusedOf } from "./write-rules.ts";

/** Most bytes that go into an isolate. */
const MAX_BYTES = 8 * 1024 * 1024;

export function workFolder(bucket: R2Bucket, workspace: WorkspaceAccess): WorkFolder {
  return {
    async files() {
      const { files } = await workspace.workspaceManifest();
      const sum = files.reduce((total, { size }) => total + size, 0);
      if (sum > MAX_BYTES) return null;
      const digests = [...new Set(files.map(({ sha256 }) => sha256))];
      const keys = digests.length === 0 ? [] : await workspace.contentKeys(digests);
      const contents = new Map(
        await Promise.all(
          keys.map(async ({ sha256, key }) => [sha256, await contentOf(bucket, sha256, key)] as const),
        ),
      );
      return files.map(({ path, sha256 }) => ({ path, bytes: contents.get(sha256) ?? missing(sha256) }));
    },
    async save(written, removed) {
      const writes = await Promise.all(written.map((file) => stored(bucket, workspace, file)));
      const deletions = removed.map((path): FileChange => ({ kind: "delete", path, expected: null }));
      // Deletions come first, since they may make room for a new file.
      const changes = [...deletions, ...writes];
      return refusedOf(changes, await workspace.changeFiles(changes));
    },
  };
}

async function contentOf(bucket: R2Bucket, sha256: string, key: string): Promise<Uint8Array> {
  const object = await bucket.get(key);
  return object === null ? missing(sha256) : new Uint8Array(await object.arrayBuffer());
}

function missing(sha256: string): never {
  throw new Internal({ cause: `a workspace lacks the content ${sha256}` });
}

async function stored(
  bucket: R2Bucket,
  workspace: WorkspaceAccess,
  { path, bytes }: FolderFile,
): Promise<FileChange> {
  const key = await keyFor(workspace);
  const content = await storeContent(bucket, workspace, key, [bytes]);
  return { kind: "write", path, key, ...content, executable: null, expected: null };
}
