/** A daemon's snapshot among the files of its session. */
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import { writeFile } from "../../run/workspace/store.ts";
import type { SessionLog } from "../conversation/session-log.ts";

/**
 * Writes several documents. A failed write is only logged, since the daemon's own storage has everything.
 * @param files contents by path
 */
export async function persist(
  log: Pick<SessionLog, "fault">,
  bucket: R2Bucket,
  workspace: WorkspaceAccess,
  files: { [path: string]: unknown },
): Promise<void> {
  for (const [path, document] of Object.entries(files)) {
    const bytes = new TextEncoder().encode(JSON.stringify(document, null, 2));
    const intent = { path, expected: null, size: bytes.length, executable: null };
    try {
      const written = await writeFile(bucket, workspace, intent, [bytes]);
      if ("refused" in written) log.fault({ event: "daemon_not_persisted", path }, written.refused);
    } catch (error) {
      log.fault({ event: "daemon_not_persisted", path }, error);
    }
  }
}
