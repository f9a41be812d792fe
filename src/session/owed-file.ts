/**
 * Files of a session that follow from what is stored and are rarely read, so Hull writes them only when somebody looks at
 * the files.
 */

import { writeFile } from "../run/workspace/store.ts";
import type { Conversation } from "./conversation/conversation.ts";

/** What the files hold, by path, and since when, in Unix ms. */
interface Owed {
  since: number;
  files: { [path: string]: () => unknown };
}

export class OwedFiles {
  readonly #conversation: Conversation;
  /** The `since` of what was last written. */
  #savedOf = 0;
  #saving: { since: number; done: Promise<void> } | undefined;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  /** Resolves when all are among the files; `undefined`: they already are. */
  saved(owed: Owed): Promise<void> | undefined {
    const { since } = owed;
    if (since <= this.#savedOf) return undefined;
    const before = this.#saving;
    if (before !== undefined && since <= before.since) return before.done;
    const done = (before?.done ?? Promise.resolve())
      .then(() => this.#save(owed))
      .finally(() => {
        if (this.#saving?.since === since) this.#saving = undefined;
      });
    this.#saving = { since, done };
    return done;
  }

  async #save({ since, files: owed }: Owed): Promise<void> {
    const { files, log } = this.#conversation;
    for (const [path, document] of Object.entries(owed)) {
      // An earlier instance may have written it, and its owner may have changed it since.
      if ((files.changedAt(path) ?? 0) > since) continue;
      await persist(this.#conversation, path, log.answered(await document()));
    }
    this.#savedOf = since;
  }
}

/** Writes a document. A failed write is only logged, since the session's own storage has everything. */
async function persist({ log, env, files }: Conversation, path: string, document: unknown): Promise<void> {
  const bytes = new TextEncoder().encode(JSON.stringify(document, null, 2));
  const intent = { path, expected: null, size: bytes.length, executable: null };
  try {
    const written = await writeFile(env.FILES, files.byRun, intent, [bytes]);
    if ("refused" in written) log.fault({ event: "daemon_not_persisted", path }, written.refused);
  } catch (error) {
    log.fault({ event: "daemon_not_persisted", path }, error);
  }
}
