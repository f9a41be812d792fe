/** The list of runs, as tests of its rows read it. */
import type { Owner } from "../../src/env.ts";
import type { RunEntry } from "../../src/session/run-entry.ts";
import { listIndexedRuns } from "../../src/session/run-index.ts";

const ANY = { cursor: null, state: null, kind: null, name: null, model: null, code: null, stages: true };

/** The rows of a session's last 10 runs, the newest first. */
export async function listedRuns(owner: Owner, session: string): Promise<RunEntry[]> {
  return (await listIndexedRuns(owner, { ...ANY, limit: 10, session })).data;
}
