/** The HTTP surface: what is served where, and what every response carries. */
import { Hono } from "hono";
import * as z from "zod/mini";
import en from "zod/v4/locales/en.js";
import { NotFound } from "../errors/request.ts";
import { type HullError, Internal, toHullError, toProblem } from "../errors.ts";
import { openDeployment } from "../run/deployment.ts";
import { logError } from "../run/problem.ts";
import { discardBody } from "./body.ts";
import { deleteBudget, getBudget, getBudgets, putBudget } from "./budgets.ts";
import { type App, type AppContext, type AppTypes, RequestContext } from "./context.ts";
import { addCors } from "./cors.ts";
import { mountDaemons } from "./daemons/mount.ts";
import { docsFile, docsPage } from "./docs.ts";
import { deleteExecution, getExecution, getExecutionEvents, getExecutionResult } from "./executions.ts";
import { deleteFile, getFile, postFile } from "./files.ts";
import { checkHost } from "./guard.ts";
import { healthz, readyz } from "./health.ts";
import { home } from "./home.ts";
import { deleteKey, getKeys, postKey } from "./keys.ts";
import { deleteCapabilities, getCapabilities, putCapabilities } from "./llm/capabilities.ts";
import { deleteMocks, getMockCalls, postMocks } from "./llm/mocks.ts";
import { getCost, getInferred, getInfo, getModels, getPick, getResolved, getTier } from "./llm/models.ts";
import { getAvailableProviders, getProvider, getProviderHealth, getProviders } from "./llm/providers.ts";
import { getRateLimit, putRateLimit } from "./llm/rate-limit.ts";
import {
  deleteSoftBudget,
  getSessionCost,
  getSoftBudget,
  getTotalUsage,
  putSoftBudget,
} from "./llm/spending.ts";
import { postMcp } from "./mcp/endpoint.ts";
import { countRequest, getMetrics } from "./metrics.ts";
import { getOpenapi } from "./openapi.ts";
import { postCall, postCompletion, postStream, postStructured } from "./operations.ts";
import { routePath } from "./path.ts";
import { logRequest, problemResponse } from "./problem.ts";
import { listObjects, publishCatalog, putBundle } from "./publish.ts";
import { mount } from "./routes.ts";
import { mountSessions } from "./sessions/mount.ts";
import { postNamedRun } from "./sessions/runs.ts";
import { listSkills } from "./skills/cards.ts";
import { getConfig, putConfig } from "./skills/config.ts";
import { cardRoute, skillRoute } from "./skills/routes.ts";
import { skillVersions } from "./skills/versions.ts";
import { postTranscripts } from "./transcripts.ts";
import { deleteSkill, getUploads, putSkill } from "./uploads.ts";
import { getUsage } from "./usage.ts";
import { dialectOf, isV1, withoutVendor } from "./v1/dialect.ts";
import { errorResponse } from "./v1/errors.ts";
import { mountStoredFiles } from "./v1/files/routes.ts";
import { mountV1Models } from "./v1/mount-models.ts";
import { mountStoredSkills } from "./v1/skills/routes.ts";

/** Words for what a schema refuses; zod/mini has none of its own. */
z.config(en());

/** The whole surface as one Hono app. */
export function createApp(): App {
  const app: App = new Hono<AppTypes>({ getPath: (request) => withoutVendor(routePath(request.url)) });
  app.use(async (c, next) => {
    const context = new RequestContext(c.req.raw, c.env, (work) => c.executionCtx.waitUntil(work));
    c.set("context", context);
    const opening = openDeployment(c.env, context.background);
    if (opening !== null) await opening;
    await next();
    complete(c, context);
  });
  app.use(async (c, next) => {
    checkHost(c.get("context"));
    await next();
  });
  // Wrangler and Cloudflare have tools of their own there; that Hull has none is no secret, key or not.
  app.all("/cdn-cgi/*", (c) => {
    throw new NotFound({ path: c.req.path });
  });
  mount(app, "/healthz", { scope: "open", methods: { GET: healthz } });
  mount(app, "/readyz", { scope: "open", methods: { GET: readyz } });
  mount(app, "/", { scope: "invoke", methods: { GET: home } });
  mount(app, "/metrics", { scope: "admin", methods: { GET: getMetrics } });
  mount(app, "/openapi.json", { scope: "invoke", methods: { GET: getOpenapi } });
  mount(app, "/docs", { scope: "invoke", methods: { GET: docsPage } });
  mount(app, "/docs/:file", { scope: "invoke", methods: { GET: docsFile } });
  mount(app, "/skills", { scope: "invoke", methods: { GET: listSkills } });
  mount(app, "/skills/:slug/card", { scope: "invoke", methods: { GET: cardRoute } });
  mount(app, "/files", { scope: "invoke", methods: { POST: postFile } });
  mount(app, "/files/:id", { scope: "invoke", methods: { GET: getFile, DELETE: deleteFile } });
  mount(app, "/skills/:slug/versions", { scope: "invoke", methods: { GET: skillVersions } });
  mount(app, "/skills/:slug/config", { scope: "publish", methods: { GET: getConfig, PUT: putConfig } });
  const execution = { GET: getExecution, DELETE: deleteExecution };
  mount(app, "/executions/:id", { scope: "invoke", methods: execution });
  mount(app, "/executions/:id/result", { scope: "invoke", methods: { GET: getExecutionResult } });
  mount(app, "/executions/:id/events", { scope: "invoke", methods: { GET: getExecutionEvents } });
  mount(app, "/_hull/bundles", { scope: "publish", methods: { GET: listObjects } });
  mount(app, "/_hull/bundles/:digest", { scope: "publish", methods: { PUT: putBundle } });
  mount(app, "/_hull/catalog", { scope: "publish", methods: { POST: publishCatalog } });
  mount(app, "/_hull/skills", { scope: "publish", methods: { GET: getUploads } });
  mount(app, "/_hull/skills/:slug", { scope: "publish", methods: { PUT: putSkill, DELETE: deleteSkill } });
  mount(app, "/usage", { scope: "invoke", methods: { GET: getUsage } });
  mount(app, "/budgets", { scope: "invoke", methods: { GET: getBudgets } });
  const budget = { GET: getBudget, PUT: putBudget, DELETE: deleteBudget };
  mount(app, "/budgets/:scope", { scope: "invoke", writeScope: "admin", methods: budget });
  mount(app, "/llm/usage", { scope: "invoke", methods: { GET: getTotalUsage } });
  mount(app, "/llm/session-cost", { scope: "invoke", methods: { GET: getSessionCost } });
  const softBudget = { GET: getSoftBudget, PUT: putSoftBudget, DELETE: deleteSoftBudget };
  mount(app, "/llm/budget", { scope: "invoke", methods: softBudget });
  const rateLimit = { GET: getRateLimit, PUT: putRateLimit };
  mount(app, "/llm/rate-limit/:provider", { scope: "invoke", writeScope: "admin", methods: rateLimit });
  mount(app, "/admin/keys", { scope: "admin", methods: { GET: getKeys, POST: postKey } });
  mount(app, "/admin/keys/:id", { scope: "admin", methods: { DELETE: deleteKey } });
  mount(app, "/mcp", { scope: "any", methods: { POST: postMcp } });
  mountModels(app);
  mountSessions(app);
  mountDaemons(app);
  mountV1Models(app);
  mountStoredSkills(app);
  mountStoredFiles(app);
  app.all("*", (c) => skillRoute(c.get("context"), c.req.path));
  app.onError((error, c) => failure(error, c));
  return app;
}

/** Model calls, and what can be asked about models. */
function mountModels(app: App): void {
  const reads = {
    "/llm/info": getInfo,
    "/llm/models": getModels,
    "/llm/resolve": getResolved,
    "/llm/infer": getInferred,
    "/llm/tier": getTier,
    "/llm/pick": getPick,
    "/llm/cost": getCost,
    "/llm/providers": getProviders,
    "/llm/providers/available": getAvailableProviders,
    "/llm/providers/:name": getProvider,
    "/llm/providers/:name/health": getProviderHealth,
  };
  for (const [path, GET] of Object.entries(reads)) mount(app, path, { scope: "invoke", methods: { GET } });
  const calls = {
    "/runs": postNamedRun,
    "/llm/call": postCall,
    "/llm/stream": postStream,
    "/llm/structured": postStructured,
    "/llm/completion": postCompletion,
  };
  for (const [path, POST] of Object.entries(calls)) mount(app, path, { scope: "invoke", methods: { POST } });
  mount(app, "/transcripts/:operation", { scope: "invoke", methods: { POST: postTranscripts } });
  const methods = { GET: getCapabilities, PUT: putCapabilities, DELETE: deleteCapabilities };
  mount(app, "/llm/capabilities", { scope: "invoke", writeScope: "admin", methods });
  mount(app, "/llm/mocks", { scope: "invoke", methods: { POST: postMocks, DELETE: deleteMocks } });
  mount(app, "/llm/mocks/calls", { scope: "invoke", methods: { GET: getMockCalls } });
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
  return isV1(c.req.path)
    ? errorResponse(error, context, dialectOf(context.request))
    : problemResponse(error, context);
}

/** A deployment whose settings cannot be read: there is no redactor yet, so the caller learns the code only. */
function unsettled(error: HullError): Response {
  const requestId = crypto.randomUUID();
  console.error(
    JSON.stringify({ event: "settings", request_id: requestId, code: error.code, error: error.operator }),
  );
  const headers = { "content-type": "application/problem+json", "x-request-id": requestId };
  return new Response(JSON.stringify(toProblem(error.data, requestId)), { status: error.status, headers });
}

/** In a later turn of the event loop, so that the answer does not wait for its log line. */
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
  if (isV1(c.req.path)) headers.set("request-id", context.requestId);
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
