/** What the paths of the fixed routes name. */
import { SESSION_ID } from "../engine/session-id.ts";
import { TRANSCRIPT_OPERATIONS } from "../llm/transcript-operations/operations.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { ref, TEXT } from "./openapi-parts.ts";

const SESSION: JsonObject = { type: "string", pattern: SESSION_ID.source };
const SLUG: JsonObject = { type: "string", pattern: "^[a-z0-9]+(-{1,2}[a-z0-9]+)*$" };
const WORKFLOW: JsonObject = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._@-]{0,140}$" };

/** The schemas of parameters, by the path that ends with them; all others are any text. */
const SCHEMAS: { readonly [path: string]: JsonObject } = {
  "/runs/{id}": SESSION,
  "/sessions/{id}": SESSION,
  "/daemons/{id}": SESSION,
  "/tasks/{id}": SESSION,
  "/workflows/runs/{id}": SESSION,
  "/workflows/{name}": WORKFLOW,
  "/workflows/{skill}/{name}": WORKFLOW,
  "/skills/{slug}": SLUG,
  "/_hull/skills/{slug}": SLUG,
  "/_hull/catalog/{slug}": SLUG,
  "/.well-known/agent-skills/{slug}": SLUG,
  "/_hull/bundles/{digest}": ref("schemas", "Digest"),
  "/budgets/{scope}": {
    type: "string",
    pattern: "^(tenant|skill:[a-z0-9]+(-{1,2}[a-z0-9]+)*|session:[A-Za-z0-9._:-]{1,128})$",
  },
  "/llm/rate-limit/{provider}": { type: "string", pattern: "^[a-z0-9][a-z0-9._-]{0,63}$" },
  "/transcripts/{operation}": { type: "string", enum: [...TRANSCRIPT_OPERATIONS.keys()] },
  "/sessions/{id}/files/{path}": {
    type: "string",
    minLength: 1,
    description: "Relative, with `/` between segments.",
  },
};

/** The parameters of a path. */
export const pathParameters = (path: string): JsonObject[] =>
  Array.from(path.matchAll(/\{(\w+)\}/g), ({ 0: { length }, 1: name = "", index }) => ({
    name,
    in: "path",
    required: true,
    schema: SCHEMAS[path.slice(0, index + length)] ?? TEXT,
  }));
