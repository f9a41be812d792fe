/** Turns an error into a response, and a request into its log line. */

import * as z from "zod/mini";
import { wellFormedJson } from "../bytes.ts";
import { Forbidden, Unauthenticated } from "../errors/request.ts";
import type { HullError } from "../errors.ts";
import { logLine } from "../log.ts";
import { problemOf } from "../run/problem.ts";
import type { RequestContext } from "./context.ts";
import { escapeHtml, HTML_HEADERS, htmlPage, wantsHtml } from "./html.ts";
import { signInForm } from "./sign-in.ts";

/** The problem document of an error; as a page if a browser shows it. The redactor has processed its content. */
export function problemResponse(error: HullError, context: RequestContext): Response {
  const asPage = wantsHtml(context.request);
  const headers = problemHeaders(error);
  if (asPage) for (const [name, value] of Object.entries(HTML_HEADERS)) headers.set(name, value);
  else headers.set("content-type", "application/problem+json");
  const problem = problemOf(error, context);
  const body = asPage ? problemPage(problem, context.request) : wellFormedJson(problem);
  return new Response(body, { status: error.status, headers });
}

/** The headers of every error, and those that its status requires, whatever the shape of its body. */
export function problemHeaders({ data }: HullError): Headers {
  const headers = new Headers({ "cache-control": "no-store" });
  if (data.retry_after_s !== undefined) headers.set("retry-after", String(Math.ceil(data.retry_after_s)));
  if (data.status === 401) headers.set("www-authenticate", "Bearer");
  const allowed = data.members.allowed;
  if (data.status === 405 && Array.isArray(allowed)) headers.set("allow", allowed.join(", "));
  if (data.status === 416) headers.set("content-range", `bytes */${data.members.size}`);
  return headers;
}

/** The parts of a problem document for people. */
const shownProblem = z.lazy(() =>
  z.looseObject({
    status: z.number(),
    title: z.string(),
    detail: z.string(),
    code: z.string(),
    request_id: z.string(),
  }),
);

function problemPage(problem: unknown, { method, url }: Request): string {
  const { status, title, detail, code, request_id } = shownProblem.parse(problem);
  const { pathname, search } = new URL(url);
  const unknown = code === Unauthenticated.code;
  const heading = unknown ? "Sign in" : title;
  const unsent = "You are no longer signed in, so Hull changed nothing. Sign in, and send the form again.";
  const said = unknown ? (method === "POST" ? unsent : "") : detail;
  // With another key the caller may be permitted.
  const key = unknown || code === Forbidden.code ? `\n${signInForm(pathname + search)}` : "";
  return htmlPage(
    heading,
    `<h1>${escapeHtml(heading)}</h1>
${said === "" ? "" : `<p>${escapeHtml(said)}</p>`}${key}
<p><small>${status} <code>${escapeHtml(code)}</code> · request <code>${escapeHtml(request_id)}</code> · <a href="/">Home</a></small></p>`,
  );
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
  logLine(context, line);
}
