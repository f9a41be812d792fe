/** Removes containers that nobody can use any more, on the Worker's cron trigger. */
import { forEach } from "../../../at-most.ts";
import type { Deployment } from "../../../deployment.ts";
import { CallNotFound } from "../../../errors/llm.ts";
import { toHullError } from "../../../errors.ts";
import { type Background, logFault } from "../../../log.ts";
import { CONTAINER_TTL_MS } from "../../../run/container.ts";
import { detachedContext } from "../../../run/context.ts";
import { sessionClient } from "../../../run/session-client.ts";
import { forgetSession, oldContainers } from "../../../session/session-index.ts";

/** How long an expired container stays, in ms: longer than a request that opened it in time still uses it. */
const KEPT_MS = 24 * 3_600_000;
/** The most containers that one sweep asks. */
const MOST = 100;

/** @param now Unix ms */
export async function sweepContainers(
  deployment: Deployment,
  background: Background,
  now: number,
): Promise<void> {
  const { env } = deployment;
  const used = now - KEPT_MS;
  const old = await oldContainers(env, { used, ttlMs: CONTAINER_TTL_MS, most: MOST });
  await forEach(old, async ({ tenant, id, ttl_ms }) => {
    const origin = { requestId: crypto.randomUUID(), tenant, startedAt: now };
    try {
      const session = sessionClient(detachedContext(deployment, origin, background), id);
      await session.ask("expire", { since: used - ttl_ms }).catch((error: unknown) => {
        if (!CallNotFound.matches(error)) throw error;
        return forgetSession(env, tenant, id);
      });
    } catch (error) {
      const { code, operator } = toHullError(error);
      const line = { event: "container_not_swept", id, tenant, code, error: operator };
      logFault(deployment.settings.eventRedactor, line);
    }
  });
}
