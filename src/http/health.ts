/** `GET /healthz` and `GET /readyz`: never authenticated, never queued. */
import type { Deployment } from "../deployment.ts";
import { toHullError } from "../errors.ts";
import { lazily } from "../lazily.ts";
import { logError } from "../run/problem.ts";
import { runnerReady } from "../run/runner.ts";
import type { RequestContext } from "./context.ts";
import { jsonNow } from "./page.ts";

/** Alive: answers as long as the Worker runs. */
export async function healthz(context: RequestContext): Promise<Response> {
  const catalog = await context.deployment.registry.catalog(context.background).catch(() => null);
  return jsonNow({ status: "ok", skills: catalog?.cards.length ?? 0, catalog: catalog?.id ?? null });
}

const listed = lazily(async () => {
  const { listedServers } = await import("../run/mcp/listed.ts");
  return (deployment: Deployment) => listedServers(deployment, null);
});

/**
 * Ready: catalog, database and runner are usable. MCP servers without their login do not stop the others, nor do unreadable
 * models or mocks.
 */
export async function readyz(context: RequestContext): Promise<Response> {
  const [catalog, database, runner, servers, models, mocks] = await Promise.allSettled([
    context.deployment.registry.catalog(context.background),
    context.deployment.keys.any(),
    runnerReady(context),
    listed(context.deployment),
    context.deployment.models.registry(),
    context.deployment.mocks.load(),
  ]);
  const state = (part: PromiseSettledResult<unknown>): string =>
    part.status === "fulfilled" ? "ok" : toHullError(part.reason).code;
  const parts = { catalog: state(catalog), database: state(database), runner: state(runner) };
  const ready = [catalog, database, runner].every(({ status }) => status === "fulfilled");
  const lacks = servers.status === "fulfilled" && servers.value.some(({ needs_login }) => needs_login);
  const named = Object.keys(context.settings.mcp.servers).length > 0;
  const unread = [models, mocks].find((part) => part.status === "rejected");
  const fault = unread === undefined ? null : toHullError(unread.reason);
  if (fault !== null) logError(fault, context);
  const body = {
    status: ready ? "ok" : "unavailable",
    ...parts,
    ...(named ? { mcp: lacks ? "mcp_login_needed" : state(servers) } : {}),
    ...(fault === null ? {} : { settings: fault.message }),
    skills: catalog.status === "fulfilled" ? catalog.value.cards.length : 0,
  };
  return ready ? jsonNow(body) : jsonNow(body, 503, { "retry-after": "2" });
}
