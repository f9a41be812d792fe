/** Removes what `/v1` no longer needs, after changes and on the Worker's cron trigger. */
import type { Deployment } from "../../deployment.ts";
import type { Bindings } from "../../env.ts";
import { logFault } from "../../log.ts";
import { sweepConversations } from "../../registry/conversations/large-items.ts";
import { sweepAnswers } from "../../registry/kept-answers/rows.ts";
import { sweepBundles } from "../../registry/stored-skills/bundles.ts";
import type { RunContext } from "../../run/context.ts";
import { sweepStoredFiles } from "../../run/stored-files.ts";

/** The shortest time in ms between two sweeps of an isolate that follow its own changes. */
const PAUSE_MS = 60_000;

/** Sweeps after the answer, unless this isolate has just done so. */
export function sweepAfterChange({ deployment, background }: RunContext): void {
  const now = Date.now();
  if (now - deployment.sweptAt < PAUSE_MS) return;
  deployment.sweptAt = now;
  background(sweepEach(deployment, storedSweeps(deployment.env, now)));
}

/** Sweeps by name. */
type Sweeps = Record<string, () => Promise<void>>;

/** What `/v1` stores outside Durable Objects. @param now Unix ms */
export const storedSweeps = (env: Bindings, now: number): Sweeps => ({
  bundles: () => sweepBundles(env, now),
  files: () => sweepStoredFiles(env, now),
  answers: () => sweepAnswers(env, now),
  conversations: () => sweepConversations(env, now),
});

/** Runs sweeps in parallel. A failure is logged, and the next sweep repeats the work. */
export async function sweepEach({ settings }: Deployment, sweeps: Sweeps): Promise<void> {
  const each = async ([sweep, run]: [string, () => Promise<void>]): Promise<void> => {
    try {
      await run();
    } catch (error) {
      logFault(settings.eventRedactor, { event: "sweep_failed", sweep }, error);
    }
  };
  await Promise.all(Object.entries(sweeps).map(each));
}
