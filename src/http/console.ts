/**
 * The console's part of the surface: finds out who is looking at a page, and calls the API for that caller. The first
 * request for a page loads the pages themselves (`src/console`). Every isolate evaluates this file, and wraps whatever
 * the pages import.
 */
import { grants } from "../auth/api-key.ts";
import type { ConsoleOperation, Operation } from "../console/api.ts";
import { logError, problemOf } from "../run/problem.ts";
import { countWaiting } from "../session/run-index.ts";
import { checkDeclaredLength } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { DISCOVERY_LINKS } from "./discovery/routes.ts";
import { checkFormToken } from "./guard.ts";
import type { Handler } from "./routes.ts";
import { findSlug, servedTo } from "./served.ts";
import { runSkill } from "./skills/routes.ts";

type Handlers = { readonly [id in Operation]: Handler };

/** All handlers. @param handlers of the API, which the console's pages ask */
export function withConsole(handlers: Handlers): Handlers & { readonly [id in ConsoleOperation]: Handler } {
  const show = (context: RequestContext): Promise<Response> => answered(context, handlers);
  return {
    ...handlers,
    index: (context) => index(context, show),
    docs: show,
    consolePage: show,
    consoleForm: show,
  };
}

/** `GET /`: the skills as a page, or a few facts as JSON for programs. */
async function index(
  context: RequestContext,
  show: (context: RequestContext) => Promise<Response>,
): Promise<Response> {
  if (!(context.request.headers.get("accept") ?? "").includes("application/json")) {
    const page = await show(context);
    page.headers.set("link", DISCOVERY_LINKS);
    return page;
  }
  const catalog = await servedTo(context);
  const { name } = context.settings;
  const facts = { name, skills: catalog.cards.length, catalog: catalog.id, listing: "/skills" };
  return Response.json(facts, { headers: { link: DISCOVERY_LINKS } });
}

async function answered(context: RequestContext, handlers: Handlers): Promise<Response> {
  const { answerConsole } = await import("../console/pages.ts");
  const { request, settings, signIn, env } = context;
  const { tenant, scopes } = context.caller;
  return answerConsole({
    request,
    name: settings.name,
    tenant,
    signIn,
    may: (scope) => grants(scopes, scope),
    operate: async (id, asked, params) => handlers[id](context.within(asked), params),
    callSkill: async (slug, made) => {
      const { card } = await findSlug(context, slug);
      return runSkill(context.within(made(card.route, card.method)), card);
    },
    waiting: () => countWaiting(env, tenant),
    checkLength: () => checkDeclaredLength(request, settings.max_body_bytes),
    checkToken: (token) => checkFormToken(context, token),
    problem: (error) => {
      logError(error, context);
      return problemOf(error, context);
    },
  });
}
