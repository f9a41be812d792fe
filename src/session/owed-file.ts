/**
 * Files of a session that follow from what is stored and are rarely read, so Hull writes them only when somebody looks at
 * the files.
 */

import { writeFile } from "../run/workspace/store.ts";
import type { Conversation } from "./conversation/conversation.ts";
import { RETRY_MS } from "./conversation/due-times.ts";

/** What the files hold, by path, and since when, in Unix ms. */
interface Owed {
  since: number;
  files: { [path: string]: () => unknown };
}

export class OwedFiles {
  readonly #conversation: Conversation;
  /** The `since` of what was last written. */
  #savedOf = 0;
  #saving: { since: number; done: Promise<boolean> } | undefined;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  /**
   * Resolves when all are among the files, with `true`, or once one could not be written: then the alarm and the next
   * look try again. `undefined`: all are there.
   */
  saved(owed: Owed): Promise<boolean> | undefined {
    const { since } = owed;
    if (since <= this.#savedOf) return undefined;
    const before = this.#saving;
    if (before !== undefined && since <= before.since) return before.done;
    const done = (before?.done ?? Promise.resolve(true))
      .then(() => this.#save(owed))
      .finally(() => {
        if (this.#saving?.since === since) this.#saving = undefined;
      });
    this.#saving = { since, done };
    return done;
  }

  async #save({ since, files: owed }: Owed): Promise<boolean> {
    const { files } = this.#conversation;
    let all = true;
    for (const [path, document] of Object.entries(owed)) {
      // An earlier instance may have written it, and its owner may have changed it since.
      if ((files.changedAt(path) ?? 0) > since) continue;
      all = (await persist(this.#conversation, path, document)) && all;
    }
    if (all) this.#savedOf = since;
    else this.#conversation.dueAt("owed", this.#conversation.log.now() + RETRY_MS);
    return all;
  }
}

/**
 * Writes a document. Nothing is lost if that fails, since the session's own storage has everything.
 * @returns whether nothing is left to do: it is written, or the session refuses or no longer wants it
 */
async function persist(
  { log, env, files }: Conversation,
  path: string,
  document: () => unknown,
): Promise<boolean> {
  try {
    const bytes = new TextEncoder().encode(JSON.stringify(log.answered(await document()), null, 2));
    const intent = { path, expected: null, size: bytes.length };
    const written = await writeFile(env.FILES, files.byRun, intent, [bytes]);
    if ("refused" in written) log.fault({ event: "daemon_not_persisted", path }, written.refused);
    return true;
  } catch (error) {
    const session = log.store.session();
    if (session === null || session.state === "deleted") return true;
    log.fault({ event: "daemon_not_persisted", path }, error);
    return false;
  }
}
