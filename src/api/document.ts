/**
 * The OpenAPI 3.1 document of a deployment: made with the catalog, from the fixed routes and the manifests of the
 * served skills. Pure; the same skills give the same bytes.
 */
import type { JsonObject } from "../skill/manifest.ts";
import { fixedPaths } from "./fixed-routes.ts";
import {
  answer,
  answerHeaders,
  header,
  headerComponents,
  LOCATED,
  query,
  ref,
  runHeaders,
  TEXT,
} from "./openapi-parts.ts";
import { problemResponses } from "./problems.ts";
import { schemaComponents } from "./schemas.ts";

const DESCRIPTION =
  "Skills as HTTPS endpoints. HEAD works wherever GET reads and runs no script and no model; OPTIONS answers 204 " +
  "with `Allow`, without a key. Errors are RFC 9457 problem documents. Local development and public deployments " +
  "take runs without a key.";

/**
 * The document of a deployment without skills: the same for every build with this version of Hull. `addSkills` adds
 * those that are served.
 */
export function openapiDocument(version: string): JsonObject {
  return {
    openapi: "3.1.1",
    info: { title: "Hull", version, description: DESCRIPTION },
    jsonSchemaDialect: "https://spec.openapis.org/oas/3.1/dialect/base",
    servers: [{ url: "/" }],
    security: [{ bearer: ["invoke"] }, { apiKey: ["invoke"] }],
    tags: [
      { name: "skills", description: "What is served, and running it" },
      { name: "files", description: "Files that clients upload and runs produce" },
      { name: "models", description: "Which models there are, and what they can do" },
      { name: "sessions", description: "Conversations that are kept, and agent runs in them" },
      { name: "spending", description: "What model calls take, and limits to it" },
      { name: "operation", description: "State of the deployment" },
      { name: "publishing", description: "Bringing skills here" },
    ],
    paths: fixedPaths(),
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key with the scope in question." },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key", description: "The same key." },
      },
      headers: headerComponents(),
      parameters: parameterComponents(),
      responses: { ...problemResponses(), ...responseComponents() },
      requestBodies: {},
      schemas: schemaComponents(),
    },
  };
}

function parameterComponents(): JsonObject {
  return {
    input: query("input", "The skill's input.", TEXT),
    q: query("q", "The same as `input`, which comes first.", TEXT),
    text: query("text", "The same as `input` and `q`, which come first.", TEXT),
    prompt: query("prompt", "The same as `input`, `q` and `text`, which come first.", TEXT),
    "prompt-of-file": query("prompt", "The text, where the body is a file.", TEXT),
    session_id: query("session_id", "The session in which the skill is called.", TEXT),
    file: query("file", "The answer is this file of those that the run made: its path.", TEXT),
    stream: query("stream", "`1`: answer as server-sent events.", { enum: ["0", "1"] }),
    query: {
      name: "query",
      in: "query",
      description: "Goes to the upstream unchanged.",
      style: "form",
      explode: true,
      schema: { type: "object", additionalProperties: TEXT },
    },
    "if-none-match": header("If-None-Match", "Tags that the client has."),
    range: header("Range", "One range, e.g. `bytes=0-99`."),
    "if-range": header("If-Range", "The range only of the version with this tag."),
    "idempotency-key": {
      ...header("Idempotency-Key", "Same key and input within 24 hours: one run, and its answer again."),
      schema: { type: "string", minLength: 1, maxLength: 255 },
    },
    prefer: header("Prefer", "`respond-async`: 202 immediately, the result at `Location`."),
    "x-hull-bot": header("x-hull-bot", "Profile whose configured values the skill's tools get."),
    "last-event-id": header("Last-Event-ID", "Events after this one only."),
    after: query("after", "Events after this number only.", { type: "integer", minimum: 0 }),
  };
}

function responseComponents(): JsonObject {
  const tagged: JsonObject = { ...answerHeaders(), etag: ref("headers", "etag") };
  return {
    Card: answer("The card", { "application/json": { schema: ref("schemas", "Card") } }, tagged),
    NotModified: answer("Unchanged", null, tagged),
    Accepted: answer(
      "The run continues; its state and result are at `Location`",
      { "application/json": { schema: ref("schemas", "ExecutionAccepted") } },
      LOCATED,
    ),
    VendorError: answer(
      "`{type, error: {type, message}, request_id}` for Anthropic's clients, `{error: {message, type, param, code}}` for OpenAI's",
      { "application/json": { schema: { type: "object" } } },
    ),
    Upstream: answer("Whatever the upstream answers", { "*/*": {} }, runHeaders()),
  };
}
