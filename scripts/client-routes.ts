/** Which routes have a method of `hullrun/client` or a command of the operator, and why the others have none. */
import { FIXED_ROUTES, type OperationId } from "../src/skill/fixed-routes.ts";

interface Exception {
  /** Why there is none. */
  reason: string;
  isOf: (id: OperationId, path: string) => boolean;
}

const below = (reason: string, ...begins: string[]): Exception => ({
  reason,
  isOf: (_, path) => begins.some((begin) => path.startsWith(begin)),
});
const these = (reason: string, ...ids: OperationId[]): Exception => ({
  reason,
  isOf: (id) => ids.includes(id),
});

/** Routes without a method. */
export const WITHOUT_METHOD: readonly Exception[] = [
  below("people, models and crawlers read them", "/console/", "/docs", "/llms.txt", "/.well-known/"),
  these("a page, and the document from which others generate a client", "index", "openapi"),
  these("monitoring asks them", "healthz", "readyz", "metrics"),
  below(
    "the vendors' own clients call them",
    ...["messages", "chat", "responses", "conversations", "containers", "models", "skills", "files"].map(
      (collection) => `/v1/${collection}`,
    ),
  ),
  below("clients of MCP call it", "/mcp"),
  these(
    "the command line publishes and uploads",
    ...(["listObjects", "putObjects", "getServedCatalog", "publishCatalog", "getPublishedSkill"] as const),
    ...(["putSkill", "deleteSkill"] as const),
  ),
  these("the console lists them; a program reads `uploaded` of the cards", "listUploads"),
  these("the command line manages keys", "listKeys", "addKey", "revokeKey"),
  these(
    "a person logs in, with the command line",
    ...(["listMcpServers", "beginMcpLogin", "finishMcpLogin", "endMcpLogin"] as const),
  ),
  these("tests of skills use them (docs/testing.md)", "queueMocks", "clearMocks", "listMockCalls"),
  these(
    "the operator sets rules and rates once",
    ...(["putCapabilities", "deleteCapabilities", "getRateLimit", "putRateLimit"] as const),
  ),
  these("body and answer depend on a word in the path", "operateOnTranscript", "operateOnWorkflow"),
];

/** Routes for operators and publishers without a command. */
export const WITHOUT_COMMAND: readonly Exception[] = [
  these("monitoring asks it", "metrics"),
  these("programs set limits, with `hullrun/client`", "putBudget", "deleteBudget"),
  these("programs and the console set values, the former with `hullrun/client`", "getConfig", "putConfig"),
  these(
    "the operator sets rules and rates once",
    ...(["putCapabilities", "deleteCapabilities", "putRateLimit"] as const),
  ),
  these("the console lists them; `hull upload` and `hull remove` take a name", "listUploads"),
  below("the vendors' own clients call them", "/v1/skills"),
];

type FixedRoute = (typeof FIXED_ROUTES)[number];
const isIn = (exceptions: readonly Exception[], [id, , path]: FixedRoute): boolean =>
  exceptions.some(({ isOf }) => isOf(id, path));
/** Operation, method, path as in the OpenAPI document. */
const shown = ([id, method, path]: FixedRoute) =>
  [id, method, path.replace(/:(\w+)(?:\{[^}]*\})?/g, "{$1}")] as const;

const hasMethod = (route: FixedRoute): boolean => !isIn(WITHOUT_METHOD, route);
const hasCommand = (route: FixedRoute): boolean =>
  (route[3] === "admin" || route[3] === "publish") && !isIn(WITHOUT_COMMAND, route);

export const CLIENT_ROUTES = FIXED_ROUTES.filter(hasMethod).map(shown);
/** The routes for operators and publishers that a command calls. */
export const OPERATOR_ROUTES = FIXED_ROUTES.filter(hasCommand).map(shown);
/** The routes whose types `typed/client/api.d.ts` has. */
export const TYPED_ROUTES = FIXED_ROUTES.filter((route) => hasMethod(route) || hasCommand(route)).map(shown);
