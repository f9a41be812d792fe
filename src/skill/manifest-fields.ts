/**
 * The fields of SKILL.md's frontmatter, declared once: type, range, default, and the modes where each counts. The
 * reader, the stored shape, the table of docs/manifest.md and the JSON Schema for editors follow from it.
 */
import * as z from "zod/mini";
import { type Field, type Fields, MAX_MS, shapesOf } from "./field-kinds.ts";
import { DEFAULT_MCP_TIMEOUT_MS, MAX_MCP_TIMEOUT_MS } from "./mcp-server-name.ts";
import { WORKSPACE_TOOLS } from "./tool-names.ts";

export const MODES = ["script", "static-file", "proxy", "llm"] as const;

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
export const INPUTS = ["text", "file", "none"] as const;
export const OUTPUTS = ["text", "json", "file"] as const;

export const PARAMETER_TYPES = ["string", "number", "integer", "boolean", "array", "object"] as const;
export const SCALAR_TYPES = ["string", "number", "integer", "boolean"] as const;

/** The effects that a tool may have on the world, from the weakest to the strongest. */
export const SIDE_EFFECT_LEVELS = [
  "none",
  "read_only",
  "workspace_write",
  "process_exec",
  "network",
] as const;

/** What a tool mainly does; the first four only read. */
export const TOOL_KINDS = ["read", "search", "think", "fetch", "edit", "execute", "other"] as const;

/** A program and its arguments. */
export const argv = () => z.array(z.string()).check(z.minLength(1));

/** One declared argument of a tool, in declaration order. */
export const PARAMETER_FIELDS = {
  name: { kind: "text", required: true },
  description: { kind: "text", default: "" },
  required: { kind: "flag", default: true },
  type: { kind: "choice", of: PARAMETER_TYPES, required: true, default: "string" },
  /** Member type, present exactly when `type` is `array`. */
  items: { kind: "choice", of: SCALAR_TYPES },
  enum: { kind: "values" },
} as const satisfies Fields;

/** A tool of an llm skill: a command that the runner starts. */
export const COMMAND_TOOL_FIELDS = {
  name: { kind: "text", required: true },
  description: { kind: "text", required: true },
  command: { kind: "any", shape: argv, required: true },
  parameters: { kind: "objects", fields: PARAMETER_FIELDS, default: [] },
  /** Repeating a call is harmless. */
  idempotent: { kind: "flag" },
  /** Its effects, for policies of runs. Absent: unknown. */
  annotations: {
    kind: "object",
    fields: {
      kind: { kind: "choice", of: TOOL_KINDS },
      side_effect_level: { kind: "choice", of: SIDE_EFFECT_LEVELS },
      /** Operations by capability. */
      capabilities: { kind: "map", of: { kind: "list", of: "operations" } },
      /** `path_params`: names of the arguments that hold paths. */
      arg_schema: { kind: "map" },
    },
  },
} as const satisfies Fields;

const MCP_TOOL_FIELDS = {
  /** The server's own names of the tools to use; absent: all. */
  tools: { kind: "list", of: "names of the server's tools" },
  timeout_ms: { kind: "integer", min: 1, max: MAX_MCP_TIMEOUT_MS, default: DEFAULT_MCP_TIMEOUT_MS },
} as const satisfies Fields;

/** A remote MCP server of an llm skill. */
export const MCP_SERVER_FIELDS = {
  url: { kind: "text", required: true },
  /** Values may contain `${VAR}`. */
  headers: { kind: "map", of: { kind: "text" }, default: {} },
  ...MCP_TOOL_FIELDS,
} as const satisfies Fields;

/** An MCP server of an llm skill that the runner starts, and that speaks by its standard streams. */
export const MCP_PROCESS_FIELDS = {
  command: { kind: "any", shape: argv, required: true },
  /** Further arguments. */
  args: { kind: "list", of: "arguments", default: [], sparse: true },
  /** Values may contain `${VAR}`. */
  env: { kind: "map", of: { kind: "text" }, default: {} },
  ...MCP_TOOL_FIELDS,
} as const satisfies Fields;

/** A server and its name: the prefix of its tools' names, with `_` for `-` and followed by `__`. */
export const mcpServer = () => z.object({ name: z.string(), ...shapesOf(MCP_SERVER_FIELDS) });
export const mcpProcess = () => z.object({ name: z.string(), ...shapesOf(MCP_PROCESS_FIELDS) });

/** An agent that runs the skill as long as Hull serves it. */
export const DAEMON_FIELDS = {
  task: { kind: "text", required: true },
  /** Five fields, in the wall time of `time_zone` (IANA; absent: UTC). */
  cron: { kind: "text" },
  time_zone: { kind: "text" },
  wake_interval_ms: { kind: "integer", min: 1, max: MAX_MS },
  watch_paths: { kind: "list", of: "paths of files" },
  /** More options of its run. They are checked when the daemon starts, since they depend on the deployment. */
  options: { kind: "map" },
} as const satisfies Fields;

/** The tools of a run while the skill is active: fields that plain Agent Skills may have too. */
export const TOOLSET_FIELDS = {
  /** The tools that stay on offer, in the spelling of `allowed_tools`; absent: all of them. */
  tool_scope: { kind: "list", orText: true },
  /** Whether the run has the workspace tools, or which of them; absent: `wants_workspace_tools` decides. */
  workspace_tools: { kind: "any", shape: () => z.union([z.boolean(), z.array(z.enum(WORKSPACE_TOOLS))]) },
} as const satisfies Fields;

/**
 * When agent runs may activate a skill, who may do it, and how it runs: fields that plain Agent Skills may have too. An
 * absent member has no effect.
 */
export const ACTIVATION_FIELDS = {
  "when-to-use": { kind: "text", stored: "when_to_use" },
  /** Globs of the files that the skill handles. */
  paths: { kind: "list", orText: true },
  /** What a person types after `/name`; shown to people. */
  "argument-hint": { kind: "text", stored: "argument_hint", default: "", sparse: true },
  /** Names of its arguments in their order: `$name` in the text stands for one. */
  arguments: { kind: "list", orText: true },
  /**
   * `fork`: a sub-agent executes the skill if a model loads it. `agent`: the skill is an agent, to which runs hand work,
   * and which no model loads.
   */
  context: { kind: "text" },
  /** The kind of sub-agent, in the words of other clients. */
  agent: { kind: "text", default: "", sparse: true },
  /** How much the model thinks, as its author wrote it: a key of `EFFORTS`, or a word that only other clients know. */
  effort: { kind: "text", default: "", sparse: true },
  /** The shell for which the commands in its text are written. */
  shell: { kind: "text", default: "", sparse: true },
  /** Models neither see nor load it. */
  "disable-model-invocation": {
    kind: "flag",
    stored: "disable_model_invocation",
    default: false,
    sparse: true,
  },
  /** `false`: no message can activate it by a prefix. */
  "user-invocable": { kind: "flag", stored: "user_invocable", default: true, sparse: true },
  /** Hull uses it only with the signature of a trusted signer. */
  "require-signature": { kind: "flag", stored: "require_signature", default: false, sparse: true },
  /** Fingerprints of the keys that may sign it; absent: all that the deployment trusts. */
  "trusted-signers": { kind: "list", orText: true, stored: "trusted_signers" },
  /** Names of MCP servers of the deployment or the run that are bound while the skill is active. */
  mcp: { kind: "list", orText: true, default: [], sparse: true },
  /** Names of the skill's own hooks, and command hooks, stored as `on_activate`, `on_deactivate` and `command_hooks`. */
  hooks: { kind: "map" },
} as const satisfies Fields;

export type ManifestField = Field & {
  /** The field makes a skill one of this mode. */
  makes?: (typeof MODES)[number];
  /** The modes where it counts. Absent: all of them. */
  modes?: readonly (typeof MODES)[number][];
};
type ManifestFields = { readonly [name: string]: ManifestField };

const MOST = 2_147_483_647;

const REQUIRED_FIELDS = {
  name: { kind: "text", required: true },
  description: { kind: "text", required: true },
} as const satisfies ManifestFields;

export const COMMON_FIELDS = {
  mode: { kind: "choice", of: MODES },
  run: { kind: "any", shape: argv, makes: "script" },
  serve: { kind: "text", makes: "static-file" },
  /** Environment variables for tools and `run`. Provider keys never appear here. */
  tool_env: { kind: "list", of: "variable names", default: [] },
  input: { kind: "choice", of: INPUTS },
  /** Accepted media types, `type/*` allowed; empty = any. */
  input_mime: { kind: "list", orText: true, default: [] },
  input_schema: { kind: "map" },
  output: { kind: "choice", of: OUTPUTS },
  output_mime: { kind: "text" },
  method: { kind: "choice", of: METHODS, anyCase: true },
  /** Exact path, e.g. `/skills/hello`. */
  route: { kind: "text", default: "" },
  timeout_ms: { kind: "integer", min: 1, max: MAX_MS, default: 60_000 },
  idle_timeout_ms: { kind: "integer", min: 1, max: MAX_MS, default: 60_000, modes: ["proxy", "llm"] },
  deadline_ms: { kind: "integer", min: 1, max: MAX_MS, modes: ["llm"] },
  max_input_bytes: { kind: "integer", min: 1, max: Number.MAX_SAFE_INTEGER },
  max_output_bytes: { kind: "integer", min: 1, max: Number.MAX_SAFE_INTEGER },
  concurrency: { kind: "integer", min: 1, max: MAX_MS },
  /** Only llm skills have one. */
  daemon: { kind: "object", fields: DAEMON_FIELDS },
} as const satisfies ManifestFields;

export const PROXY_FIELDS = {
  proxy: { kind: "text", makes: "proxy", stored: "url" },
  proxy_url: { kind: "text", makes: "proxy", stored: "url" },
  proxy_method: {
    kind: "choice",
    of: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    anyCase: true,
    modes: ["proxy"],
    stored: "method",
  },
  headers: { kind: "map", of: { kind: "text" }, modes: ["proxy"], default: {} },
  forward_headers: { kind: "list", of: "header names", modes: ["proxy"], default: [] },
  return_headers: { kind: "list", of: "header names", modes: ["proxy"], default: [] },
} as const satisfies ManifestFields;

export const LLM_FIELDS = {
  tools: { kind: "objects", fields: COMMAND_TOOL_FIELDS, makes: "llm", default: [] },
  mcp_servers: {
    kind: "any",
    shape: () => z.array(z.union([mcpServer(), mcpProcess()])),
    modes: ["llm"],
    default: [],
    sparse: true,
  },
  provider: { kind: "text", modes: ["llm"], default: "anthropic" },
  model: { kind: "text", modes: ["llm"] },
  fallback: { kind: "list", of: "`provider/model`", modes: ["llm"], default: [] },
  max_tokens: { kind: "integer", min: 1, max: MOST, default: 4096, modes: ["llm"] },
  /** Absent: depends on the tools of a run. */
  max_tool_rounds: { kind: "integer", min: 1, max: MOST, modes: ["llm"] },
  max_tool_output_bytes: { kind: "integer", min: 1024, max: 1_048_576, default: 65_536, modes: ["llm"] },
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
  ...COMMON_FIELDS,
  ...PROXY_FIELDS,
  ...LLM_FIELDS,
  ...CARRIED_FIELDS,
  ...TOOLSET_FIELDS,
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
export const PLAIN_FIELDS: readonly string[] = [
  ...FORMAT_FIELDS,
  ...Object.keys({ ...TOOLSET_FIELDS, ...ACTIVATION_FIELDS }),
];
