/** The request and response shapes of Hull's own routes, as JSON Schema 2020-12. */

import type * as z from "zod/mini";
import { type ApiKey, SCOPES } from "../auth/api-key.ts";
import { once } from "../memo.ts";
import { objectOf } from "../skill/json.ts";
import { INPUTS, type JsonObject, MODES, OUTPUTS, RISKS, TIERS } from "../skill/manifest.ts";
import { catalogBody, keyBody } from "./bodies/publishing.ts";
import { callSchemas } from "./call-routes.ts";
import { configSchemas } from "./config-routes.ts";
import { daemonSchemas } from "./daemon-routes.ts";
import { eventSchemas } from "./events.ts";
import { mockSchemas } from "./mock-routes.ts";
import { modelSchemas } from "./model-routes.ts";
import {
  COUNT,
  FILE_IDS,
  MAYBE_TEXT,
  type Members,
  object,
  pageOf,
  ref,
  TEXT,
  view,
} from "./openapi-parts.ts";
import { optionSchemas } from "./options.ts";
import { problemSchema } from "./problems.ts";
import { sessionFileSchemas } from "./session-file-routes.ts";
import { sessionSchemas } from "./session-schemas.ts";
import { schemaOf } from "./shape-schema.ts";
import { spendingSchemas } from "./spending-schemas.ts";
import { taskSchemas } from "./task-routes.ts";
import { transcriptSchemas } from "./transcript-routes.ts";
import { workflowSchemas } from "./workflow-routes.ts";

const TEXTS: JsonObject = { type: "array", items: TEXT };
const DIGEST: JsonObject = { type: "string", pattern: "^[0-9a-f]{64}$" };

const EXECUTION_ID: JsonObject = { type: "string", pattern: "^ex_[0-9a-f]{32}$" };
const EXECUTION_STATE: JsonObject = { enum: ["running", "done", "error", "cancelled"] };
const API_KEY: Members<ApiKey> = {
  id: TEXT,
  prefix: { type: "string", description: "How the key begins." },
  tenant: TEXT,
  scopes: { type: "array", minItems: 1, items: { enum: [...SCOPES] } },
  name: MAYBE_TEXT,
  created_at: { type: "string", format: "date-time" },
  last_used_at: { type: ["string", "null"], format: "date-time", description: "Up to an hour too early." },
};

/** The schema of a shape of whose members a request has exactly one. */
function withOneMember(shape: z.core.$ZodType): JsonObject {
  const { properties, ...rest } = schemaOf(shape);
  const members = Object.entries(objectOf(properties));
  return {
    oneOf: members.map(([name, member]) => ({ ...rest, required: [name], properties: { [name]: member } })),
  };
}

function uploadSchemas(): JsonObject {
  const time: JsonObject = { type: "string", format: "date-time" };
  const upload: JsonObject = {
    slug: TEXT,
    tenant: TEXT,
    digest: DIGEST,
    created_at: time,
    updated_at: time,
    shadowed_by: {
      description:
        "The published skill that has its slug or route; as long as there is one it is not served.",
      oneOf: [object({ slug: TEXT, route: TEXT }), { type: "null" }],
    },
    card: ref("schemas", "Card"),
  };
  const text = (...names: string[]): JsonObject => Object.fromEntries(names.map((name) => [name, TEXT]));
  const place: JsonObject = { line: COUNT, column: COUNT, ...text("field", "value", "hint") };
  const found: JsonObject = { level: { enum: ["error", "warning", "info"] }, ...text("code", "message") };
  return {
    Diagnostic: object({ ...found, ...text("skill", "file"), ...place }, Object.keys(place)),
    Upload: object(upload),
    UploadResult: object({ ...upload, warnings: { type: "array", items: ref("schemas", "Diagnostic") } }),
    Uploads: pageOf(ref("schemas", "Upload")),
    Versions: pageOf(
      object({
        digest: DIGEST,
        published_at: { type: ["string", "null"], format: "date-time" },
        current: { type: "boolean" },
      }),
    ),
  };
}

/** All of `components/schemas` that do not depend on the skills. */
export const schemaComponents = once(
  (): JsonObject => ({
    ...uploadSchemas(),
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
        input: { enum: [...INPUTS] },
        output: { enum: [...OUTPUTS] },
        inputMime: TEXTS,
        outputMime: TEXT,
        tools: TEXTS,
        doc: { type: "string", description: "The skill's body; never that of an llm skill." },
        version: DIGEST,
        stale: {
          const: true,
          description: "The folder is broken, so Hull serves its last good version. `diagnostics` say why.",
        },
        uploaded: {
          const: true,
          description: "A tenant uploaded it, and Hull serves it to that tenant only.",
        },
        daemon: { const: true, description: "It declares a daemon." },
        signer: { ...DIGEST, description: "Fingerprint of the key that signed it." },
        workflows: {
          type: "array",
          items: object({ name: TEXT, digest: TEXT }),
          description: "Its workflows, executed as `<slug>/<name>`.",
        },
        workspaceTools: {
          const: true,
          description: "Runs with it have tools to read and write files and to run commands.",
        },
        namespace: { type: "string", description: "The author's folder or the plugin of the skill." },
        input_schema: {
          type: "object",
          description: "JSON Schema of the input, if the skill declares one; not in listings.",
        },
        signature: {
          ...object({ signer: DIGEST, trusted: { type: "boolean" } }),
          description: "Whether the deployment trusts who signed it; not in listings.",
        },
        diagnostics: {
          type: "array",
          items: ref("schemas", "Diagnostic"),
          description: "What the build found wrong with it; for keys that may publish, and not in listings.",
        },
        tool_details: {
          type: "array",
          items: ref("schemas", "ToolDetails"),
          description: "The tools of its tools.json; for keys that may publish, and not in listings.",
        },
        files: {
          type: "array",
          items: object({ path: TEXT, size: COUNT }),
          description: "The files of its folder; for keys that may publish, and not in listings.",
        },
      },
      [
        "inputMime",
        "outputMime",
        "tools",
        "doc",
        "stale",
        "uploaded",
        "daemon",
        "signer",
        "workflows",
        "workspaceTools",
        "namespace",
        "input_schema",
        "signature",
        "diagnostics",
        "tool_details",
        "files",
      ],
    ),
    ToolDetails: object(
      {
        name: TEXT,
        description: TEXT,
        parameters: { type: "object", description: "JSON Schema of its arguments." },
        tier: { enum: [...TIERS] },
        tier_reason: { type: "string", description: "Why the build chose the tier, for people." },
        risk: { enum: [...RISKS] },
        hidden: {
          type: "boolean",
          description: "Whether `tools` leaves it out. Models may call it in any case.",
        },
        script: { type: "string", description: "Its handler in the skill's folder." },
        overrides: {
          ...TEXTS,
          description: "Earlier skills that have a tool of this name, which this one replaces.",
        },
      },
      ["tier_reason", "script", "overrides"],
    ),
    McpMessage: {
      description: "A message of MCP: JSON-RPC 2.0. Up to 2025-03-26 also a list of them.",
      type: ["object", "array"],
    },
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
        input: { not: { type: "null" }, description: "Text unchanged; another value as compact JSON." },
        files: FILE_IDS,
      },
      additionalProperties: false,
    },
    FileNames: {
      ...object({ files: { ...FILE_IDS, minItems: 1 } }),
      additionalProperties: false,
    },
    File: object({
      id: { type: "string", pattern: "^file_[0-9a-f]{32}$" },
      filename: MAYBE_TEXT,
      mime: TEXT,
      size: COUNT,
      sha256: DIGEST,
      created_at: { type: "string", format: "date-time" },
      expires_at: { type: "string", format: "date-time" },
    }),
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
    ObjectKeys: pageOf(TEXT),
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
    ExecutionAccepted: object(
      { id: EXECUTION_ID, run_id: TEXT, session_id: { type: "null" }, status: EXECUTION_STATE },
      ["run_id", "session_id"],
    ),
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
    CatalogRequest: withOneMember(catalogBody),
    NewApiKey: schemaOf(keyBody),
    ApiKey: view<ApiKey>()(API_KEY, {}),
    ShownApiKey: object({ ...API_KEY, key: { type: "string", description: "Shown this once." } }),
    ApiKeys: pageOf(ref("schemas", "ApiKey")),
    ...eventSchemas(),
    ...optionSchemas(),
    ...callSchemas(),
    ...transcriptSchemas(),
    ...modelSchemas(),
    ...sessionSchemas(),
    ...daemonSchemas(),
    ...taskSchemas(),
    ...workflowSchemas(),
    ...configSchemas(),
    ...sessionFileSchemas(),
    ...spendingSchemas(),
    ...mockSchemas(),
  }),
);
