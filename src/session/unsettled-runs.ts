/**
 * Checks rows of the list of runs that have had no end for long, on a cron trigger (wrangler.toml): the process that had to
 * write the row of a run's end may have died. Most of them are right; a run's object knows which ones.
 */
import type { Bindings } from "../env.ts";
import { toHullError } from "../errors.ts";
import { sessionObject } from "../run/session-client.ts";
import type { RunEntry } from "./run-entry.ts";
import { forgetRuns, noteRuns, unsettledSince } from "./run-index.ts";

/** A run is looked after when it began this long ago, in ms: rows of its end come within seconds. */
const RUN_MS = 60_000;
/**
 * The same of a call. One with an object has its own alarm for its row, and nobody but its Worker knows how long another one takes, so
 * this is longer than calls usually may take. If such a call ends after all, the row of its end replaces the mark.
 */
const CALL_MS = 24 * 3_600_000;
/**
 * The most rows that one sweep checks, and how many in parallel: each check may load an object. Runs may wait for weeks, so
 * a sweep checks only a few of those that the list shows as waiting.
 */
const MOST = { running: 100, resting: 10 };
const AT_ONCE = 6;

/** Has the rows of runs that are over written again, and marks calls that nobody knows as lost. @param now Unix ms */
export async function sweepUnsettled(env: Bindings, now: number): Promise<void> {
  const began = { runs: new Date(now - RUN_MS), calls: new Date(now - CALL_MS) };
  const left = (await unsettledSince(env, began, MOST)).values();
  const worker = async (): Promise<void> => {
    for (const one of left) await look(env, one, now);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function look(
  env: Bindings,
  { tenant, run }: { tenant: string; run: RunEntry },
  now: number,
): Promise<void> {
  const { id, session, state } = run;
  const { SESSIONS } = env;
  try {
    const object =
      session === null ? SESSIONS.get(SESSIONS.idFromName(id)) : sessionObject(env, tenant, session);
    if (await object.relist(id, state)) return;
    // A session that is removed takes its runs along.
    if (session !== null) return await forgetRuns(env, tenant, [id]);
    const settled_at = new Date(now).toISOString();
    const lost = { ...run, state: "error", code: "execution_lost", settled_at };
    await noteRuns(env, [{ tenant, run: lost }]);
  } catch (error) {
    const { code } = toHullError(error);
    console.error(JSON.stringify({ event: "run_not_looked_after", id, tenant, code }));
  }
}
