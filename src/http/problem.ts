/** From an error to a response, and from a request to its log line. */
import type { HullError } from "../errors.ts";
import { problemOf } from "../run/problem.ts";
import type { RequestContext } from "./context.ts";

/** The problem document of an error. What its members hold has passed the redactor. */
export function problemResponse(error: HullError, context: RequestContext): Response {
  const headers = problemHeaders(error);
  headers.set("content-type", "application/problem+json");
  return new Response(JSON.stringify(problemOf(error, context)), { status: error.status, headers });
}

/** What the status of an error wants in the headers, whatever the shape of its body. */
export function problemHeaders({ data }: HullError): Headers {
  const headers = new Headers();
  if (data.retry_after_s !== undefined) headers.set("retry-after", String(Math.ceil(data.retry_after_s)));
  if (data.status === 401) headers.set("www-authenticate", "Bearer");
  const allowed = data.members.allowed;
  if (data.status === 405 && Array.isArray(allowed)) headers.set("allow", allowed.join(", "));
  if (data.status === 416) headers.set("content-range", `bytes */${data.members.size}`);
  return headers;
}

function pathOf(url: string): string {
  return url.replace(/^[a-z]+:\/\/[^/?#]*/i, "").replace(/[?#].*$/s, "") || "/";
}

/** Writes the one log line of a request. */
export function logRequest(context: RequestContext, status: number): void {
  const { request, requestId, log, timings, durationMs, spans } = context;
  const line = {
    event: "request",
    request_id: requestId,
    method: request.method,
    path: pathOf(request.url),
    status,
    duration_ms: durationMs,
    ...timings,
    ...log,
    ...(spans === undefined ? {} : { spans }),
  };
  console.log(JSON.stringify(context.redacted(line)));
}
