/**
 * What a served skill is: the normalised manifest, the skill record and the catalog. The build writes these; the Worker
 * trusts them after one zod parse at the registry's boundary.
 */

import type { WorkspaceTool } from "./tool-names.ts";

export const MODES = ["script", "static-file", "proxy", "llm"] as const;
export type Mode = (typeof MODES)[number];

export const PARAMETER_TYPES = ["string", "number", "integer", "boolean", "array", "object"] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];
export type ScalarType = "string" | "number" | "integer" | "boolean";

/** The effects that a tool may have on the world, in rising order. */
export const SIDE_EFFECT_LEVELS = [
  "none",
  "read_only",
  "workspace_write",
  "process_exec",
  "network",
] as const;
export type SideEffectLevel = (typeof SIDE_EFFECT_LEVELS)[number];

/** What a tool mainly does; the first four only read. */
export const TOOL_KINDS = ["read", "search", "think", "fetch", "edit", "execute", "other"] as const;
export type ToolKind = (typeof TOOL_KINDS)[number];

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** One declared argument of a tool, in declaration order. */
export interface ToolParameter {
  name: string;
  description: string;
  required: boolean;
  type: ParameterType;
  enum?: Json[];
  /** Member type, present exactly when `type` is `array`. */
  items?: ScalarType;
}

/** A tool of an llm skill: a command that the runner starts. */
export interface CommandTool {
  name: string;
  description: string;
  command: string[];
  parameters: ToolParameter[];
  /** Its effects, for policies of runs. Absent: unknown. */
  annotations?: CommandAnnotations;
  /** Repeating a call is harmless. */
  idempotent?: boolean;
}

export interface CommandAnnotations {
  kind?: ToolKind;
  side_effect_level?: SideEffectLevel;
  /** Operations by capability. */
  capabilities?: { [capability: string]: string[] };
  /** `path_params`: names of the arguments that hold paths. */
  arg_schema?: JsonObject;
}

export interface ModelTarget {
  /** A provider of the deployment that serves the skill, which may differ from the one it was built for. */
  provider: string;
  /** `null`: the provider's default model. */
  model: string | null;
}

/** A remote MCP server of an llm skill. */
export interface McpServer {
  /** The prefix of its tools' names, with `_` for `-` and followed by `__`. */
  name: string;
  url: string;
  /** Values may contain `${VAR}`. */
  headers: { [name: string]: string };
  /** The server's own names of the tools to use; absent: all. */
  tools?: string[];
  timeout_ms: number;
}

export interface ProxySettings {
  url: string;
  /** `null`: the caller's own method. */
  method: string | null;
  headers: { [name: string]: string };
  forward_headers: string[];
  return_headers: string[];
}

/** An agent that runs the skill as long as Hull serves it. */
export interface DaemonDeclaration {
  task: string;
  /** Five fields, in the wall time of `time_zone` (IANA; absent: UTC). */
  cron?: string;
  time_zone?: string;
  wake_interval_ms?: number;
  watch_paths?: string[];
  /** More options of its run. */
  options?: JsonObject;
}

/** When agent runs may activate a skill, who may do it, and what carries it out. An absent member has no effect. */
export interface Activation {
  when_to_use?: string;
  /** Globs of the files that the skill handles. */
  paths?: string[];
  /** Models neither see nor load it. */
  disable_model_invocation?: true;
  /** No message can activate it by a prefix. */
  user_invocable?: false;
  /** Names of MCP servers of the deployment or the run that are bound while the skill is active. */
  mcp?: string[];
  /** Hull uses it only with the signature of a trusted signer. */
  require_signature?: true;
  /** Fingerprints of the keys that may sign it; absent: all that the deployment trusts. */
  trusted_signers?: string[];
  /** Hook references. */
  on_activate?: string;
  on_deactivate?: string;
  /** What a person types after `/name`; shown to people. */
  argument_hint?: string;
  /** It runs in a sub-agent's own context rather than in the conversation. */
  context?: "fork";
  /** The kind of sub-agent, in the words of other clients. */
  agent?: string;
  /** The model of a plain Agent Skill in the words of other clients: `opus`. */
  model?: string;
  /** How much the model thinks, as its author wrote it: a key of `EFFORTS`, or a word that only other clients know. */
  effort?: string;
  /** The shell for which the commands in its text are written. */
  shell?: string;
}

/** The `effort` of other clients, as a level that providers know. */
export const EFFORTS: { readonly [effort: string]: "low" | "medium" | "high" | undefined } = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
};

/** A normalised manifest. Durations in ms, sizes in bytes. Parts of a mode are present exactly in that mode. */
export interface Manifest {
  name: string;
  slug: string;
  description: string;
  mode: Mode;
  /** Exact path, e.g. `/skills/hello`. */
  route: string;
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  input: "text" | "file" | "none";
  /** Accepted media types, `type/*` allowed; empty = any. */
  input_mime: string[];
  input_schema?: JsonObject;
  output: "text" | "json" | "file";
  output_mime?: string;
  timeout_ms: number;
  idle_timeout_ms: number;
  deadline_ms: number;
  max_input_bytes?: number;
  max_output_bytes?: number;
  concurrency?: number;
  /** Environment variables for tools and `run`. Provider keys never appear here. */
  tool_env: string[];
  run?: string[];
  serve?: string;
  proxy?: ProxySettings;
  llm?: {
    target: ModelTarget;
    fallback: ModelTarget[];
    tools: CommandTool[];
    max_tokens: number;
    /** Absent: depends on the tools of a run. */
    max_tool_rounds?: number;
    max_tool_output_bytes: number;
    /** Absent if it has none. */
    mcp_servers?: McpServer[];
  };
  /** Only llm skills have one. */
  daemon?: DaemonDeclaration;
  license?: string;
  compatibility?: string;
  metadata?: JsonObject;
  /** Calls that need no approval while the skill is active, in the format's own spelling (`tool-names.ts`). */
  allowed_tools?: string[];
  /** The tools that stay on offer while the skill is active, in the same spelling; absent: all of them. */
  tool_scope?: string[];
  /**
   * Whether a run with the skill has the workspace tools, or which of them; absent: `wants_workspace_tools` decides.
   */
  workspace_tools?: boolean | WorkspaceTool[];
  activation?: Activation;
  /** Unknown frontmatter keys, unchanged. */
  extra: JsonObject;
}

export interface BundledFile {
  path: string;
  /** Bytes. */
  size: number;
  mode: 0o644 | 0o755;
  sha256: string;
}

/** The module made from a skill's `hooks.ts` or `hooks.js`. */
export interface HookModule {
  /** SHA-256 of one ES module, KV `module:<sha256>`. */
  module: string;
  /** Names of its exports, sorted. */
  exports: string[];
}

/** In rising order. */
export const RISKS = ["safe", "moderate", "dangerous", "critical"] as const;
export type Risk = (typeof RISKS)[number];

/** Where a tool's handler runs; `stub`: it has none, and its answer points to the skill's text. */
export const TIERS = ["isolate", "runner", "stub"] as const;
export type Tier = (typeof TIERS)[number];

export const CONFIG_TYPES = [
  "string",
  "text",
  "code",
  "number",
  "boolean",
  "select",
  "multiselect",
  "string[]",
  "number[]",
  "secret",
  "path",
  "map",
  "url",
] as const;
export type ConfigType = (typeof CONFIG_TYPES)[number];

export const CONFIG_SCOPES = ["global", "per_bot", "per_call"] as const;
type ConfigScope = (typeof CONFIG_SCOPES)[number];

/** One configurable value of a tool. Its keys are those of the format, in camelCase. */
export interface ConfigParam {
  name: string;
  displayName?: string;
  description?: string;
  type: ConfigType;
  /** Absent: there is none, and a handler without a value sees no such key. */
  default?: Json;
  scope: ConfigScope;
  min?: number;
  max?: number;
  step?: number;
  options?: string[];
  unit?: string;
  placeholder?: string;
  minItems?: number;
  maxItems?: number;
  rows?: number;
  pathType?: string;
  keyPlaceholder?: string;
  valuePlaceholder?: string;
  itemPlaceholder?: string;
  language?: string;
}

/** Which network a handler may reach: none, the named hosts (`api.example.com`, `*.example.com`), or any public one. */
export type NetworkNeed = { hosts: string[] | null } | null;

/** What a console shows of a tool; it never changes what the tool does. */
export interface ToolDisplay {
  version?: string;
  category?: string;
  tags?: string[];
  icon?: string;
  display_name?: string;
  deprecated?: boolean | string;
  examples?: Json[];
  group?: string;
  estimated_latency_ms?: number;
}

/** A tool of a skill's tools.json. JSON-safe; members absent in `tools.json` have their defaults here. */
export interface SkillTool {
  /** `^[a-z][a-z0-9_]*$`, at most 64 characters. */
  name: string;
  description: string;
  /** JSON Schema of the arguments, an object with `required`. */
  parameters: JsonObject;
  tier: Tier;
  /** Why the build chose the tier, for people; absent if there was no choice. */
  tier_reason?: string;
  /** Path in the pack of the handler that a process starts; absent exactly for a stub. */
  script?: string;
  /** The handler's path in the skill's folder, if the build made `script` from it. */
  source?: string;
  /** SHA-256 of the handler bundled as one ES module, KV `module:<sha256>`; present exactly in tier `isolate`. */
  module?: string;
  timeout_ms: number;
  /** Names of the variables that it may see. Provider keys never appear here. */
  env: string[];
  network: NetworkNeed;
  filesystem: boolean;
  side_effects: boolean;
  idempotent: boolean;
  /** As declared, or derived from the flags (`risk.ts`). */
  risk: Risk;
  /** Absent from tool panels and lists; models see it and may call it. */
  hidden: boolean;
  config: ConfigParam[];
  output_schema?: JsonObject;
  display?: ToolDisplay;
}

/** The plugin of a skill. */
export interface PluginOfSkill {
  /** From its plugin.json, else from marketplace.json, else the folder's name. */
  name: string;
  /** The skill's folder inside the plugin's, `/` as separator; `""`: they are the same. */
  skill: string;
  /**
   * The plugin's folder, with everything that its skills share; absent: nothing in the skill's folder names the
   * plugin's.
   */
  folder?: {
    /** SHA-256 of the deterministic tar, KV `pack:<sha256>`. */
    pack: string;
    files: BundledFile[];
  };
}

/** A graph of a skill's folder `workflows`. */
export interface SkillWorkflow {
  /** Of the file, without its ending. */
  name: string;
  /** SHA-256 of the graph's canonical JSON. */
  digest: string;
  graph: JsonObject;
}

/** KV `skill:<digest>`; the digest is the SHA-256 of its canonical JSON (`canonical.ts`). */
export interface SkillRecord {
  format: 1;
  manifest: Manifest;
  /** Markdown below the frontmatter: the system prompt of an llm skill, the documentation of others. */
  body: string;
  files: BundledFile[];
  /** SHA-256 of the deterministic tar, KV `pack:<sha256>`; `null` in records of builds that packed only what runs. */
  pack: string | null;
  /** A model can follow its instructions only with workspace tools (`workspace-tools.ts`). */
  wants_workspace_tools?: true;
  /** Its plugin. Absent: none. */
  plugin?: PluginOfSkill;
  /**
   * Distinguishes it from another skill of the same name: the author's folder or the plugin; absent: it has neither.
   */
  namespace?: string;
  /** Present if the skill has a hook module. */
  hooks?: HookModule;
  /** The tools of its tools.json, in the order of the file; absent if it has none. */
  tools?: SkillTool[];
  /** The workflows of its folder `workflows`, by name; absent if it has none. */
  workflows?: SkillWorkflow[];
  /** The build's findings, none of which stops Hull from serving it; `file` is relative to its folder. */
  diagnostics?: Diagnostic[];
  /** The signer of its valid signature, by the fingerprint of the key; absent: it has none. */
  signature?: { signer: string };
  /**
   * The tenant that uploaded it. Absent: a folder of the deployment. A reader of the record sees from it whom to trust.
   */
  uploaded_by?: string;
  /** A tenant stored it for requests to name. Absent: it has an address, and so a slug of its own. */
  stored?: true;
}

/** What `GET /skills` shows of a skill; `version` is the skill digest. */
export interface Card {
  name: string;
  slug: string;
  description: string;
  mode: Mode;
  method: string;
  route: string;
  input: string;
  output: string;
  inputMime?: string[];
  outputMime?: string;
  tools?: string[];
  version: string;
  stale?: true;
  /** It was uploaded, and only one tenant can use it. */
  uploaded?: true;
  /** It declares a daemon. */
  daemon?: true;
  /** The fingerprint of the key that signed it. */
  signer?: string;
  /** Runs with it have the workspace tools by default. */
  workspaceTools?: true;
  /** Its author's folder or plugin. */
  namespace?: string;
  /** Its workflows, by name. */
  workflows?: Omit<SkillWorkflow, "graph">[];
}

/** KV `catalog:<sha256>`: what Hull serves; cards sorted by slug (byte order). */
export interface Catalog {
  format: 1;
  cards: Card[];
  /** SHA-256 of the OpenAPI document of these skills, KV `openapi:<sha256>`. */
  openapi?: string;
  /** Names of the variables that proxy skills put into their calls, sorted; absent if there are none. */
  variables?: string[];
  /**
   * Skills loaded earlier that have a tool of the same name, by `slug/tool` of the one that replaces theirs; absent if
   * there are none.
   */
  overrides?: { [tool: string]: string[] };
}

/** KV `catalog:current`. */
export interface CatalogPointer {
  id: string;
  previous: string | null;
  /** RFC 3339. */
  published_at: string;
  /** The pinned catalog of the deployment that it was published to; absent if none is pinned. */
  pinned?: string;
  /** Catalogs that were served before, the latest one first. */
  earlier?: { id: string; published_at: string }[];
}

/** One finding about a skill folder; the same shape everywhere. */
export interface Diagnostic {
  level: "error" | "warning" | "info";
  /** Stable. */
  code: string;
  /** Folder name of the skill. */
  skill: string;
  /** Path relative to the root. */
  file: string;
  line?: number;
  column?: number;
  /** Dotted path of the field, e.g. `tools[0].parameters[1].type`. */
  field?: string;
  /** The offending value as JSON text, at most 200 characters. */
  value?: string;
  message: string;
  hint?: string;
}
