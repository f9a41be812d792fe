/** The fixed routes: guards in their order, then the operation's handler. */
import { MethodNotAllowed } from "../errors/request.ts";
import { FIXED_ROUTES, type OperationId, type RouteScope } from "../skill/fixed-routes.ts";
import type { RequestContext } from "./context.ts";
import { guard } from "./guard.ts";
import { checkRate } from "./rate.ts";
import { checkAdmitted, whileAdmitted } from "./while-admitted.ts";

/** The parts of the path that a route names. */
export type Params = Record<string, string>;
export type Handler = (context: RequestContext, params: Params) => Promise<Response> | Response;

interface Operation {
  method: string;
  scope: RouteScope;
  handle: Handler;
}

/** The handler of each path of the fixed routes, for all of its methods. */
export function fixedRoutes(handlerOf: (id: OperationId) => Handler): Map<string, Handler> {
  const all = FIXED_ROUTES.map(([id, method, path, scope]) => ({
    method,
    path,
    scope,
    handle: handlerOf(id),
  }));
  const paths = Map.groupBy(all, ({ path }) => path);
  return new Map(Array.from(paths, ([path, operations]) => [path, mounted(path, operations)]));
}

function mounted(path: string, operations: readonly Operation[]): Handler {
  const allowed = allowedMethods(operations.map(({ method }) => method));
  return async (context, params) => {
    const { method } = context.request;
    context.route = path;
    if (method === "OPTIONS") return optionsResponse(allowed);
    const asked = method === "HEAD" ? "GET" : method;
    const operation = operations.find((one) => one.method === asked);
    // A caller without rights at a path must not learn which methods the path has.
    const { scope } = operation ?? operations.at(asked === "GET" ? 0 : -1) ?? { scope: "admin" };
    if (scope !== "open" && scope !== "own") await guard(context, scope);
    if (operation === undefined) throw new MethodNotAllowed({ method, allowed });
    // The rate limit does not count publishing, and managing keys and budgets: they must stay possible under load.
    if (scope === "invoke" || scope === "any") await checkRate(context);
    const answered = async (): Promise<Response> => operation.handle(context, params);
    // A run that a request began continues without its key, but nobody may learn of others' runs and events for ever.
    if (asked !== "GET") return answered();
    return whileAdmitted(context, await answered().finally(() => checkAdmitted(context)));
  };
}

/** HEAD is allowed wherever GET is. */
function allowedMethods(methods: string[]): string[] {
  return [...methods.flatMap((m) => (m === "GET" ? ["GET", "HEAD"] : [m])), "OPTIONS"];
}

export function optionsResponse(allowed: string[]): Response {
  return new Response(null, { status: 204, headers: { allow: allowed.join(", ") } });
}
