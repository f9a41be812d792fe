/** The HTTP surface: its routes, and what every response carries. */

import * as z from "zod/mini";
import en from "zod/v4/locales/en.js";
import { deploymentOf } from "../deployment.ts";
import type { Bindings } from "../env.ts";
import { NotFound } from "../errors/request.ts";
import { type HullError, Internal, toHullError, toProblem } from "../errors.ts";
import { logLine } from "../log.ts";
import { Redactor } from "../redact.ts";
import { logError } from "../run/problem.ts";
import { discardBody } from "./body.ts";
import { consoleStart, withConsole } from "./console.ts";
import { RequestContext, requestIdOf } from "./context.ts";
import { addCors } from "./cors.ts";
import { isNotice, withNotice } from "./departure.ts";
import { favicon } from "./favicon.ts";
import { checkHost } from "./guard.ts";
import { handlerOf } from "./handlers.ts";
import { jsonAnswer } from "./json.ts";
import { countRequest } from "./metrics.ts";
import { routePath } from "./path.ts";
import { logRequest, problemHeaders, problemResponse } from "./problem.ts";
import { Router } from "./router.ts";
import { fixedRoutes, type Handler } from "./routes.ts";
import { skillRoute } from "./skills/routes.ts";
import { isEventStream } from "./sse.ts";
import { dialectOf, isV1, withoutVendor } from "./v1/dialect.ts";
import { errorResponse } from "./v1/errors.ts";

/** The words for a schema's refusals; zod/mini has none of its own. */
z.config(en());

interface App {
  /** Answers a request. Each answer has Hull's headers, and a line in the log once it is complete. */
  fetch(request: Request, env: Bindings, execution: ExecutionContext): Promise<Response>;
}

/** The whole surface. */
export function createApp(): App {
  const router = new Router<Handler>();
  // Wrangler and Cloudflare have tools of their own at these paths. Hull serves nothing there, and says so with or
  // without a key.
  for (const path of ["/cdn-cgi", "/cdn-cgi/:path{.+}"]) router.add(path, notFound);
  router.add("/favicon.ico", onlyRead(favicon));
  router.add("/console", onlyRead(consoleStart));
  for (const [path, handle] of fixedRoutes(withConsole(handlerOf))) router.add(path, handle);
  return {
    async fetch(request, env, execution) {
      let context: RequestContext;
      try {
        const deployment = deploymentOf(env);
        if (isNotice(request, deployment)) return new Response(null, { status: 204 });
        const noticed = withNotice(request, deployment);
        context = new RequestContext(noticed, deployment, (work) => execution.waitUntil(work));
      } catch (error) {
        return unsettled(toHullError(error), requestIdOf(request));
      }
      const path = withoutVendor(routePath(request.url));
      const response = await answer(router, context, path).catch((error: unknown) =>
        failure(error, context, path),
      );
      complete(response, context, path);
      if (request.method !== "HEAD") return response;
      // Nobody reads the body, so what makes it must end: a stream of events would otherwise last for ever.
      if (response.body !== null) context.background(response.body.cancel());
      return new Response(null, response);
    },
  };
}

async function answer(router: Router<Handler>, context: RequestContext, path: string): Promise<Response> {
  const { deployment } = context;
  if (!deployment.isOpen) await deployment.open(context.background);
  checkHost(context);
  const found = router.find(path);
  return found === null ? skillRoute(context, path) : found.target(context, found.params);
}

/** Answers GET and HEAD at a path that for other methods is like any unknown one. */
const onlyRead =
  (answer: () => Response): Handler =>
  (context) =>
    ["GET", "HEAD"].includes(context.request.method)
      ? answer()
      : skillRoute(context, routePath(context.request.url));

function notFound({ request }: RequestContext): never {
  throw new NotFound({ path: routePath(request.url) });
}

async function failure(thrown: unknown, context: RequestContext, path: string): Promise<Response> {
  const error = toHullError(thrown);
  if (error instanceof Internal && thrown instanceof Error && thrown !== error) {
    context.log.stack = thrown.stack;
  }
  logError(error, context);
  const discarded = discardBody(context);
  if (context.settings.local) await discarded;
  else context.background(discarded);
  const response = isV1(path, context.request)
    ? errorResponse(error, context, dialectOf(context))
    : problemResponse(error, context);
  for (const [name, value] of Object.entries(context.runHeaders)) response.headers.set(name, value);
  return response;
}

/** For a deployment with unreadable settings: there is no redactor yet, so the error itself must hold no secret. */
function unsettled(error: HullError, requestId: string): Response {
  const line = { event: "settings", request_id: requestId, code: error.code, error: error.operator };
  logLine(new Redactor([]), line, "error");
  const headers = problemHeaders(error);
  headers.set("content-type", "application/problem+json");
  headers.set("x-request-id", requestId);
  return jsonAnswer(toProblem(error.data, requestId), { status: error.status, headers });
}

/** Runs in a later turn of the event loop, so that the answer does not wait for its log line. */
function afterResponse(work: () => void): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => {
      work();
      resolve();
    }, 0);
  });
}

/** The headers of every response, and what follows once the answer is complete. */
function complete(response: Response, context: RequestContext, path: string): void {
  const { headers, status } = response;
  const v1 = isV1(path, context.request);
  addCors(context, response, v1);
  headers.set("x-request-id", context.requestId);
  if (v1) headers.set("request-id", context.requestId);
  if (context.ignored.length > 0) {
    headers.set(
      "x-hull-ignored",
      context.ignored
        .join(", ")
        .replace(/[^\x20-\x7e]/g, "?")
        .slice(0, 1024),
    );
  }
  headers.set("x-content-type-options", "nosniff");
  // nginx and others would hold events back until there are more of them.
  if (isEventStream(response)) headers.set("x-accel-buffering", "no");
  headers.set("server-timing", context.serverTiming());
  headers.set("x-hull-duration-ms", String(context.durationMs));
  const { finished } = context;
  if (finished === null) note(context, status);
  else context.background(finished.then(() => note(context, status)));
}

/** Counts and logs an answer that is complete, and does the work that waited for it. */
function note(context: RequestContext, status: number): void {
  countRequest(context, status);
  const { code, model_outcome } = context.log;
  const failed = status >= 400 || code !== undefined || model_outcome !== undefined;
  if (failed || context.settings.logsAll)
    context.background(afterResponse(() => logRequest(context, status)));
  for (const work of context.afterwards) context.background(work());
}
