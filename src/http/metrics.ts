/**
 * `GET /metrics`: what this isolate has done, in Prometheus' text format 0.0.4. Isolates come and go,
 * and a scrape meets one of them: locally that is all there is, at the edge a sample.
 */
import { OTHER } from "../run/metrics.ts";
import type { RequestContext } from "./context.ts";

/** What is uploaded is not shown to other tenants, not even by name. */
const UPLOADED = "uploaded";
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Notes a request whose answer is complete. */
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
