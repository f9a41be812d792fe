/**
 * A file of a session that follows from what is stored and is rarely read, so Hull writes it only when somebody looks at
 * the files.
 */

import type { WorkspaceAccess } from "../run/workspace/access.ts";
import { writeFile } from "../run/workspace/store.ts";
import type { Conversation } from "./conversation/conversation.ts";
import type { SessionLog } from "./conversation/session-log.ts";

/** What the file holds, and since when, in Unix ms. */
interface Owed {
  path: string;
  since: number;
  document: () => unknown;
}

export class OwedFile {
  readonly #conversation: Conversation;
  /** The `since` of what was last written. */
  #savedOf = 0;
  #saving: Promise<void> | undefined;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  /** Resolves when it is among the files; `undefined`: it already is. */
  saved(owed: Owed): Promise<void> | undefined {
    if (owed.since <= this.#savedOf) return undefined;
    this.#saving ??= this.#save(owed).finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  async #save({ path, since, document }: Owed): Promise<void> {
    const { files, env, log } = this.#conversation;
    // An earlier instance may have written it, and its owner may have changed it since.
    if ((files.changedAt(path) ?? 0) <= since)
      await persist(log, env.FILES, files.byRun, { [path]: log.answered(document()) });
    this.#savedOf = since;
  }
}

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
