/** Which sessions a session is below, and that none of them is below it: two such would report the same events to each other for ever. */
import { InputInvalid } from "../../errors/request.ts";

/** Answers the sessions directly above another one. */
export type AskAbove = (session: string) => Promise<readonly string[]>;

export class Lineage {
  /** Those below which runs are about to begin here, one for each run. */
  #coming: string[] = [];

  /**
   * The sessions directly above this one, also those of runs that are about to begin.
   * @param present the one that it reports to now; `null`: none
   */
  above(present: string | null): string[] {
    return [...new Set([...(present === null ? [] : [present]), ...this.#coming])];
  }

  /**
   * Begins a run below a session. Of two requests that put sessions below each other, each notes first what it is about to do and
   * looks then, so at least one of them sees the other.
   * @param parent `null`: the run is below none
   */
  async below<T>(parent: string | null, begin: () => Promise<T>): Promise<T> {
    if (parent === null) return begin();
    this.#coming = [...this.#coming, parent];
    try {
      return await begin();
    } finally {
      this.#coming = this.#coming.toSpliced(this.#coming.indexOf(parent), 1);
    }
  }
}

/** @throws InputInvalid if the session is the parent, or above it */
export async function checkBelow(id: string, parent: string, askAbove: AskAbove): Promise<void> {
  const seen = new Set([parent]);
  for (const session of seen) {
    if (session === id) {
      const message = "names a session above the sub-agent: give another one, or none for a new one";
      const path = "options.session_id";
      throw new InputInvalid({ reason: `${path} ${message}.`, errors: [{ path, message }] });
    }
    for (const above of await askAbove(session)) seen.add(above);
  }
}
