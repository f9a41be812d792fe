/** The API on behalf of whoever looks at a page of the console, and the pages: loaded with the first request for one. */
import { grants, type Scope } from "../auth/api-key.ts";
import type { Api, Asked } from "../console/api.ts";
import { answerConsole } from "../console/pages.ts";
import { BadRequest, Forbidden } from "../errors/request.ts";
import { logError, problemOf } from "../run/problem.ts";
import { countWaiting } from "../session/run-index.ts";
import { FIXED_ROUTES, type OperationId, type RouteScope } from "../skill/fixed-routes.ts";
import { checkDeclaredLength } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { checkFormToken } from "./guard.ts";
import type { Handler } from "./routes.ts";
import { findSlug } from "./served.ts";
import { runSkill } from "./skills/run.ts";

/** The operations that the console itself carries out. */
export type ConsoleOperation = "index" | "docs" | "consolePage" | "consoleForm";
export type Handlers = { readonly [id in Exclude<OperationId, ConsoleOperation>]: Handler };

/** Answers a request for the console. @param handlers of the API, which its pages ask */
export const answeredConsole = (context: RequestContext, handlers: Handlers): Promise<Response> =>
  answerConsole(apiOf(context, handlers));

function apiOf(context: RequestContext, handlers: Handlers): Api {
  const { request, settings, caller } = context;
  const url = new URL(request.url);
  const may = (scope: Scope): boolean => grants(caller.scopes, scope);
  const within = (path: string, method: string, asked: Asked): RequestContext =>
    context.within(requestFor(context, `${url.origin}${path}`, method, asked));
  return {
    request,
    url,
    name: settings.name,
    tenant: caller.tenant,
    may,
    token: context.signIn?.token ?? "",
    signedIn: context.signIn !== null,
    ask: async (id, asked = {}) => {
      if (!isAsked(handlers, id)) throw new BadRequest({ detail: "The console does not ask itself." });
      const [method, path, scope] = ROUTES.get(id) ?? ["GET", "/", "admin"];
      const needed = scope === "own" ? "invoke" : scope;
      if (needed !== "open" && needed !== "any" && !may(needed)) throw new Forbidden({ scope: needed });
      const { params = {} } = asked;
      return handlers[id](within(filled(path, params), method, asked), params);
    },
    callSkill: async (slug, asked) => {
      const { card } = await findSlug(context, slug);
      return runSkill(within(card.route, card.method, asked), card);
    },
    waiting: () => countWaiting(context.env, caller.tenant),
    form: () => formOf(context),
    problem: (error) => {
      logError(error, context);
      const { status, title, detail, code, request_id } = problemOf(error, context);
      return { status, title, detail, code, request_id };
    },
  };
}

const ROUTES: ReadonlyMap<OperationId, readonly [method: string, path: string, scope: RouteScope]> = new Map(
  FIXED_ROUTES.map(([id, method, path, scope]) => [id, [method, path, scope]]),
);

function isAsked(handlers: Handlers, id: OperationId): id is keyof Handlers {
  return Object.hasOwn(handlers, id);
}

/** The path of a route with its parameters in their places. */
function filled(path: string, params: Record<string, string>): string {
  return path.replace(/:(\w+)(?:\{[^}]*\})?/g, (_, name: string) =>
    (params[name] ?? "").split("/").map(encodeURIComponent).join("/"),
  );
}

/** A request of the API. What the browser sent about itself stays out of it, so that a page is not taken for a client. */
function requestFor(
  { request }: RequestContext,
  address: string,
  method: string,
  { query = {}, json, body, headers = {} }: Asked,
): Request {
  const url = new URL(address);
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== "") url.searchParams.set(name, value);
  const sent = new Headers({ host: request.headers.get("host") ?? url.host });
  for (const name of ["x-request-id", "last-event-id", "x-hull-mock-scope"]) {
    const value = request.headers.get(name);
    if (value !== null) sent.set(name, value);
  }
  if (json !== undefined) sent.set("content-type", "application/json");
  for (const [name, value] of Object.entries(headers)) sent.set(name, value);
  const content = json === undefined ? body : JSON.stringify(json);
  const { signal } = request;
  return content === undefined
    ? new Request(url, { method, headers: sent, signal })
    : new Request(url, { method, headers: sent, signal, body: content });
}

/** @throws BadRequest for a body that is no form, BodyTooLarge, FormNotTrusted */
async function formOf(context: RequestContext): Promise<FormData> {
  const { request, settings } = context;
  checkDeclaredLength(request, settings.max_body_bytes);
  const fields = await request.formData().catch(() => {
    throw new BadRequest({
      detail: "The console takes forms: multipart/form-data, or application/x-www-form-urlencoded.",
    });
  });
  const token = fields.get("token");
  await checkFormToken(context, typeof token === "string" ? token : null);
  return fields;
}
