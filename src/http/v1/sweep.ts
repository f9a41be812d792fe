/** Removes what `/v1` no longer needs, after a change and on the Worker's cron trigger. */
import type { Bindings } from "../../env.ts";
import { sweepBundles } from "../../registry/stored-skills/bundles.ts";
import { sweepStoredFiles } from "../../run/stored-files.ts";

/** An isolate sweeps after its changes, but at most once in so many ms. */
const PAUSE_MS = 60_000;
const sweptAt = new WeakMap<D1Database, number>();

/** Sweeps unless this isolate did so just now. */
export async function sweepAfterChange(env: Bindings): Promise<void> {
  const now = Date.now();
  if (now - (sweptAt.get(env.DB) ?? 0) < PAUSE_MS) return;
  sweptAt.set(env.DB, now);
  await sweepStored(env);
}

/** What fails now is removed by the next sweep. */
export async function sweepStored(env: Bindings): Promise<void> {
  await Promise.allSettled([sweepBundles(env), sweepStoredFiles(env)]);
}
