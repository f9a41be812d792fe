import type { WorkspaceAccess } from "../../src/run/workspace/access.ts";
import type { Workspace } from "../../src/session/workspace/workspace.ts";

/** A workspace as a run reaches it. @param within does something in its object */
export const accessTo = (
  within: <T>(work: (workspace: Workspace) => T | Promise<T>) => Promise<T>,
): WorkspaceAccess => ({
  listFiles: (after, limit) => within((w) => w.list(after, limit)),
  findFile: (path) => within((w) => w.find(path)),
  beginFile: (intent) => within((w) => w.begin(intent)),
  noteUpload: (key, uploadId) => within((w) => w.noteUpload(key, uploadId)),
  storeSmall: (contents) => within((w) => w.store(contents)),
  changeFiles: (changes) => within((w) => w.change(changes)),
  workspaceVersion: () => within((w) => w.version()),
  workspaceManifest: () => within((w) => w.manifest()),
  contents: (digests) => within((w) => w.contents(digests)),
});
