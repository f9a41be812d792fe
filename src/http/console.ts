/**
 * The console's routes: find out who is looking at a page, and call the API for that caller. The first request for a
 * page loads the pages themselves (`src/console`). Every isolate evaluates this file, and wraps whatever the pages
 * import.
 */

import { grants } from "../auth/api-key.ts";
import type { Operation } from "../console/api.ts";
import { logError, problemOf } from "../run/problem.ts";
import { countWaiting } from "../session/run-index.ts";
import type { OperationId } from "../skill/fixed-routes.ts";
import { checkDeclaredLength } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { DISCOVERY_LINKS } from "./discovery/routes.ts";
import { checkFormToken } from "./guard.ts";
import { jsonAnswer } from "./json.ts";
import { routePath } from "./path.ts";
import type { Handler } from "./routes.ts";
import { findSlug, servedTo } from "./served.ts";
import { runSkill } from "./skills/routes.ts";

type HandlerOf<Id> = (id: Id) => Handler;

/** Finds the handler of any operation. @param handlerOf finds those of the API, which the console's pages ask */
export function withConsole(handlerOf: HandlerOf<Operation>): HandlerOf<OperationId> {
  const show: Handler = (context) => answered(context, handlerOf);
  return (id) => {
    switch (id) {
      case "index":
        return (context) => index(context, show);
      case "docs":
      case "consolePage":
      case "consoleForm":
        return show;
      default:
        return handlerOf(id);
    }
  };
}

/** `GET /console`: redirects to the start page, with or without a key. */
export const consoleStart = (): Response => new Response(null, { status: 302, headers: { location: "/" } });

/** `GET /`: the skills as a page, or a few facts as JSON for programs. */
async function index(context: RequestContext, show: Handler): Promise<Response> {
  if (!(context.request.headers.get("accept") ?? "").includes("application/json")) {
    const page = await show(context, {});
    page.headers.set("link", DISCOVERY_LINKS);
    return page;
  }
  const catalog = await servedTo(context);
  const { name } = context.settings;
  const facts = { name, skills: catalog.cards.length, catalog: catalog.id, listing: "/skills" };
  return jsonAnswer(facts, { headers: { link: DISCOVERY_LINKS } });
}

async function answered(context: RequestContext, handlerOf: HandlerOf<Operation>): Promise<Response> {
  const { answerConsole } = await import("../console/pages.ts");
  const { request, settings, signIn, env } = context;
  const { tenant, scopes } = context.caller;
  return answerConsole({
    request,
    path: routePath(request.url),
    name: settings.name,
    tenant,
    signIn,
    may: (scope) => grants(scopes, scope),
    operate: async (id, asked, params) => handlerOf(id)(context.within(asked), params),
    callSkill: async (slug, made) => {
      const { card } = await findSlug(context, slug);
      return runSkill(context.within(made(card.route, card.method)), card);
    },
    waiting: () => countWaiting(context),
    checkLength: () => checkDeclaredLength(request, settings.max_body_bytes),
    checkToken: (token) => checkFormToken(context, token),
    problem: (error) => {
      logError(error, context);
      return problemOf(error, context);
    },
    asset: (path) => env.ASSETS.fetch(`https://assets.invalid/${path}`),
  });
}
