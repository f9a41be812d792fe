/** The routes that Hull serves independently of the skills, for the OpenAPI document. */
import { FIXED_ROUTES, type OperationId } from "../skill/fixed-routes.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { MODES } from "../skill/manifest-fields.ts";
import { CALL_OPERATIONS } from "./call-routes.ts";
import { CONFIG_OPERATIONS } from "./config-routes.ts";
import { DAEMON_OPERATIONS } from "./daemon-routes.ts";
import { MOCK_OPERATIONS } from "./mock-routes.ts";
import { MODEL_OPERATIONS } from "./model-routes.ts";
import {
  answer,
  answerHeaders,
  BINARY,
  LOCATED,
  OBJECTS,
  object,
  query,
  ref,
  TEXT,
} from "./openapi-parts.ts";
import {
  body,
  CURSOR,
  fileAnswers,
  follows,
  json,
  KEY,
  lists,
  NO_MATCH,
  type Operation,
  paged,
  RANGED,
  reads,
  removes,
  render,
  schema,
  tagged,
  UNCHANGED,
} from "./operation.ts";
import { pathParameters } from "./path-parameters.ts";
import { SESSION_FILE_OPERATIONS } from "./session-file-routes.ts";
import { SESSION_OPERATIONS } from "./session-routes.ts";
import { SPENDING } from "./spending-routes.ts";
import { TASK_OPERATIONS } from "./task-routes.ts";
import { TRANSCRIPT_OPERATIONS } from "./transcript-routes.ts";
import { UPLOAD_OPERATIONS } from "./upload-routes.ts";
import { V1_MODEL_OPERATIONS } from "./v1-model-routes.ts";
import { V1_RESPONSE_OPERATIONS } from "./v1-response-routes.ts";
import { V1_OPERATIONS } from "./v1-routes.ts";
import { WORKFLOW_OPERATIONS } from "./workflow-routes.ts";

const SEES_OTHER = answer("The next page", null, LOCATED);
const HTML = { "text/html": { schema: TEXT } };
const fields = (...names: string[]): JsonObject => ({
  required: true,
  content: {
    "application/x-www-form-urlencoded": {
      schema: object(Object.fromEntries(names.map((name) => [name, TEXT])), names.slice(1)),
    },
  },
});

/** A page for people. @param outcome what it is */
const page = (summary: string, outcome: string, more: Partial<Operation> = {}): Operation => ({
  tag: "operation",
  summary,
  answers: { 200: answer(outcome, HTML) },
  ...more,
});

const CARD: Operation = {
  tag: "skills",
  summary: "One skill's card; where the skill itself answers GET, the card is only at /skills/{slug}/card",
  parameters: [NO_MATCH],
  answers: { 200: ref("responses", "Card"), 304: UNCHANGED },
};

/** `/mcp` refuses a message by an error of JSON-RPC, and a request that it does not read by a problem document. */
const REFUSED_MESSAGE = answer("An error of JSON-RPC, or a problem", {
  ...json("McpMessage"),
  "application/problem+json": { schema: schema("Problem") },
});

/** What each operation takes and answers. */
export const OPERATIONS: { readonly [id in OperationId]: Operation } = {
  index: {
    tag: "operation",
    summary: "The skills and interfaces of this deployment, as a page or as JSON",
    answers: { 200: answer("The index", { ...HTML, ...json("Index") }) },
  },
  consolePage: page("A page of the console, or a file that its pages load", "The page", {
    faults: [400],
  }),
  consoleForm: {
    tag: "operation",
    summary: "A form of the console, which a person sends",
    body: {
      required: true,
      content: {
        "application/x-www-form-urlencoded": { schema: { type: "object" } },
        "multipart/form-data": { schema: { type: "object" } },
      },
    },
    answers: { 200: answer("The result", HTML), 303: SEES_OTHER },
    faults: [409],
    never: [408],
  },
  showSignIn: page("A form to sign in with a browser", "The form", {
    parameters: [query("next", "Path of the next page.", TEXT)],
    never: [400],
  }),
  signIn: {
    tag: "operation",
    summary: "Signs a browser in with an API key: a cookie represents the key for 12 hours",
    body: fields("key", "next"),
    answers: { 303: SEES_OTHER, 401: answer("The key is not known: the form again", HTML) },
    faults: [503],
    never: [422],
  },
  signOut: {
    tag: "operation",
    summary: "Signs a browser out",
    body: fields("token"),
    answers: { 303: SEES_OTHER },
    never: [422],
  },
  healthz: reads("operation", "Whether the Worker runs", "Health", { outcome: "It runs" }),
  readyz: {
    tag: "operation",
    summary: "Whether catalog, database and runner are usable",
    answers: {
      200: answer("All are", json("Readiness")),
      503: answer("One is not", json("Readiness"), {
        ...answerHeaders(),
        "Retry-After": ref("headers", "retry-after"),
      }),
    },
  },
  metrics: {
    tag: "operation",
    summary: "Counters of the answering isolate, in Prometheus' text format",
    answers: { 200: answer("The counters", { "text/plain": { schema: TEXT } }) },
  },
  openapi: {
    tag: "operation",
    summary: "The OpenAPI document",
    parameters: [NO_MATCH],
    answers: { 200: answer("OpenAPI 3.1", json({ type: "object" }), tagged()), 304: UNCHANGED },
    faults: [404],
  },
  getLlmsText: {
    tag: "skills",
    summary: "The skills and interfaces of this deployment, as text for models",
    answers: { 200: answer("Markdown, as llmstxt.org has it", { "text/plain": { schema: TEXT } }) },
  },
  getDiscoveryIndex: {
    tag: "skills",
    summary: "The skills whose files the caller may download, with digests",
    parameters: [NO_MATCH],
    answers: {
      200: answer(
        "The index of the Agent Skills Discovery RFC, version 0.2.0",
        json(object({ $schema: TEXT, skills: OBJECTS })),
        tagged(),
      ),
      304: UNCHANGED,
    },
  },
  getDiscoveryArchive: {
    tag: "skills",
    summary: "A skill's folder as a zip: {archive} is its slug and .zip",
    parameters: RANGED,
    answers: fileAnswers(),
    faults: [416],
  },
  getDiscoveryFile: {
    tag: "skills",
    summary: "A file of a skill's folder",
    parameters: RANGED,
    answers: fileAnswers(),
    faults: [416],
  },
  docs: page("The reference of the API as a page, searchable", "A page", {
    parameters: [query("q", "Words that must all occur in method, path or summary.", TEXT)],
    never: [400],
  }),
  docsFile: {
    tag: "operation",
    summary: "`reader`: a page that sends requests; its script or style sheet, or a JSON Schema for editors",
    parameters: [NO_MATCH],
    answers: {
      200: answer("The file", {
        ...HTML,
        "text/javascript": { schema: TEXT },
        "text/css": { schema: TEXT },
        ...json({ type: "object" }),
      }),
      304: answer("Unchanged", null),
    },
  },
  listSkills: {
    tag: "skills",
    summary: "The cards of all skills, sorted by slug",
    parameters: [
      ...paged(100),
      query("q", "Words that must all occur in name, slug, description or tool names.", TEXT),
      query("mode", "Only skills of this mode.", { enum: [...MODES] }),
      NO_MATCH,
    ],
    answers: {
      200: answer("Cards", json({ type: "array", items: schema("Card") }), {
        ...tagged(),
        "x-total-count": { description: "Cards on all pages.", schema: { type: "integer" } },
        Link: { description: '`rel="next"` where there is more.', schema: TEXT },
      }),
      304: UNCHANGED,
    },
  },
  getCard: { ...CARD, summary: "One skill's card" },
  uploadFile: {
    tag: "files",
    summary: "Stores a file for 24 hours: the body, or the one file of a form",
    parameters: [
      query("filename", "The file's name; it wins over every other name in the request.", {
        type: "string",
        maxLength: 255,
      }),
      KEY,
    ],
    body: {
      required: true,
      content: {
        "*/*": { schema: BINARY },
        "multipart/form-data": { schema: { type: "object", properties: { file: BINARY } } },
      },
    },
    answers: { 201: answer("The file", json("File"), LOCATED) },
  },
  getFile: {
    tag: "files",
    summary: "A file that was uploaded, or that a run produced",
    parameters: RANGED,
    answers: fileAnswers("content-disposition"),
    faults: [416],
  },
  deleteFile: removes("files", "Removes a file"),
  getExecution: reads("skills", "State and result of an idempotent or asynchronous call", "Execution", {
    outcome: "The execution",
  }),
  deleteExecution: {
    tag: "skills",
    summary: "Stops a running execution, removes an ended one",
    answers: { 200: answer("It is stopped", json("Execution")), 204: answer("It is removed", null) },
  },
  getExecutionResult: {
    tag: "skills",
    summary: "The answer itself: waits until the execution has ended",
    answers: { 200: answer("The skill's answer", { "*/*": {} }, tagged("content-disposition")) },
    faults: [409, 422, 502, 504],
  },
  getExecutionEvents: follows("skills", "The events so far, then future ones"),
  listObjects: reads("publishing", "Keys of the stored objects", "ObjectKeys", {
    outcome: "Keys",
    parameters: [CURSOR],
    never: [400],
  }),
  putObjects: {
    tag: "publishing",
    summary: "Stores a tar of objects named `<kind>/<sha256>`",
    body: { required: true, content: { "application/x-tar": { schema: BINARY } } },
    answers: { 201: answer("Stored", json("Stored")) },
    never: [400, 404],
  },
  getServedCatalog: reads("publishing", "Which catalog is served, and who published it", "ServedCatalog", {
    outcome: "The catalog",
    faults: [503],
  }),
  publishCatalog: {
    tag: "publishing",
    summary: "Serves this catalog from now on",
    body: body("CatalogRequest"),
    answers: {
      200: answer("It was served already", json("CatalogPointer")),
      201: answer("It is served now", json("CatalogPointer")),
    },
    faults: [409],
  },
  getPublishedSkill: reads(
    "publishing",
    "The served version of a published skill: its digest and its record",
    "PublishedSkill",
    { outcome: "The version" },
  ),
  listKeys: lists("operation", "API keys, without the keys themselves", "ApiKeys", {
    parameters: [query("tenant", "One tenant's keys only; for the operator.", TEXT)],
  }),
  addKey: {
    tag: "operation",
    summary: "Makes an API key; only this answer shows it",
    parameters: [KEY],
    body: body("NewApiKey"),
    answers: { 201: answer("The key", json("ShownApiKey")) },
    faults: [502],
  },
  revokeKey: removes("operation", "Revokes an API key", { outcome: "It is revoked" }),
  listMcpServers: reads(
    "operation",
    "The MCP servers of hull.toml, and whether they need a login",
    "McpServers",
  ),
  beginMcpLogin: {
    tag: "operation",
    summary: "Begins a login at an MCP server; for the operator",
    body: body("McpLoginBegin"),
    answers: { 200: answer("Where a person permits the access", json("McpLoginBegun")) },
    faults: [400, 404, 502],
  },
  finishMcpLogin: {
    tag: "operation",
    summary: "Stores the login that a person permitted; for the operator",
    body: body("McpLoginAnswer"),
    answers: { 200: answer("The server", json("McpServerEntry")) },
    faults: [400, 404, 502],
  },
  endMcpLogin: removes("operation", "Forgets the login at an MCP server, and revokes it; for the operator", {
    outcome: "There is no login",
    faults: [400],
  }),
  mcp: {
    tag: "skills",
    summary: "The skills as tools, prompts and resources of an MCP server (Streamable HTTP, no sessions)",
    parameters: [KEY],
    body: body("McpMessage"),
    answers: {
      200: answer("The response", {
        ...json("McpMessage"),
        "text/event-stream": { schema: TEXT },
      }),
      202: answer("A notification is accepted", null),
      400: REFUSED_MESSAGE,
      404: REFUSED_MESSAGE,
    },
    faults: [406],
    never: [422],
  },
  ...CONFIG_OPERATIONS,
  ...CALL_OPERATIONS,
  ...MODEL_OPERATIONS,
  ...SPENDING,
  ...MOCK_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...DAEMON_OPERATIONS,
  ...TASK_OPERATIONS,
  ...SESSION_FILE_OPERATIONS,
  ...TRANSCRIPT_OPERATIONS,
  ...WORKFLOW_OPERATIONS,
  ...UPLOAD_OPERATIONS,
  ...V1_MODEL_OPERATIONS,
  ...V1_RESPONSE_OPERATIONS,
  ...V1_OPERATIONS,
};

/** Path Items of all fixed routes. */
export function fixedPaths(): JsonObject {
  const paths: { [path: string]: JsonObject } = {};
  const add = (
    path: string,
    method: string,
    mode: "keyed" | undefined,
    ...[id, scope, operation]: Parameters<typeof render>
  ): void => {
    const keyed = mode === "keyed" ? [KEY] : [];
    const parameters = [...pathParameters(path), ...keyed, ...(operation.parameters ?? [])];
    const whole = parameters.length === 0 ? operation : { ...operation, parameters };
    paths[path] = { ...paths[path], [method.toLowerCase()]: render(id, scope, whole) };
  };
  add("/skills/{slug}", "GET", undefined, "getSkill", "invoke", CARD);
  for (const [id, method, mounted, scope, , mode] of FIXED_ROUTES) {
    add(mounted.replace(/:(\w+)(?:\{[^}]*\})?/g, "{$1}"), method, mode, id, scope, OPERATIONS[id]);
  }
  return paths;
}
