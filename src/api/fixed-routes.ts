/** The routes that Hull serves independently of the skills, for the OpenAPI document. */
import { FIXED_ROUTES, type OperationId } from "../skill/fixed-routes.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { MODES } from "../skill/manifest-fields.ts";
import { CALL_OPERATIONS } from "./call-routes.ts";
import { CONFIG_OPERATIONS } from "./config-routes.ts";
import { DAEMON_OPERATIONS } from "./daemon-routes.ts";
import { MOCK_OPERATIONS } from "./mock-routes.ts";
import { MODEL_OPERATIONS } from "./model-routes.ts";
import { answer, answerHeaders, BINARY, inPath, object, query, ref, TEXT } from "./openapi-parts.ts";
import {
  body,
  cursor,
  json,
  NO_MATCH,
  type Operation,
  render,
  schema,
  slug,
  tagged,
  UNCHANGED,
} from "./operation.ts";
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

const SEES_OTHER = answer("The next page", null, {
  ...answerHeaders(),
  Location: { schema: { type: "string", format: "uri-reference" } },
});
const fields = (...names: string[]): JsonObject => ({
  required: true,
  content: {
    "application/x-www-form-urlencoded": {
      schema: object(Object.fromEntries(names.map((name) => [name, TEXT])), names.slice(1)),
    },
  },
});

const CARD: Operation = {
  tag: "skills",
  summary: "One skill's card; where the skill itself answers GET, the card is only at /skills/{slug}/card",
  parameters: [slug, NO_MATCH],
  answers: { 200: ref("responses", "Card"), 304: UNCHANGED },
  faults: [404],
};

/** `/mcp` refuses a message by an error of JSON-RPC, and a request that it does not read by a problem document. */
const REFUSED_MESSAGE = answer("An error of JSON-RPC, or a problem", {
  ...json(schema("McpMessage")),
  "application/problem+json": { schema: schema("Problem") },
});
const FILE_ANSWERS = {
  200: answer("The file", { "*/*": {} }, tagged()),
  206: answer("A range of the file", { "*/*": {} }, tagged()),
  304: UNCHANGED,
};

/** What each operation takes and answers. */
export const OPERATIONS: { readonly [id in OperationId]: Operation } = {
  index: {
    tag: "operation",
    summary: "The skills and interfaces of this deployment, as a page or as JSON",
    answers: { 200: answer("The index", { "text/html": { schema: TEXT }, ...json(schema("Index")) }) },
  },
  consolePage: {
    tag: "operation",
    summary: "A page of the console, or a file that its pages load",
    parameters: [inPath("path")],
    answers: { 200: answer("The page", { "text/html": { schema: TEXT } }) },
    faults: [400, 404],
  },
  consoleForm: {
    tag: "operation",
    summary: "A form of the console, which a person sends",
    parameters: [inPath("path")],
    body: {
      required: true,
      content: {
        "application/x-www-form-urlencoded": { schema: { type: "object" } },
        "multipart/form-data": { schema: { type: "object" } },
      },
    },
    answers: {
      200: answer("The result", { "text/html": { schema: TEXT } }),
      303: SEES_OTHER,
    },
    faults: [400, 404, 409, 413, 422],
  },
  showSignIn: {
    tag: "operation",
    summary: "A form to sign in with a browser",
    parameters: [query("next", "Path of the next page.", TEXT)],
    answers: { 200: answer("The form", { "text/html": { schema: TEXT } }) },
  },
  signIn: {
    tag: "operation",
    summary: "Signs a browser in with an API key: a cookie represents the key for 12 hours",
    body: fields("key", "next"),
    answers: {
      303: SEES_OTHER,
      401: answer("The key is not known: the form again", { "text/html": { schema: TEXT } }),
    },
    faults: [400, 408, 413, 503],
  },
  signOut: {
    tag: "operation",
    summary: "Signs a browser out",
    body: fields("token"),
    answers: { 303: SEES_OTHER },
    faults: [400, 408, 413],
  },
  healthz: {
    tag: "operation",
    summary: "Whether the Worker runs",
    answers: { 200: answer("It runs", json(schema("Health"))) },
  },
  readyz: {
    tag: "operation",
    summary: "Whether catalog and runner are usable",
    answers: {
      200: answer("Both are", json(schema("Readiness"))),
      503: answer("One is not", json(schema("Readiness")), {
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
        json({
          type: "object",
          properties: { $schema: TEXT, skills: { type: "array", items: { type: "object" } } },
          required: ["$schema", "skills"],
        }),
        tagged(),
      ),
      304: UNCHANGED,
    },
  },
  getDiscoveryArchive: {
    tag: "skills",
    summary: "A skill's folder as a zip: {archive} is its slug and .zip",
    parameters: [inPath("archive"), NO_MATCH, ref("parameters", "range"), ref("parameters", "if-range")],
    answers: FILE_ANSWERS,
    faults: [404, 416],
  },
  getDiscoveryFile: {
    tag: "skills",
    summary: "A file of a skill's folder",
    parameters: [slug, inPath("path"), NO_MATCH, ref("parameters", "range"), ref("parameters", "if-range")],
    answers: FILE_ANSWERS,
    faults: [404, 416],
  },
  docs: {
    tag: "operation",
    summary: "The reference of the API as a page, searchable",
    parameters: [query("q", "Words that must all occur in method, path or summary.", TEXT)],
    answers: { 200: answer("A page", { "text/html": { schema: TEXT } }) },
  },
  docsFile: {
    tag: "operation",
    summary: "`reader`: a page that sends requests; its script or style sheet, or a JSON Schema for editors",
    parameters: [inPath("file"), NO_MATCH],
    answers: {
      200: answer("The file", {
        "text/html": { schema: TEXT },
        "text/javascript": { schema: TEXT },
        "text/css": { schema: TEXT },
        ...json({ type: "object" }),
      }),
      304: answer("Unchanged", null),
    },
    faults: [404],
  },
  listSkills: {
    tag: "skills",
    summary: "The cards of all skills, sorted by slug",
    parameters: [
      query("limit", "Cards per page.", { type: "integer", minimum: 1, maximum: 1000, default: 100 }),
      cursor,
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
    faults: [400],
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
      ref("parameters", "idempotency-key"),
    ],
    body: {
      required: true,
      content: {
        "*/*": { schema: BINARY },
        "multipart/form-data": { schema: { type: "object", properties: { file: BINARY } } },
      },
    },
    answers: {
      201: answer("The file", json(schema("File")), {
        ...answerHeaders(),
        Location: { schema: { type: "string", format: "uri-reference" } },
      }),
    },
    faults: [400, 408, 413, 422],
  },
  getFile: {
    tag: "files",
    summary: "A file that was uploaded, or that a run produced",
    parameters: [inPath("id"), NO_MATCH, ref("parameters", "range"), ref("parameters", "if-range")],
    answers: {
      200: answer("The file", { "*/*": {} }, tagged("content-disposition")),
      206: answer("A range of the file", { "*/*": {} }, tagged("content-disposition")),
      304: UNCHANGED,
    },
    faults: [404, 416],
  },
  deleteFile: {
    tag: "files",
    summary: "Removes a file",
    parameters: [inPath("id")],
    answers: { 204: answer("It is removed", null) },
    faults: [404],
  },
  getExecution: {
    tag: "skills",
    summary: "State and result of an idempotent or asynchronous call",
    parameters: [inPath("id")],
    answers: { 200: answer("The execution", json(schema("Execution"))) },
    faults: [404],
  },
  deleteExecution: {
    tag: "skills",
    summary: "Stops a running execution, removes an ended one",
    parameters: [inPath("id")],
    answers: {
      200: answer("It is stopped", json(schema("Execution"))),
      204: answer("It is removed", null),
    },
    faults: [404],
  },
  getExecutionResult: {
    tag: "skills",
    summary: "The answer itself: waits until the execution has ended",
    parameters: [inPath("id")],
    answers: { 200: answer("The skill's answer", { "*/*": {} }, tagged("content-disposition")) },
    faults: [404, 409, 422, 502, 504],
  },
  getExecutionEvents: {
    tag: "skills",
    summary: "The events so far, then future ones",
    parameters: [inPath("id"), ref("parameters", "last-event-id"), ref("parameters", "after")],
    answers: { 200: answer("Events", { "text/event-stream": { schema: schema("Events") } }) },
    faults: [400, 404],
  },
  listObjects: {
    tag: "publishing",
    summary: "Keys of the stored objects",
    parameters: [cursor],
    answers: { 200: answer("Keys", json(schema("ObjectKeys"))) },
  },
  putObjects: {
    tag: "publishing",
    summary: "Stores a tar of objects named `<kind>/<sha256>`",
    parameters: [inPath("digest", ref("schemas", "Digest"))],
    body: { required: true, content: { "application/x-tar": { schema: BINARY } } },
    answers: { 201: answer("Stored", json(schema("Stored"))) },
    faults: [408, 413, 422],
  },
  getServedCatalog: {
    tag: "publishing",
    summary: "Which catalog is served, and who published it",
    answers: { 200: answer("The catalog", json(schema("ServedCatalog"))) },
    faults: [503],
  },
  publishCatalog: {
    tag: "publishing",
    summary: "Serves this catalog from now on",
    body: body(schema("CatalogRequest")),
    answers: {
      200: answer("It was served already", json(schema("CatalogPointer"))),
      201: answer("It is served now", json(schema("CatalogPointer"))),
    },
    faults: [400, 408, 409, 413, 422],
  },
  getPublishedSkill: {
    tag: "publishing",
    summary: "The served version of a published skill: its digest and its record",
    parameters: [inPath("slug")],
    answers: { 200: answer("The version", json(schema("PublishedSkill"))) },
    faults: [404, 503],
  },
  listKeys: {
    tag: "operation",
    summary: "API keys, without the keys themselves",
    parameters: [
      query("limit", "Keys per page.", { type: "integer", minimum: 1, maximum: 1000, default: 20 }),
      cursor,
      query("tenant", "One tenant's keys only; for the operator.", TEXT),
    ],
    answers: { 200: answer("Keys", json(schema("ApiKeys"))) },
    faults: [400],
  },
  addKey: {
    tag: "operation",
    summary: "Makes an API key; only this answer shows it",
    parameters: [ref("parameters", "idempotency-key")],
    body: body(schema("NewApiKey")),
    answers: { 201: answer("The key", json(schema("ShownApiKey"))) },
    faults: [400, 408, 413, 422, 502],
  },
  revokeKey: {
    tag: "operation",
    summary: "Revokes an API key",
    parameters: [inPath("id")],
    answers: { 204: answer("It is revoked", null) },
    faults: [404],
  },
  mcp: {
    tag: "skills",
    summary: "The skills as tools, prompts and resources of an MCP server (Streamable HTTP, no sessions)",
    parameters: [ref("parameters", "idempotency-key")],
    body: body(schema("McpMessage")),
    answers: {
      200: answer("The response", {
        ...json(schema("McpMessage")),
        "text/event-stream": { schema: TEXT },
      }),
      202: answer("A notification is accepted", null),
      400: REFUSED_MESSAGE,
      404: REFUSED_MESSAGE,
    },
    faults: [406, 408, 413, 415],
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
  const paths: { [path: string]: JsonObject } = {
    "/skills/{slug}": { get: render("getSkill", "invoke", CARD) },
  };
  for (const [id, method, mounted, scope] of FIXED_ROUTES) {
    const path = mounted.replace(/:(\w+)(?:\{[^}]*\})?/g, "{$1}");
    paths[path] = { ...paths[path], [method.toLowerCase()]: render(id, scope, OPERATIONS[id]) };
  }
  return paths;
}
