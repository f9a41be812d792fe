/**
 * `GET /metrics`: the counters of this isolate, in Prometheus' text format 0.0.4. Isolates start and stop, and a scrape
 * reaches only one of them: locally there is just that one, at the edge it is a sample.
 */
import { OTHER } from "../run/metrics.ts";
import type { RequestContext } from "./context.ts";

/** Replaces the names of uploaded skills, which other tenants must not see. */
const UPLOADED = "uploaded";
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Counts a request whose answer is complete. */
export function countRequest(context: RequestContext, status: number): void {
  const { route, log, durationMs, request } = context;
  const { metrics } = context.deployment;
  const method = METHODS.includes(request.method) ? request.method : OTHER;
  metrics.requests.add({ route, method, status });
  metrics.durations.observe({ route }, durationMs / 1000);
  if (typeof log.code === "string") metrics.problems.add({ code: log.code });
  if (typeof log.skill !== "string") return;
  metrics.runs.add({ skill: log.uploaded === true ? UPLOADED : metrics.shownName(log.skill), status });
}

export function getMetrics({ deployment }: RequestContext): Response {
  const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" };
  return new Response(deployment.metrics.render(), { headers });
}
