/** What each operation of the fixed routes does. */
import type { ConsoleOperation, Operation } from "../console/api.ts";
import { Internal } from "../errors.ts";
import { lazily } from "../lazily.ts";
import { FIXED_ROUTES, type OperationOf, type RoutePart } from "../skill/fixed-routes.ts";
import { getDiscoveryArchive, getDiscoveryFile, getDiscoveryIndex, getLlmsText } from "./discovery/routes.ts";
import { docsFile } from "./docs.ts";
import { healthz, readyz } from "./health.ts";
import { deleteKey, getKeys, postKey } from "./keys.ts";
import { getMetrics } from "./metrics.ts";
import { getOpenapi } from "./openapi.ts";
import type { Handler } from "./routes.ts";
import { getAllRuns, getIndexedRun, getRunFigures } from "./run-index.ts";
import { postSignIn, postSignOut, showSignIn } from "./sign-in.ts";
import { listSkills } from "./skills/cards.ts";
import { cardRoute } from "./skills/routes.ts";
import { skillVersions } from "./skills/versions.ts";
import { getUsage } from "./usage.ts";

/** The handlers that every isolate compiles, without those of the console. */
const MAIN: { readonly [id in Exclude<OperationOf<"main">, ConsoleOperation>]: Handler } = {
  showSignIn,
  signIn: postSignIn,
  signOut: postSignOut,
  healthz,
  readyz,
  metrics: getMetrics,
  openapi: getOpenapi,
  getLlmsText,
  getDiscoveryIndex,
  getDiscoveryArchive,
  getDiscoveryFile,
  docsFile,
  listSkills,
  getCard: cardRoute,
  listKeys: getKeys,
  addKey: postKey,
  revokeKey: deleteKey,
  listAllRuns: getAllRuns,
  getRunFigures,
  getIndexedRun,
  getUsage,
  listVersions: skillVersions,
};

type LazyPart = Exclude<RoutePart, "main">;

/** The handlers of the other parts. An isolate compiles a part with the first request for one of them. */
const PARTS = {
  agents: () => import("./parts/agents.ts"),
  catalog: () => import("./parts/catalog.ts"),
  mcp: () => import("./parts/mcp.ts"),
  models: () => import("./parts/models.ts"),
  v1: () => import("./parts/v1.ts"),
  workflows: () => import("./parts/workflows.ts"),
} satisfies {
  [P in LazyPart]: () => Promise<{ readonly HANDLERS: { readonly [id in OperationOf<P>]: Handler } }>;
};

const LAZY: ReadonlyMap<string, Handler> = new Map(
  FIXED_ROUTES.flatMap(([id, , , , part]) =>
    part === "main" ? [] : [[id, lazily(async () => handlerIn((await PARTS[part]()).HANDLERS, id))] as const],
  ),
);

/** What an operation of the fixed routes does. The console's own operations are not among them. */
export const handlerOf = (id: Operation): Handler => LAZY.get(id) ?? handlerIn(MAIN, id);

/** The compiler guarantees a handler for each operation. */
function handlerIn(handlers: { readonly [id in string]?: Handler }, id: string): Handler {
  const handler = handlers[id];
  if (handler === undefined) throw new Internal({ cause: `no handler of ${id}` });
  return handler;
}
