/** The request and response shapes of Hull's own routes, as JSON Schema 2020-12. */

import * as z from "zod/mini";
import { keyRowShape, SCOPES } from "../auth/api-key.ts";
import { once } from "../memo.ts";
import { mcpServerShape, servedCatalogShape, versionShape } from "../registry/answers.ts";
import { fileShape, textWithFiles } from "../run/answers.ts";
import { producedFile } from "../run/files-document.ts";
import { objectOf } from "../skill/json.ts";
import { card, catalogPointer, diagnostic, type JsonObject } from "../skill/manifest.ts";
import { INPUTS, OUTPUTS } from "../skill/manifest-fields.ts";
import {
  cardDetails,
  executionAccepted,
  executionShape,
  toolDetails,
  uploadResult,
  uploadShape,
} from "./answers/skills.ts";
import { catalogBody, keyBody, loginAnswerBody, loginBody } from "./bodies/publishing.ts";
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
  MAYBE_TIME,
  object,
  pageOf,
  ref,
  TEXT,
  TEXTS,
  TIME,
} from "./openapi-parts.ts";
import { optionSchemas } from "./options.ts";
import { problemSchema } from "./problems.ts";
import { sessionFileSchemas } from "./session-file-routes.ts";
import { sessionSchemas } from "./session-routes.ts";
import { bodySchema, schemaOf, schemasOf } from "./shape-schema.ts";
import { spendingSchemas } from "./spending-routes.ts";
import { taskSchemas } from "./task-routes.ts";
import { transcriptSchemas } from "./transcript-routes.ts";
import { workflowSchemas } from "./workflow-routes.ts";

const DIGEST: JsonObject = { type: "string", pattern: "^[0-9a-f]{64}$" };

/** The schema of a publish or a rollback, which JSON Schema can tell apart. */
function catalogRequest(): JsonObject {
  const { properties, ...rest } = schemaOf(catalogBody);
  const { base = {}, ...members } = objectOf(properties);
  const about = "The catalog that must still be served, else 409; `null`: no catalog may be.";
  const stated = { ...objectOf(base), description: about };
  return {
    oneOf: Object.entries(members).map(([name, member]) => ({
      ...rest,
      required: [name],
      properties: { [name]: member, base: stated },
    })),
  };
}

/** All of `components/schemas` that do not depend on the skills. */
export const schemaComponents = once(
  (): JsonObject => ({
    ...schemasOf({
      ToolDetails: toolDetails,
      Upload: uploadShape,
      UploadResult: uploadResult,
      File: fileShape,
      TextWithFiles: textWithFiles,
      ExecutionAccepted: executionAccepted,
      Execution: executionShape,
    }),
    Diagnostic: bodySchema(diagnostic(), { line: COUNT, column: COUNT }),
    Uploads: pageOf(ref("schemas", "Upload")),
    Versions: pageOf(schemaOf(versionShape)),
    Problem: problemSchema(),
    Digest: DIGEST,
    Card: bodySchema(z.extend(card(), cardDetails.shape), {
      input: { enum: [...INPUTS] },
      output: { enum: [...OUTPUTS] },
      stale: {
        description: "The folder is broken, so Hull serves its last good version. `diagnostics` say why.",
      },
      uploaded: { description: "A tenant uploaded it, and Hull serves it to that tenant only." },
      daemon: { description: "It declares a daemon." },
      agent: { description: "It is an agent: runs hand work to it, and no model loads it." },
      signer: { description: "Fingerprint of the key that signed it." },
      workflows: { description: "Its workflows, executed as `<slug>/<name>`." },
      workspaceTools: {
        description:
          "Runs with it have tools to read and write files and to run commands, unless hull.toml says otherwise; those of an uploaded skill only if `HULL_GRANTS` gives it `workspace_tools`.",
      },
      namespace: { description: "The author's folder or the plugin of the skill." },
    }),
    McpMessage: {
      description: "A message of MCP: JSON-RPC 2.0. Up to 2025-03-26 also a list of them.",
      type: ["object", "array"],
    },
    Health: object({ status: { const: "ok" }, skills: COUNT, catalog: MAYBE_TEXT }),
    Readiness: object(
      {
        status: { enum: ["ok", "unavailable"] },
        catalog: { type: "string", description: "`ok` or the code of what is wrong" },
        database: {
          type: "string",
          description: "The same. Without it Hull checks no key but the first one, and has no sessions.",
        },
        runner: { type: "string", description: "`ok` or the code of what is wrong" },
        mcp: {
          type: "string",
          description:
            "Only if hull.toml names MCP servers: `mcp_login_needed` if one of them needs a login (`hull mcp list`), else `ok`.",
        },
        settings: {
          type: "string",
          description: "Only if the provider file or the mocks of the deployment cannot be read: says which.",
        },
        skills: COUNT,
      },
      ["mcp", "settings"],
    ),
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
    FileNames: { ...object({ files: { ...FILE_IDS, minItems: 1 } }), additionalProperties: false },
    Files: object({
      note: TEXT,
      files: {
        type: "array",
        items: bodySchema(producedFile(), {
          size: COUNT,
          sha256: ref("schemas", "Digest"),
          dataBase64: { contentEncoding: "base64" },
          url: { format: "uri-reference", description: "`/files/{id}`, for one hour" },
        }),
      },
    }),
    ObjectKeys: pageOf(TEXT),
    Stored: object({ digest: DIGEST, stored: TEXTS }),
    CatalogPointer: bodySchema(z.omit(catalogPointer(), { earlier: true }), {
      published_at: TIME,
      published_by: { description: "Id of the key." },
      pinned: { description: "The catalog that the deployment came with." },
    }),
    CatalogRequest: catalogRequest(),
    ServedCatalog: schemaOf(servedCatalogShape),
    PublishedSkill: object({
      digest: DIGEST,
      record: { type: "object", description: "What the build knows of it: manifest, body, files, tools." },
    }),
    NewApiKey: schemaOf(keyBody),
    ApiKey: bodySchema(keyRowShape, {
      prefix: { description: "How the key begins." },
      scopes: { type: "array", minItems: 1, items: { enum: [...SCOPES] } },
      created_at: TIME,
      last_used_at: { ...MAYBE_TIME, description: "Up to an hour too early." },
    }),
    ShownApiKey: {
      allOf: [ref("schemas", "ApiKey"), object({ key: { type: "string", description: "Shown this once." } })],
    },
    ApiKeys: pageOf(ref("schemas", "ApiKey")),
    McpServerEntry: schemaOf(mcpServerShape),
    McpServers: object({ data: { type: "array", items: ref("schemas", "McpServerEntry") } }),
    McpLoginBegin: schemaOf(loginBody),
    McpLoginBegun: object({
      address: { type: "string", format: "uri", description: "Of the authorization server, for a browser." },
      login: { type: "string", description: "For the end of the login; sealed." },
    }),
    McpLoginAnswer: schemaOf(loginAnswerBody),
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
