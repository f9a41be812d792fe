/**
 * Checks, on a cron trigger (wrangler.toml), rows of the list of runs that have had no end for a long time: the process
 * that should have written the end may have died. Most of these rows are right; only the run's object knows which.
 */
import { forEach } from "../at-most.ts";
import { deploymentOf } from "../deployment.ts";
import type { Bindings } from "../env.ts";
import { toHullError } from "../errors.ts";
import { logLine } from "../log.ts";
import { sessionObject } from "../run/session-client.ts";
import type { RunEntry } from "./run-entry.ts";
import { forgetRuns, noteRuns, unsettledSince } from "./run-index.ts";

/** A sweep checks a run that began this long ago, in ms: the row of its end should come within seconds. */
const RUN_MS = 60_000;
/**
 * The same for a call. A call with an object has an alarm for its row. Only its Worker knows how long any other call
 * takes, so this time is longer than calls usually take. If such a call ends after all, the row of its end replaces the
 * mark.
 */
const CALL_MS = 24 * 3_600_000;
/**
 * The most rows that one sweep checks. Runs may wait for weeks, so a sweep checks only a few of those that the list shows
 * as waiting.
 */
const MOST = { running: 100, resting: 10 };

/**
 * Lets the objects of ended runs write their rows again, and marks calls that no object knows as lost.
 * @param now Unix ms
 */
export async function sweepUnsettled(env: Bindings, now: number): Promise<void> {
  const began = { runs: new Date(now - RUN_MS), calls: new Date(now - CALL_MS) };
  await forEach(await unsettledSince(env, began, MOST), (one) => look(env, one, now));
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
      session === null ? SESSIONS.get(SESSIONS.idFromName(id)) : sessionObject({ env, tenant }, session);
    if (await object.relist(id, state)) return;
    // When Hull removes a session, it also removes its runs.
    if (session !== null) return await forgetRuns({ env, tenant }, [id]);
    const settled_at = new Date(now).toISOString();
    const lost = { ...run, state: "error", code: "execution_lost", settled_at };
    await noteRuns(env, [{ tenant, run: lost }]);
  } catch (error) {
    const { code, operator } = toHullError(error);
    const line = { event: "run_not_looked_after", id, tenant, code, error: operator };
    logLine(deploymentOf(env).settings.eventRedactor, line, "error");
  }
}
