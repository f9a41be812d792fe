/** One way to mount a route: guards in their order, then the method's handler. */
import type { Scope } from "../auth/api-key.ts";
import { MethodNotAllowed } from "../errors/request.ts";
import type { App, AppContext, RequestContext } from "./context.ts";
import { guard } from "./guard.ts";
import { checkRate } from "./rate.ts";

export type Handler = (
  context: RequestContext,
  params: Record<string, string>,
) => Promise<Response> | Response;

/** A path's methods. `open`: no key, no origin rule (health checks); `any`: every key will do. */
export interface Route {
  scope: Scope | "open" | "any";
  /** Of methods that change something, where it is another one. */
  writeScope?: Scope;
  methods: { [method in "GET" | "POST" | "PUT" | "DELETE"]?: Handler };
}

export function mount(app: App, path: string, route: Route): void {
  app.all(path, async (c: AppContext) => {
    const context = c.get("context");
    const allowed = allowedMethods(Object.keys(route.methods));
    const { method } = context.request;
    context.route = path;
    if (method === "OPTIONS") return optionsResponse(allowed);
    const reads = method === "GET" || method === "HEAD";
    const scope = reads ? route.scope : (route.writeScope ?? route.scope);
    if (scope !== "open") await guard(context, scope);
    const handler = handlerOf(route, method);
    if (handler === undefined) throw new MethodNotAllowed({ method, allowed });
    // Publishing and managing keys and budgets are not counted: they must stay possible under load.
    if (scope === "invoke" || scope === "any") await checkRate(context);
    return handler(context, c.req.param());
  });
}

/** HEAD goes wherever GET does. */
function allowedMethods(methods: string[]): string[] {
  return [...methods.flatMap((m) => (m === "GET" ? ["GET", "HEAD"] : [m])), "OPTIONS"];
}

export function optionsResponse(allowed: string[]): Response {
  return new Response(null, { status: 204, headers: { allow: allowed.join(", ") } });
}

function handlerOf(route: Route, method: string): Handler | undefined {
  switch (method) {
    case "HEAD":
      return route.methods.GET;
    case "GET":
    case "POST":
    case "PUT":
    case "DELETE":
      return route.methods[method];
    default:
      return undefined;
  }
}
