/** The shapes that Hull's own routes take and give, as JSON Schema 2020-12. */
import { type JsonObject, MODES } from "../manifest.ts";
import { ref, TEXT } from "./parts.ts";
import { problemSchema } from "./problems.ts";

const TEXTS: JsonObject = { type: "array", items: TEXT };
const COUNT: JsonObject = { type: "integer", minimum: 0 };
const DIGEST: JsonObject = { type: "string", pattern: "^[0-9a-f]{64}$" };
const MAYBE_TEXT: JsonObject = { type: ["string", "null"] };

const EXECUTION_ID: JsonObject = { type: "string", pattern: "^ex_[0-9a-f]{32}$" };
const EXECUTION_STATE: JsonObject = { enum: ["running", "done", "error", "cancelled"] };
const KEY_SCOPES: JsonObject = {
  type: "array",
  minItems: 1,
  items: { enum: ["invoke", "publish", "admin"] },
};
const API_KEY: JsonObject = {
  id: TEXT,
  prefix: { type: "string", description: "How the key begins." },
  tenant: TEXT,
  scopes: KEY_SCOPES,
  name: MAYBE_TEXT,
  created_at: { type: "string", format: "date-time" },
};

function object(properties: JsonObject, optional: string[] = []): JsonObject {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", required, properties };
}

/** All of `components/schemas` that does not depend on the skills. */
export function schemaComponents(): JsonObject {
  return {
    Problem: problemSchema(),
    Digest: DIGEST,
    Card: object(
      {
        name: TEXT,
        slug: TEXT,
        description: TEXT,
        mode: { enum: [...MODES] },
        method: TEXT,
        route: TEXT,
        input: { enum: ["text", "file", "none"] },
        output: { enum: ["text", "json", "file"] },
        inputMime: TEXTS,
        outputMime: TEXT,
        tools: TEXTS,
        doc: { type: "string", description: "The skill's body; never that of an llm skill." },
        version: DIGEST,
        stale: { const: true, description: "The folder is broken; its last good version is served." },
      },
      ["inputMime", "outputMime", "tools", "doc", "stale"],
    ),
    Health: object({ status: { const: "ok" }, skills: COUNT, catalog: MAYBE_TEXT }),
    Readiness: object({
      status: { enum: ["ok", "unavailable"] },
      catalog: { type: "string", description: "`ok` or the code of what is wrong" },
      runner: { type: "string", description: "`ok` or the code of what is wrong" },
      skills: COUNT,
    }),
    Index: object({ name: TEXT, skills: COUNT, catalog: TEXT, listing: TEXT }),
    Envelope: {
      type: "object",
      required: ["input"],
      properties: {
        input: { not: { type: "null" }, description: "Text as it stands; another value as compact JSON." },
      },
      additionalProperties: false,
    },
    Files: object({
      note: TEXT,
      files: {
        type: "array",
        items: object(
          {
            filename: TEXT,
            mime: TEXT,
            size: COUNT,
            sha256: DIGEST,
            dataBase64: { type: "string", contentEncoding: "base64" },
            url: { type: "string", format: "uri-reference", description: "`/files/{id}`, for one hour" },
          },
          ["dataBase64", "url"],
        ),
      },
    }),
    Events: {
      type: "string",
      description:
        "Server-sent events: `start`, `delta`, `stderr`, `round`, `tool_call`, `tool_result`, `error`, `done` " +
        "(always last). Each `data` is one JSON object on one line, each `id` is `<execution id>:<seq>`.",
    },
    ObjectKeys: object({ data: TEXTS, next_cursor: MAYBE_TEXT }),
    Stored: object({ digest: DIGEST, stored: TEXTS }),
    CatalogPointer: object(
      {
        id: DIGEST,
        previous: MAYBE_TEXT,
        published_at: { type: "string", format: "date-time" },
        pinned: { ...DIGEST, description: "The catalog that the deployment came with." },
      },
      ["pinned"],
    ),
    CatalogRequest: {
      oneOf: [
        { ...object({ id: ref("schemas", "Digest") }), additionalProperties: false },
        { ...object({ rollback: { const: true } }), additionalProperties: false },
      ],
    },
    ExecutionAccepted: object({ id: EXECUTION_ID, status: EXECUTION_STATE }),
    Execution: object(
      {
        id: EXECUTION_ID,
        skill: TEXT,
        status: EXECUTION_STATE,
        created_at: { type: "string", format: "date-time" },
        finished_at: { type: "string", format: "date-time" },
        result: object(
          {
            status: { type: "integer" },
            content_type: TEXT,
            headers: { type: "object", additionalProperties: TEXT },
            size: COUNT,
            text: TEXT,
            json: {},
            url: { type: "string", format: "uri-reference" },
          },
          ["text", "json", "url"],
        ),
        error: ref("schemas", "Problem"),
      },
      ["finished_at", "result", "error"],
    ),
    NewApiKey: {
      ...object({ tenant: TEXT, scopes: KEY_SCOPES, name: TEXT }, ["name"]),
      additionalProperties: false,
    },
    ApiKey: object(API_KEY),
    ShownApiKey: object({ ...API_KEY, key: { type: "string", description: "Shown this once." } }),
    ApiKeys: object({ data: { type: "array", items: ref("schemas", "ApiKey") }, next_cursor: MAYBE_TEXT }),
  };
}
