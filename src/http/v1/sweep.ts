/** Removes what `/v1` no longer needs, after changes and on the Worker's cron trigger. */
import type { Deployment } from "../../deployment.ts";
import type { Bindings } from "../../env.ts";
import { sweepAnswers } from "../../registry/kept-answers/rows.ts";
import { sweepBundles } from "../../registry/stored-skills/bundles.ts";
import { sweepStoredFiles } from "../../run/stored-files.ts";

/** The shortest time in ms between two sweeps of an isolate that follow its own changes. */
const PAUSE_MS = 60_000;

/** Sweeps, unless this isolate has just done so. */
export async function sweepAfterChange(deployment: Deployment): Promise<void> {
  const now = Date.now();
  if (now - deployment.sweptAt < PAUSE_MS) return;
  deployment.sweptAt = now;
  await sweepStored(deployment.env);
}

/** A failure is ignored, since the next sweep repeats the work. */
export async function sweepStored(env: Bindings): Promise<void> {
  await Promise.allSettled([sweepBundles(env), sweepStoredFiles(env), sweepAnswers(env)]);
}
