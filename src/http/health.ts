/** `GET /healthz` and `GET /readyz`: never authenticated, never queued. */
import { toHullError } from "../errors.ts";
import { runnerReady } from "../run/runner.ts";
import type { RequestContext } from "./context.ts";
import { jsonNow } from "./page.ts";

/** Alive: answers as long as the Worker runs. */
export async function healthz(context: RequestContext): Promise<Response> {
  const catalog = await context.deployment.registry.catalog(context.background).catch(() => null);
  return jsonNow({ status: "ok", skills: catalog?.cards.length ?? 0, catalog: catalog?.id ?? null });
}

/** Ready: catalog and runner are usable. */
export async function readyz(context: RequestContext): Promise<Response> {
  const [catalog, runner] = await Promise.allSettled([
    context.deployment.registry.catalog(context.background),
    runnerReady(context),
  ]);
  const state = (part: PromiseSettledResult<unknown>): string =>
    part.status === "fulfilled" ? "ok" : toHullError(part.reason).code;
  const parts = { catalog: state(catalog), runner: state(runner) };
  const ready = catalog.status === "fulfilled" && runner.status === "fulfilled";
  const body = {
    status: ready ? "ok" : "unavailable",
    ...parts,
    skills: catalog.status === "fulfilled" ? catalog.value.cards.length : 0,
  };
  return ready ? jsonNow(body) : jsonNow(body, 503, { "retry-after": "2" });
}
