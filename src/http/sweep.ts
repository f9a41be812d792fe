/**
 * What the Worker's cron trigger does (wrangler.toml). docs/storage-schema.md says what goes when. The sweeps are
 * independent: if one fails, the others still run, and the next trigger repeats it.
 */
import { deploymentOf } from "../deployment.ts";
import type { Bindings } from "../env.ts";
import { type Background, loggingBackground } from "../log.ts";
import { copyPointer } from "../registry/pointer.ts";
import { sweepUploads } from "../registry/sweep-uploads.ts";
import { sweepRuns } from "../session/run-index.ts";
import { sweepUnsettled } from "../session/unsettled-runs.ts";
import { sweepDaemons } from "./daemons/sweep.ts";
import { sweepContainers } from "./v1/containers/sweep.ts";
import { storedSweeps, sweepEach } from "./v1/sweep.ts";

/**
 * @param keep keeps a promise alive, e.g. `ctx.waitUntil`
 * @param now Unix ms
 */
export async function sweepAll(env: Bindings, keep: Background, now: number): Promise<void> {
  const deployment = deploymentOf(env);
  const background = loggingBackground(deployment.settings.eventRedactor, keep);
  await sweepEach(deployment, {
    ...storedSweeps(env, now),
    runs: () => sweepRuns(env, now),
    unsettled: () => sweepUnsettled(env, now),
    containers: () => sweepContainers(deployment, background, now),
    catalog: async () => {
      await copyPointer(env);
    },
    uploads: () => sweepUploads(env, now),
    daemons: () => sweepDaemons(env, background, now),
  });
}
