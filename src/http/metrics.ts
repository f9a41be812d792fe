/**
 * `GET /metrics`: what this isolate has done, in Prometheus' text format 0.0.4. Isolates come and go,
 * and a scrape meets one of them: locally that is all there is, at the edge a sample.
 */
import { Counter, Histogram, RUN_METRICS } from "../run/metrics.ts";
import type { RequestContext } from "./context.ts";

/** Most skills that are counted by name; further ones are counted together, and so are uploaded ones. */
const MAX_SKILLS = 200;
const OTHER = "other";
/** What is uploaded is not shown to other tenants, not even by name. */
const UPLOADED = "uploaded";
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const requests = new Counter("hull_requests_total", "Answered requests.");
const durations = new Histogram("hull_request_duration_seconds", "Time until the answer was complete.");
const runs = new Counter("hull_runs_total", "Runs of skills.");
const problems = new Counter("hull_problems_total", "Failed requests and runs by error code.");
const ALL = [requests, durations, runs, problems, ...RUN_METRICS];

const skills = new Set<string>();

/** Notes a request whose answer is complete. */
export function countRequest(context: RequestContext, status: number): void {
  const { route, log, durationMs, request } = context;
  const method = METHODS.includes(request.method) ? request.method : OTHER;
  requests.add({ route, method, status });
  durations.observe({ route }, durationMs / 1000);
  if (typeof log.code === "string") problems.add({ code: log.code });
  if (typeof log.skill !== "string") return;
  runs.add({ skill: log.uploaded === true ? UPLOADED : shownName(log.skill), status });
}

function shownName(skill: string): string {
  if (skills.size < MAX_SKILLS) skills.add(skill);
  return skills.has(skill) ? skill : OTHER;
}

export function getMetrics(): Response {
  const text = `${ALL.flatMap((metric) => metric.render()).join("\n")}\n`;
  const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" };
  return new Response(text, { headers });
}
