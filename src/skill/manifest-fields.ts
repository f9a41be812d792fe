/**
 * The fields of SKILL.md's frontmatter, declared once: type, range, default, and the modes where each counts. The
 * reader, the table of docs/manifest.md and the JSON Schema for editors follow from it.
 */
import { type Field, MAX_MS } from "./field-kinds.ts";
import { INPUTS, METHODS, MODES, type Mode, OUTPUTS } from "./manifest.ts";

export type ManifestField = Field & {
  /** The field makes a skill one of this mode. */
  makes?: Mode;
  /** The modes where it counts. Absent: all of them. */
  modes?: readonly Mode[];
};

const MOST = 2_147_483_647;

export const MANIFEST_FIELDS = {
  name: { kind: "text", required: true },
  description: { kind: "text", required: true },
  mode: { kind: "choice", of: MODES },
  run: { kind: "command", makes: "script" },
  serve: { kind: "text", makes: "static-file" },
  proxy: { kind: "text", makes: "proxy" },
  proxy_url: { kind: "text", makes: "proxy" },
  proxy_method: {
    kind: "choice",
    of: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    anyCase: true,
    modes: ["proxy"],
  },
  headers: { kind: "map", modes: ["proxy"] },
  forward_headers: { kind: "list", modes: ["proxy"] },
  return_headers: { kind: "list", modes: ["proxy"] },
  tools: { kind: "any", makes: "llm" },
  mcp_servers: { kind: "map", modes: ["llm"] },
  tool_env: { kind: "list" },
  input: { kind: "choice", of: INPUTS },
  input_mime: { kind: "texts" },
  input_schema: { kind: "any" },
  output: { kind: "choice", of: OUTPUTS },
  output_mime: { kind: "text" },
  method: { kind: "choice", of: METHODS, anyCase: true },
  route: { kind: "text" },
  timeout_ms: { kind: "integer", min: 1, max: MAX_MS, default: 60_000 },
  idle_timeout_ms: { kind: "integer", min: 1, max: MAX_MS, default: 60_000, modes: ["proxy", "llm"] },
  provider: { kind: "text", modes: ["llm"] },
  model: { kind: "text", modes: ["llm"] },
  fallback: { kind: "list", modes: ["llm"] },
  max_tokens: { kind: "integer", min: 1, max: MOST, default: 4096, modes: ["llm"] },
  max_tool_rounds: { kind: "integer", min: 1, max: MOST, modes: ["llm"] },
  max_tool_output_bytes: { kind: "integer", min: 1024, max: 1_048_576, default: 65_536, modes: ["llm"] },
  deadline_ms: { kind: "integer", min: 1, max: MAX_MS, modes: ["llm"] },
  max_input_bytes: { kind: "integer", min: 1, max: Number.MAX_SAFE_INTEGER },
  max_output_bytes: { kind: "integer", min: 1, max: Number.MAX_SAFE_INTEGER },
  concurrency: { kind: "integer", min: 1, max: MAX_MS },
  daemon: { kind: "map" },
  license: { kind: "text" },
  compatibility: { kind: "text" },
  metadata: { kind: "map" },
  "allowed-tools": { kind: "texts" },
  tool_scope: { kind: "texts" },
  workspace_tools: { kind: "any" },
  "when-to-use": { kind: "text" },
  paths: { kind: "texts" },
  "argument-hint": { kind: "any" },
  context: { kind: "text" },
  agent: { kind: "text" },
  effort: { kind: "text" },
  shell: { kind: "text" },
  "disable-model-invocation": { kind: "flag", default: false },
  "user-invocable": { kind: "flag", default: true },
  "require-signature": { kind: "flag", default: false },
  "trusted-signers": { kind: "texts" },
  mcp: { kind: "texts" },
  hooks: { kind: "map" },
} as const satisfies Record<string, ManifestField>;

export type FieldName = keyof typeof MANIFEST_FIELDS;

/** Every field with its declaration, in the order of the table. */
export const FIELDS: readonly (readonly [name: string, field: ManifestField])[] =
  Object.entries(MANIFEST_FIELDS);
export const KNOWN_FIELDS: readonly string[] = FIELDS.map(([name]) => name);
