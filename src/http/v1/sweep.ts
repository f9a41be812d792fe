/** Removes what `/v1` no longer needs, after changes and on the Worker's cron trigger. */
import type { Deployment } from "../../deployment.ts";
import type { Bindings } from "../../env.ts";
import { sweepAnswers } from "../../registry/kept-answers/rows.ts";
import { sweepBundles } from "../../registry/stored-skills/bundles.ts";
import { sweepStoredFiles } from "../../run/stored-files.ts";

/** An isolate sweeps after its changes, but at most once in so many ms. */
const PAUSE_MS = 60_000;

/** Sweeps unless this isolate did so just now. */
export async function sweepAfterChange(deployment: Deployment): Promise<void> {
  const now = Date.now();
  if (now - deployment.sweptAt < PAUSE_MS) return;
  deployment.sweptAt = now;
  await sweepStored(deployment.env);
}

/** The next sweep removes what fails now. */
export async function sweepStored(env: Bindings): Promise<void> {
  await Promise.allSettled([sweepBundles(env), sweepStoredFiles(env), sweepAnswers(env)]);
}
