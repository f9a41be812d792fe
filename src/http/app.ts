/** The HTTP surface: its routes, and what every response carries. */
import { Hono } from "hono";
import * as z from "zod/mini";
import en from "zod/v4/locales/en.js";
import { deploymentOf } from "../deployment.ts";
import { NotFound } from "../errors/request.ts";
import { type HullError, Internal, toHullError, toProblem } from "../errors.ts";
import { logError } from "../run/problem.ts";
import { discardBody } from "./body.ts";
import { withConsole } from "./console.ts";
import { type App, type AppContext, type AppTypes, RequestContext } from "./context.ts";
import { addCors } from "./cors.ts";
import { favicon } from "./favicon.ts";
import { checkHost } from "./guard.ts";
import { handlerOf } from "./handlers.ts";
import { countRequest } from "./metrics.ts";
import { routePath } from "./path.ts";
import { logRequest, problemResponse } from "./problem.ts";
import { mountAll } from "./routes.ts";
import { skillRoute } from "./skills/routes.ts";
import { dialectOf, isV1, withoutVendor } from "./v1/dialect.ts";
import { errorResponse } from "./v1/errors.ts";

/** The words for a schema's refusals; zod/mini has none of its own. */
z.config(en());

/** The whole surface as one Hono app. */
export function createApp(): App {
  const app: App = new Hono<AppTypes>({ getPath: (request) => withoutVendor(routePath(request.url)) });
  app.use(async (c, next) => {
    const deployment = deploymentOf(c.env);
    const context = new RequestContext(c.req.raw, deployment, (work) => c.executionCtx.waitUntil(work));
    c.set("context", context);
    if (!deployment.isOpen) await deployment.open(context.background);
    await next();
    complete(c, context);
  });
  app.use(async (c, next) => {
    checkHost(c.get("context"));
    await next();
  });
  // Wrangler and Cloudflare have tools of their own there. That Hull has none is no secret, with or without a key.
  app.all("/cdn-cgi/*", (c) => {
    throw new NotFound({ path: c.req.path });
  });
  app.get("/favicon.ico", favicon);
  mountAll(app, withConsole(handlerOf));
  app.all("*", (c) => skillRoute(c.get("context"), c.req.path));
  app.onError((error, c) => failure(error, c));
  return app;
}

async function failure(thrown: Error, c: AppContext): Promise<Response> {
  const error = toHullError(thrown);
  const context: RequestContext | undefined = c.get("context");
  if (context === undefined) return unsettled(error);
  if (error instanceof Internal && !(thrown instanceof Internal)) context.log.stack = thrown.stack;
  logError(error, context);
  const discarded = discardBody(context);
  if (context.settings.local) await discarded;
  else context.background(discarded);
  return isV1(c.req.path, c.req.url)
    ? errorResponse(error, context, dialectOf(context))
    : problemResponse(error, context);
}

/** For a deployment with unreadable settings: there is no redactor yet, so the caller gets only the code. */
function unsettled(error: HullError): Response {
  const requestId = crypto.randomUUID();
  console.error(
    JSON.stringify({ event: "settings", request_id: requestId, code: error.code, error: error.operator }),
  );
  const headers = { "content-type": "application/problem+json", "x-request-id": requestId };
  return new Response(JSON.stringify(toProblem(error.data, requestId)), { status: error.status, headers });
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

/** The headers of every response, and the log line once the answer is complete. */
function complete(c: AppContext, context: RequestContext): void {
  const { headers, status } = c.res;
  addCors(context, c.res);
  headers.set("x-request-id", context.requestId);
  if (isV1(c.req.path, c.req.url)) headers.set("request-id", context.requestId);
  headers.set("x-content-type-options", "nosniff");
  headers.set("server-timing", context.serverTiming());
  headers.set("x-hull-duration-ms", String(context.durationMs));
  const noted = context.finished.then(() => {
    countRequest(context, status);
    const failed = status >= 400 || context.log.code !== undefined;
    if (failed || context.settings.logsAll) return afterResponse(() => logRequest(context, status));
  });
  for (const work of context.afterwards) context.background(context.finished.then(work));
  context.background(noted);
}
