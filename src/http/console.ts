/**
 * The console's part of the surface. The pages themselves (`src/console`), and the API as they ask it (`console-api.ts`), are
 * loaded with the first request for one: what stands here is all that every isolate evaluates of the console.
 */
import type { OperationId } from "../skill/fixed-routes.ts";
import type { Handlers } from "./console-api.ts";
import type { RequestContext } from "./context.ts";
import { DISCOVERY_LINKS } from "./discovery/routes.ts";
import type { Handler } from "./routes.ts";
import { servedTo } from "./served.ts";

/** All handlers. @param handlers of the API, which the console's pages ask */
export function withConsole(handlers: Handlers): { readonly [id in OperationId]: Handler } {
  const show = async (context: RequestContext): Promise<Response> => {
    const { answeredConsole } = await import("./console-api.ts");
    return answeredConsole(context, handlers);
  };
  return {
    ...handlers,
    index: (context) => index(context, show),
    docs: show,
    consolePage: show,
    consoleForm: show,
  };
}

/** `GET /`: the skills as a page, or for programs a few facts as JSON. */
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
