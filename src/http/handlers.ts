/** What each operation of the fixed routes does: the exported function with the operation's id. */
import type { ConsoleOperation, Operation } from "../console/api.ts";
import { Internal } from "../errors.ts";
import { lazily } from "../lazily.ts";
import { FIXED_ROUTES, type OperationOf, type RoutePart } from "../skill/fixed-routes.ts";
import * as discovery from "./discovery/routes.ts";
import { docsFile } from "./docs.ts";
import { healthz, readyz } from "./health.ts";
import { getMetrics } from "./metrics.ts";
import { getOpenapi } from "./openapi.ts";
import type { Handler } from "./routes.ts";
import * as runIndex from "./run-index.ts";
import * as signIn from "./sign-in.ts";
import { listSkills, listVersions } from "./skills/cards.ts";
import { getCard } from "./skills/routes.ts";
import { getUsage } from "./usage.ts";

/** The handlers that every isolate compiles, without those of the console. */
const MAIN: { readonly [id in Exclude<OperationOf<"main">, ConsoleOperation>]: Handler } = {
  ...discovery,
  ...runIndex,
  ...signIn,
  docsFile,
  getCard,
  getUsage,
  healthz,
  listSkills,
  listVersions,
  metrics: getMetrics,
  openapi: getOpenapi,
  readyz,
};

type LazyPart = Exclude<RoutePart, "main">;

/** The handlers of the other parts. An isolate compiles a part with the first request for one of them. */
const PARTS: { readonly [P in LazyPart]: () => Promise<{ readonly [id in OperationOf<P>]: Handler }> } = {
  agents: async () => (await import("./parts/agents.ts")).HANDLERS,
  catalog: async () => (await import("./parts/catalog.ts")).HANDLERS,
  mcp: () => import("./mcp/endpoint.ts"),
  models: async () => (await import("./parts/models.ts")).HANDLERS,
  v1: async () => (await import("./parts/v1.ts")).HANDLERS,
  workflows: async () => (await import("./parts/workflows.ts")).HANDLERS,
};

const LAZY: ReadonlyMap<string, Handler> = new Map(
  FIXED_ROUTES.flatMap(([id, , , , part, mode]) =>
    part === "main"
      ? []
      : [[id, lazily(() => (mode === "keyed" ? keyedIn(part, id) : inPart(part, id)))] as const],
  ),
);

/** What an operation of the fixed routes does. The console's own operations are not among them. */
export const handlerOf = (id: Operation): Handler => LAZY.get(id) ?? handlerIn(MAIN, id);

const inPart = async (part: LazyPart, id: string): Promise<Handler> => handlerIn(await PARTS[part](), id);

/** No isolate compiles what keeps answers before a route needs it. */
async function keyedIn(part: LazyPart, id: string): Promise<Handler> {
  const { keyed } = await import("./keyed.ts");
  return keyed(await inPart(part, id));
}

/** The compiler guarantees a handler for each operation. */
function handlerIn(handlers: { readonly [id in string]?: Handler }, id: string): Handler {
  const handler = handlers[id];
  if (handler === undefined) throw new Internal({ cause: `no handler of ${id}` });
  return handler;
}
