/** The routes that Hull serves whatever the skills are. A test compares them with those that are mounted. */
import { type JsonObject, MODES } from "../manifest.ts";
import { CALL_OPERATIONS } from "./call-routes.ts";
import { CONFIG_OPERATIONS } from "./config-routes.ts";
import { DAEMON_OPERATIONS } from "./daemon-routes.ts";
import { MOCK_OPERATIONS } from "./mock-routes.ts";
import { MODEL_OPERATIONS } from "./model-routes.ts";
import {
  cursor,
  json,
  NO_MATCH,
  type Operation,
  type Operations,
  render,
  schema,
  slug,
  tagged,
  UNCHANGED,
} from "./operation.ts";
import { answer, answerHeaders, BINARY, inPath, query, ref, TEXT } from "./parts.ts";
import { SESSION_FILE_OPERATIONS } from "./session-file-routes.ts";
import { SESSION_OPERATIONS } from "./session-routes.ts";
import { SPENDING } from "./spending-routes.ts";
import { TRANSCRIPT_OPERATIONS } from "./transcript-routes.ts";
import { UPLOAD_OPERATIONS } from "./upload-routes.ts";
import { V1_MODEL_OPERATIONS } from "./v1-model-routes.ts";
import { V1_OPERATIONS } from "./v1-routes.ts";

const CARD: Operation = {
  id: "getSkill",
  tag: "skills",
  summary: "One skill's card; where the skill itself answers GET, the card is only at /skills/{slug}/card",
  scope: "invoke",
  parameters: [slug, NO_MATCH],
  answers: { 200: ref("responses", "Card"), 304: UNCHANGED },
  faults: [404],
};

const OPERATIONS: Operations = {
  "/": {
    get: {
      id: "index",
      tag: "operation",
      summary: "What is served here, as a page or as JSON",
      scope: "invoke",
      answers: { 200: answer("The index", { "text/html": { schema: TEXT }, ...json(schema("Index")) }) },
    },
  },
  "/healthz": {
    get: {
      id: "healthz",
      tag: "operation",
      summary: "Whether the Worker runs",
      scope: "open",
      answers: { 200: answer("It runs", json(schema("Health"))) },
    },
  },
  "/readyz": {
    get: {
      id: "readyz",
      tag: "operation",
      summary: "Whether catalog and runner are usable",
      scope: "open",
      answers: {
        200: answer("Both are", json(schema("Readiness"))),
        503: answer("One is not", json(schema("Readiness")), {
          ...answerHeaders(),
          "Retry-After": ref("headers", "retry-after"),
        }),
      },
    },
  },
  "/metrics": {
    get: {
      id: "metrics",
      tag: "operation",
      summary: "Counters of the answering isolate, in Prometheus' text format",
      scope: "admin",
      answers: { 200: answer("The counters", { "text/plain": { schema: TEXT } }) },
    },
  },
  "/openapi.json": {
    get: {
      id: "openapi",
      tag: "operation",
      summary: "This document",
      scope: "invoke",
      parameters: [NO_MATCH],
      answers: { 200: answer("OpenAPI 3.1", json({ type: "object" }), tagged()), 304: UNCHANGED },
      faults: [404],
    },
  },
  "/docs": {
    get: {
      id: "docs",
      tag: "operation",
      summary: "A reader of this document",
      scope: "invoke",
      answers: { 200: answer("A page", { "text/html": { schema: TEXT } }) },
    },
  },
  "/docs/{file}": {
    get: {
      id: "docsFile",
      tag: "operation",
      summary: "A script or style sheet of the reader",
      scope: "invoke",
      parameters: [inPath("file"), NO_MATCH],
      answers: {
        200: answer("The file", { "text/javascript": { schema: TEXT }, "text/css": { schema: TEXT } }),
        304: answer("Unchanged", null),
      },
      faults: [404],
    },
  },
  "/skills": {
    get: {
      id: "listSkills",
      tag: "skills",
      summary: "The cards of all skills, sorted by slug",
      scope: "invoke",
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
  },
  "/skills/{slug}": { get: CARD },
  "/skills/{slug}/card": { get: { ...CARD, id: "getCard", summary: "One skill's card" } },
  "/files": {
    post: {
      id: "uploadFile",
      tag: "files",
      summary: "Stores a file for 24 hours: the body, or the one file of a form",
      scope: "invoke",
      parameters: [
        query("filename", "The file's name, before any other.", { type: "string", maxLength: 255 }),
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
  },
  "/files/{id}": {
    get: {
      id: "getFile",
      tag: "files",
      summary: "A file that was uploaded, or that a run produced",
      scope: "invoke",
      parameters: [inPath("id"), NO_MATCH, ref("parameters", "range"), ref("parameters", "if-range")],
      answers: {
        200: answer("The file", { "*/*": {} }, tagged("content-disposition")),
        206: answer("A range of the file", { "*/*": {} }, tagged("content-disposition")),
        304: UNCHANGED,
      },
      faults: [404, 416],
    },
    delete: {
      id: "deleteFile",
      tag: "files",
      summary: "Removes a file",
      scope: "invoke",
      parameters: [inPath("id")],
      answers: { 204: answer("It is removed", null) },
      faults: [404],
    },
  },
  "/executions/{id}": {
    get: {
      id: "getExecution",
      tag: "skills",
      summary: "State and result of an idempotent or asynchronous call",
      scope: "invoke",
      parameters: [inPath("id")],
      answers: { 200: answer("The execution", json(schema("Execution"))) },
      faults: [404],
    },
    delete: {
      id: "deleteExecution",
      tag: "skills",
      summary: "Stops an execution that runs, removes one that has ended",
      scope: "invoke",
      parameters: [inPath("id")],
      answers: {
        200: answer("It is stopped", json(schema("Execution"))),
        204: answer("It is removed", null),
      },
      faults: [404],
    },
  },
  "/executions/{id}/result": {
    get: {
      id: "getExecutionResult",
      tag: "skills",
      summary: "The answer itself, when the execution has ended",
      scope: "invoke",
      parameters: [inPath("id")],
      answers: { 200: answer("The skill's answer", { "*/*": {} }, tagged("content-disposition")) },
      faults: [404, 409, 422, 502, 504],
    },
  },
  "/executions/{id}/events": {
    get: {
      id: "getExecutionEvents",
      tag: "skills",
      summary: "The events so far, then those to come",
      scope: "invoke",
      parameters: [inPath("id"), ref("parameters", "last-event-id"), ref("parameters", "after")],
      answers: { 200: answer("Events", { "text/event-stream": { schema: schema("Events") } }) },
      faults: [400, 404],
    },
  },
  "/_hull/bundles": {
    get: {
      id: "listObjects",
      tag: "publishing",
      summary: "Keys of the stored objects",
      scope: "publish",
      parameters: [cursor],
      answers: { 200: answer("Keys", json(schema("ObjectKeys"))) },
    },
  },
  "/_hull/bundles/{digest}": {
    put: {
      id: "putObjects",
      tag: "publishing",
      summary: "Stores a tar of objects named <kind>/<sha256>",
      scope: "publish",
      parameters: [inPath("digest", ref("schemas", "Digest"))],
      body: { required: true, content: { "application/x-tar": { schema: BINARY } } },
      answers: { 201: answer("Stored", json(schema("Stored"))) },
      faults: [408, 413, 422],
    },
  },
  "/_hull/catalog": {
    post: {
      id: "publishCatalog",
      tag: "publishing",
      summary: "Serves this catalog from now on",
      scope: "publish",
      body: { required: true, content: json(schema("CatalogRequest")) },
      answers: {
        200: answer("It was served already", json(schema("CatalogPointer"))),
        201: answer("It is served now", json(schema("CatalogPointer"))),
      },
      faults: [400, 408, 413, 422],
    },
  },
  "/admin/keys": {
    get: {
      id: "listKeys",
      tag: "operation",
      summary: "API keys, without the keys themselves",
      scope: "admin",
      parameters: [
        query("limit", "Keys per page.", { type: "integer", minimum: 1, maximum: 1000, default: 20 }),
        cursor,
        query("tenant", "One tenant's keys only; for the operator.", TEXT),
      ],
      answers: { 200: answer("Keys", json(schema("ApiKeys"))) },
      faults: [400],
    },
    post: {
      id: "addKey",
      tag: "operation",
      summary: "Makes an API key, which is shown this once",
      scope: "admin",
      body: { required: true, content: json(schema("NewApiKey")) },
      answers: { 201: answer("The key", json(schema("ShownApiKey"))) },
      faults: [400, 408, 413, 422],
    },
  },
  "/admin/keys/{id}": {
    delete: {
      id: "revokeKey",
      tag: "operation",
      summary: "Revokes an API key",
      scope: "admin",
      parameters: [inPath("id")],
      answers: { 204: answer("It is revoked", null) },
      faults: [404],
    },
  },
  "/mcp": {
    post: {
      id: "mcp",
      tag: "skills",
      summary: "The skills as tools, prompts and resources of an MCP server (Streamable HTTP, no sessions)",
      scope: "invoke",
      parameters: [ref("parameters", "idempotency-key")],
      body: { required: true, content: json(schema("McpMessage")) },
      answers: {
        200: answer("The response", {
          ...json(schema("McpMessage")),
          "text/event-stream": { schema: TEXT },
        }),
        202: answer("A notification is accepted", null),
      },
      faults: [400, 404, 406, 408, 413, 415],
    },
  },
  ...CONFIG_OPERATIONS,
  ...CALL_OPERATIONS,
  ...MODEL_OPERATIONS,
  ...SPENDING,
  ...MOCK_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...DAEMON_OPERATIONS,
  ...SESSION_FILE_OPERATIONS,
  ...TRANSCRIPT_OPERATIONS,
  ...V1_MODEL_OPERATIONS,
};

/** Path Items of all fixed routes. */
export function fixedPaths(): JsonObject {
  return Object.fromEntries(
    Object.entries({ ...OPERATIONS, ...UPLOAD_OPERATIONS, ...V1_OPERATIONS }).map(([path, methods]) => [
      path,
      Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, render(operation)])),
    ]),
  );
}
