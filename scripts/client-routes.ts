/** Which routes have a method of `hullrun/client`, and why the others have none. */
import { FIXED_ROUTES, type OperationId } from "../src/skill/fixed-routes.ts";

interface Exception {
  /** Why the client lacks a method. */
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
  below("the command line publishes, and manages keys and logins", "/_hull/", "/admin/"),
  these("tests of skills use them (docs/testing.md)", "queueMocks", "clearMocks", "listMockCalls"),
  these(
    "the operator sets rules and rates once",
    ...(["putCapabilities", "deleteCapabilities", "getRateLimit", "putRateLimit"] as const),
  ),
  these("body and answer depend on a word in the path", "operateOnTranscript", "operateOnWorkflow"),
];

/** The routes of the client: operation, method, path as in the OpenAPI document. */
export const CLIENT_ROUTES = FIXED_ROUTES.filter(
  ([id, , path]) => !WITHOUT_METHOD.some(({ isOf }) => isOf(id, path)),
).map(([id, method, path]) => [id, method, path.replace(/:(\w+)(?:\{[^}]*\})?/g, "{$1}")] as const);
