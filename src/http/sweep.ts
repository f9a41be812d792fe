/**
 * What the Worker's cron trigger does (wrangler.toml). docs/storage-schema.md says what goes when. The sweeps are
 * independent: if one fails, the others still run, and the next trigger repeats it.
 */
import { forEach } from "../at-most.ts";
import { DEFAULT_TENANT } from "../auth/api-key.ts";
import { type Deployment, deploymentOf } from "../deployment.ts";
import type { Bindings } from "../env.ts";
import { CallNotFound } from "../errors/llm.ts";
import { toHullError } from "../errors.ts";
import { CONTAINER_TTL_MS } from "../llm/vendor-limits.ts";
import { type Background, loggingBackground, logLine } from "../log.ts";
import { copyPointer } from "../registry/pointer.ts";
import { sweepUploads } from "../registry/sweep-uploads.ts";
import { uploadersOfDaemons } from "../registry/uploads.ts";
import { type SessionClient, sessionClient } from "../run/session-client.ts";
import { declaringTenants, forgetDaemon, overdueDaemons } from "../session/daemon/directory.ts";
import { sweepRuns } from "../session/run-index.ts";
import { forgetSession, oldContainers } from "../session/session-index.ts";
import { sweepUnsettled } from "../session/unsettled-runs.ts";
import { contextOf, reconcileDaemons } from "./daemons/declared.ts";
import { storedSweeps, sweepEach } from "./v1/sweep.ts";

/** The most daemons that one sweep checks, and the most containers. */
const MOST_DAEMONS = 500;
const MOST_CONTAINERS = 100;
/** How long an expired container stays, in ms: longer than a request that opened it in time still uses it. */
const KEPT_MS = 24 * 3_600_000;

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
    daemons: () => sweepDaemons(deployment, background, now),
  });
}

/** Removes containers that nobody can use any more. */
async function sweepContainers(deployment: Deployment, background: Background, now: number): Promise<void> {
  const { env } = deployment;
  const used = now - KEPT_MS;
  const old = await oldContainers(env, { used, ttlMs: CONTAINER_TTL_MS, most: MOST_CONTAINERS });
  await askEach(deployment, background, old, {
    ask: (session, { ttl_ms }) => session.ask("expire", { since: used - ttl_ms }),
    forget: ({ tenant, id }) => forgetSession({ env, tenant }, id),
    failed: "container_not_swept",
  });
}

/** Checks daemons from outside: pokes those whose alarm was lost, and updates those that skills declare. */
async function sweepDaemons(deployment: Deployment, background: Background, now: number): Promise<void> {
  const { env, settings } = deployment;
  if (!deployment.isOpen) await deployment.open(background);
  const overdue = await overdueDaemons(env, now, MOST_DAEMONS);
  await askEach(deployment, background, overdue, {
    ask: (session) => session.ask("poke", null),
    forget: ({ tenant, id }) => forgetDaemon({ env, tenant }, id),
    failed: "daemon_not_poked",
  });
  if (overdue.length > 0)
    logLine(settings.eventRedactor, { event: "daemons_swept", overdue: overdue.length });
  // A tenant may have removed its last skill with a daemon, and the process may have died before it stopped the daemon.
  const declaring = await Promise.all([uploadersOfDaemons(env), declaringTenants(env)]);
  const tenants = new Set([DEFAULT_TENANT, ...declaring.flat()]);
  for (const tenant of tenants) await reconcileDaemons(deployment, tenant, background);
}

/** A session as a list has it. */
interface Row {
  tenant: string;
  id: string;
}

/** Asks the sessions of a list, and forgets those that no longer exist. @param failed event for the log */
function askEach<R extends Row>(
  deployment: Deployment,
  background: Background,
  rows: readonly R[],
  {
    ask,
    forget,
    failed,
  }: {
    ask: (session: SessionClient, row: R) => Promise<unknown>;
    forget: (row: R) => Promise<unknown>;
    failed: string;
  },
): Promise<void> {
  return forEach(rows, async (row) => {
    const { tenant, id } = row;
    try {
      await ask(sessionClient(contextOf(deployment, tenant, background), id), row).catch((error: unknown) => {
        if (!CallNotFound.matches(error)) throw error;
        return forget(row);
      });
    } catch (error) {
      const { code, operator } = toHullError(error);
      const line = { event: failed, id, tenant, code, error: operator };
      logLine(deployment.settings.eventRedactor, line, "error");
    }
  });
}
