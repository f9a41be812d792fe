/** Checks daemons from outside: a scheduled job visits those whose report is overdue (wrangler.toml). */
import { forEach } from "../../at-most.ts";
import { DEFAULT_TENANT } from "../../auth/api-key.ts";
import { type Deployment, deploymentOf } from "../../deployment.ts";
import type { Bindings } from "../../env.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { toHullError } from "../../errors.ts";
import { type Background, logLine } from "../../log.ts";
import { uploadersOfDaemons } from "../../registry/uploads.ts";
import { sessionClient } from "../../run/session-client.ts";
import { declaringTenants, forgetDaemon, overdueDaemons } from "../../session/daemon/directory.ts";
import { contextOf, reconcileDaemons } from "./declared.ts";

/** The most daemons that one sweep checks. */
const MOST = 500;

/** Pokes daemons whose alarm was lost, and updates those that skills declare. @param now Unix ms */
export async function sweepDaemons(env: Bindings, background: Background, now = Date.now()): Promise<void> {
  const deployment = deploymentOf(env);
  if (!deployment.isOpen) await deployment.open(background);
  const overdue = await overdueDaemons(env, now, MOST);
  await forEach(overdue, ({ tenant, id }) => poke(deployment, tenant, id, background));
  if (overdue.length > 0)
    logLine(deployment.settings.eventRedactor, { event: "daemons_swept", overdue: overdue.length });
  // A tenant may have removed its last skill with a daemon, and the process may have died before it stopped the daemon.
  const declaring = await Promise.all([uploadersOfDaemons(env), declaringTenants(env)]);
  const tenants = new Set([DEFAULT_TENANT, ...declaring.flat()]);
  for (const tenant of tenants) await reconcileDaemons(deployment, tenant, background);
}

async function poke(
  deployment: Deployment,
  tenant: string,
  id: string,
  background: Background,
): Promise<void> {
  try {
    const session = sessionClient(contextOf(deployment, tenant, background), id);
    await session.ask("poke", null).catch((error: unknown) => {
      if (!CallNotFound.matches(error)) throw error;
      return forgetDaemon(deployment.env, tenant, id);
    });
  } catch (error) {
    const { code, operator } = toHullError(error);
    const line = { event: "daemon_not_poked", id, tenant, code, error: operator };
    logLine(deployment.settings.eventRedactor, line, "error");
  }
}
