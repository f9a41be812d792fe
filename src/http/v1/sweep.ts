/** Removes what `/v1` no longer needs, after a change and on the Worker's cron trigger. */
import type { Bindings } from "../../env.ts";
import { sweepBundles } from "../../registry/stored-skills/bundles.ts";
import { sweepStoredFiles } from "../../run/stored-files.ts";

/** What fails now is removed by the next sweep. */
export async function sweepStored(env: Bindings): Promise<void> {
  await Promise.allSettled([sweepBundles(env), sweepStoredFiles(env)]);
}
