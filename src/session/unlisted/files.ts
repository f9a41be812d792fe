/** The files of a call's run, in the session's own storage, removed with it. */
import type { Bindings } from "../../env.ts";
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import { removeBelow } from "../r2-objects.ts";
import { Workspace } from "../workspace/workspace.ts";

/** The R2 prefix of a run's files. The next run of the same call has another prefix. */
const prefixOf = (id: string, generation: number): string => `executions/${id}/files-${generation}/`;

export function runFiles(
  storage: DurableObjectStorage,
  env: Bindings,
  { id, generation }: { id: string; generation: number },
): WorkspaceAccess {
  const workspace = new Workspace({ storage, bucket: env.FILES, prefix: prefixOf(id, generation) });
  return {
    listFiles: async (after, limit) => workspace.list(after, limit),
    findFile: async (path) => workspace.find(path),
    beginFile: async (intent) => workspace.begin(intent),
    noteUpload: async (key, uploadId) => workspace.noteUpload(key, uploadId),
    changeFiles: async (changes) => workspace.change(changes),
    workspaceVersion: async () => workspace.version(),
    workspaceManifest: async () => workspace.manifest(),
    contentKeys: async (digests) => workspace.keys(digests),
  };
}

/** Removes the R2 objects of a call's runs, up to this generation. */
export async function clearRunFiles(env: Bindings, id: string, generation: number): Promise<void> {
  for (let one = 0; one <= generation; one++) await removeBelow(env.FILES, prefixOf(id, one));
}
