/**
 * Which sessions are above a session. Prevents cycles: two sessions below each other would report the same events to
 * each other for ever.
 */
import { memberInvalid } from "../../errors/member-invalid.ts";

/** Returns the ids of the sessions directly above a session. */
export type AskAbove = (session: string) => Promise<readonly string[]>;

export class Lineage {
  /** The sessions above runs that are about to begin here, one entry for each run. */
  #pending: string[] = [];

  /**
   * The sessions directly above this one, including those of runs that are about to begin.
   * @param present the session that this one reports to now; `null`: none
   */
  above(present: string | null): string[] {
    return [...new Set([...(present === null ? [] : [present]), ...this.#pending])];
  }

  /**
   * Begins a run below a session. Each request notes first what it is about to do and checks afterwards. If two requests
   * put two sessions below each other, at least one of them thus sees the other.
   * @param parent `null`: the run has no session above
   */
  async below<T>(parent: string | null, begin: () => Promise<T>): Promise<T> {
    if (parent === null) return begin();
    this.#pending = [...this.#pending, parent];
    try {
      return await begin();
    } finally {
      this.#pending = this.#pending.toSpliced(this.#pending.indexOf(parent), 1);
    }
  }
}

/** Checks for a cycle. @throws InputInvalid if the session `id` is the parent, or above it */
export async function checkBelow(id: string, parent: string, askAbove: AskAbove): Promise<void> {
  const seen = new Set([parent]);
  for (const session of seen) {
    if (session === id) {
      const message = "names a session above the sub-agent: give another one, or none for a new one";
      throw memberInvalid("options.session_id", message, ".");
    }
    for (const above of await askAbove(session)) seen.add(above);
  }
}
