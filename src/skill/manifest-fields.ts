/**
 * The fields of SKILL.md's frontmatter, declared once: type, range, default, and the modes where each counts. The
 * reader, the table of docs/manifest.md and the JSON Schema for editors follow from it.
 */
import { type Field, MAX_MS } from "./field-kinds.ts";
import {
  ACTIVATION_FIELDS,
  argv,
  COMMAND_TOOL_FIELDS,
  DAEMON_FIELDS,
  INPUTS,
  METHODS,
  MODES,
  type Mode,
  mcpServers,
  OUTPUTS,
} from "./manifest.ts";

export type ManifestField = Field & {
  /** The field makes a skill one of this mode. */
  makes?: Mode;
  /** The modes where it counts. Absent: all of them. */
  modes?: readonly Mode[];
};
type ManifestFields = { readonly [name: string]: ManifestField };

const MOST = 2_147_483_647;

const REQUIRED_FIELDS = {
  name: { kind: "text", required: true },
  description: { kind: "text", required: true },
} as const satisfies ManifestFields;

/** Fields that make a skill more than a plain Agent Skill. */
export const HULL_FIELDS = {
  mode: { kind: "choice", of: MODES },
  run: { kind: "any", shape: argv, makes: "script" },
  serve: { kind: "text", makes: "static-file" },
  proxy: { kind: "text", makes: "proxy" },
  proxy_url: { kind: "text", makes: "proxy" },
  proxy_method: {
    kind: "choice",
    of: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    anyCase: true,
    modes: ["proxy"],
  },
  headers: { kind: "map", of: { kind: "text" }, modes: ["proxy"], default: {} },
  forward_headers: { kind: "list", of: "header names", modes: ["proxy"], default: [] },
  return_headers: { kind: "list", of: "header names", modes: ["proxy"], default: [] },
  tools: { kind: "objects", fields: COMMAND_TOOL_FIELDS, makes: "llm", default: [] },
  mcp_servers: { kind: "any", shape: mcpServers, modes: ["llm"], default: [] },
  tool_env: { kind: "list", of: "variable names", default: [] },
  input: { kind: "choice", of: INPUTS },
  input_mime: { kind: "list", orText: true, default: [] },
  input_schema: { kind: "map" },
  output: { kind: "choice", of: OUTPUTS },
  output_mime: { kind: "text" },
  method: { kind: "choice", of: METHODS, anyCase: true },
  route: { kind: "text", default: "" },
  timeout_ms: { kind: "integer", min: 1, max: MAX_MS, default: 60_000 },
  idle_timeout_ms: { kind: "integer", min: 1, max: MAX_MS, default: 60_000, modes: ["proxy", "llm"] },
  provider: { kind: "text", modes: ["llm"], default: "anthropic" },
  model: { kind: "text", modes: ["llm"] },
  fallback: { kind: "list", of: "`provider/model`", modes: ["llm"], default: [] },
  max_tokens: { kind: "integer", min: 1, max: MOST, default: 4096, modes: ["llm"] },
  max_tool_rounds: { kind: "integer", min: 1, max: MOST, modes: ["llm"] },
  max_tool_output_bytes: { kind: "integer", min: 1024, max: 1_048_576, default: 65_536, modes: ["llm"] },
  deadline_ms: { kind: "integer", min: 1, max: MAX_MS, modes: ["llm"] },
  max_input_bytes: { kind: "integer", min: 1, max: Number.MAX_SAFE_INTEGER },
  max_output_bytes: { kind: "integer", min: 1, max: Number.MAX_SAFE_INTEGER },
  concurrency: { kind: "integer", min: 1, max: MAX_MS },
  daemon: { kind: "object", fields: DAEMON_FIELDS },
} as const satisfies ManifestFields;

/** Fields of the Agent Skills format that Hull keeps. */
export const CARRIED_FIELDS = {
  license: { kind: "text" },
  compatibility: { kind: "text" },
  metadata: { kind: "map" },
  "allowed-tools": { kind: "list", orText: true, stored: "allowed_tools" },
} as const satisfies ManifestFields;

export const MANIFEST_FIELDS = {
  ...REQUIRED_FIELDS,
  ...HULL_FIELDS,
  ...CARRIED_FIELDS,
  ...ACTIVATION_FIELDS,
};
export type FieldName = keyof typeof MANIFEST_FIELDS;

/** Every field with its declaration, in the order of the table. */
export const FIELDS: readonly (readonly [name: string, field: ManifestField])[] =
  Object.entries(MANIFEST_FIELDS);
export const KNOWN_FIELDS: readonly string[] = FIELDS.map(([name]) => name);
/** The fields of the Agent Skills format. */
export const FORMAT_FIELDS: readonly string[] = Object.keys({ ...REQUIRED_FIELDS, ...CARRIED_FIELDS });
/** Fields of an Agent Skill: none of them makes Hull serve the skill in another way. */
export const PLAIN_FIELDS: readonly string[] = [...FORMAT_FIELDS, ...Object.keys(ACTIVATION_FIELDS)];
