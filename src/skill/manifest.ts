/**
 * What a served skill is: the normalised manifest, the skill record and the catalog.
 * The build writes these; the Worker trusts them after one zod parse at the registry's boundary.
 */

import type { WorkspaceTool } from "./tool-names.ts";

export const MODES = ["script", "static-file", "proxy", "llm"] as const;
export type Mode = (typeof MODES)[number];

export const PARAMETER_TYPES = ["string", "number", "integer", "boolean", "array", "object"] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];
export type ScalarType = "string" | "number" | "integer" | "boolean";

/** What a tool may do to the world, in rising order. */
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
  /** What it does, to policies of runs. Absent: nobody knows. */
  annotations?: CommandAnnotations;
  /** A second run does no harm. */
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
  /** Of the deployment that serves the skill, which may not be the one it was built for. */
  provider: string;
  /** `null`: the provider's default model. */
  model: string | null;
}

/** A remote MCP server of an llm skill. */
export interface McpServer {
  /** Begins the names of its tools, with `_` for `-` and followed by `__`. */
  name: string;
  url: string;
  /** Values may hold `${VAR}`. */
  headers: { [name: string]: string };
  /** The server's own names of the tools that are brought in; absent: all. */
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

/** An agent that runs the skill as long as it is served. */
export interface DaemonDeclaration {
  task: string;
  /** Five fields, in the wall time of `time_zone` (IANA; absent: UTC). */
  cron?: string;
  time_zone?: string;
  wake_interval_ms?: number;
  watch_paths?: string[];
  /** Further options of its run. */
  options?: JsonObject;
}

/** When and by whom agent runs may activate a skill, and with what it is carried out; what is absent has no say. */
export interface Activation {
  when_to_use?: string;
  /** Globs of files that the skill is for. */
  paths?: string[];
  /** Models neither see it nor load it. */
  disable_model_invocation?: true;
  /** No message activates it by a prefix. */
  user_invocable?: false;
  /** Names of MCP servers of the deployment or the run, bound while the skill is active. */
  mcp?: string[];
  /** It is used only where somebody who is trusted has signed it. */
  require_signature?: true;
  /** Fingerprints of the keys that may have signed it; absent: whoever the deployment trusts. */
  trusted_signers?: string[];
  /** Hook references. */
  on_activate?: string;
  on_deactivate?: string;
  /** What a person types behind `/name`, for people. */
  argument_hint?: string;
  /** In a context of its own, a sub-agent's, rather than in the conversation. */
  context?: "fork";
  /** Which kind of sub-agent, as other clients name it. */
  agent?: string;
  /** The model of a plain Agent Skill, as other clients name it: `opus`. */
  model?: string;
  /** How much the model thinks, as its author wrote it: a key of `EFFORTS`, or a word that only other clients know. */
  effort?: string;
  /** What commands in its text are written for. */
  shell?: string;
}

/** What other clients write as `effort`, as the level that providers know. */
export const EFFORTS: { readonly [effort: string]: "low" | "medium" | "high" | undefined } = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
};

/** A normalised manifest. Durations in ms, sizes in bytes. Mode-specific parts are present exactly for their mode. */
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
  /** Environment variables opted in for tools and `run`. Provider keys never appear here. */
  tool_env: string[];
  run?: string[];
  serve?: string;
  proxy?: ProxySettings;
  llm?: {
    target: ModelTarget;
    fallback: ModelTarget[];
    tools: CommandTool[];
    max_tokens: number;
    /** Absent: by what tools a run has. */
    max_tool_rounds?: number;
    max_tool_output_bytes: number;
    /** Absent where it has none. */
    mcp_servers?: McpServer[];
  };
  /** Of llm skills alone. */
  daemon?: DaemonDeclaration;
  license?: string;
  compatibility?: string;
  metadata?: JsonObject;
  /** Calls that need no approval while the skill is active, in the format's own spelling (`tool-names.ts`). */
  allowed_tools?: string[];
  /** The tools that stay on offer while the skill is active, likewise; absent: all of them. */
  tool_scope?: string[];
  /** Whether a run with the skill has the workspace tools, or which of them; absent: by `wants_workspace_tools`. */
  workspace_tools?: boolean | WorkspaceTool[];
  activation?: Activation;
  /** Unknown frontmatter keys, kept as they came. */
  extra: JsonObject;
}

export interface BundledFile {
  path: string;
  /** Bytes. */
  size: number;
  mode: 0o644 | 0o755;
  sha256: string;
}

/** What a skill's `hooks.ts` or `hooks.js` became. */
export interface HookModule {
  /** SHA-256 of one ES module, KV `module:<sha256>`. */
  module: string;
  /** Names of what it exports, sorted. */
  exports: string[];
}

/** In rising order. */
export const RISKS = ["safe", "moderate", "dangerous", "critical"] as const;
export type Risk = (typeof RISKS)[number];

/** Where a tool's handler runs; `stub`: it has none, and answers what the skill's text says of it. */
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

/** One configurable value of a tool. Its keys are the format's own, in camelCase. */
export interface ConfigParam {
  name: string;
  displayName?: string;
  description?: string;
  type: ConfigType;
  /** Absent: there is none, and a handler that is not told a value sees no such key. */
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

/** What a console shows of a tool; nothing of it changes what the tool does. */
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

/** A tool of a skill's tools.json. JSON-safe; what is absent in `tools.json` has its default here. */
export interface SkillTool {
  /** `^[a-z][a-z0-9_]*$`, at most 64 characters. */
  name: string;
  description: string;
  /** JSON Schema of the arguments, an object with `required`. */
  parameters: JsonObject;
  tier: Tier;
  /** Why the build chose the tier, for people; absent where there was nothing to choose. */
  tier_reason?: string;
  /** The handler's path in the pack: what a process starts; absent exactly for a stub. */
  script?: string;
  /** The handler's path in the skill's folder, where `script` is what the build has made of it. */
  source?: string;
  /** SHA-256 of the handler bundled as one ES module, KV `module:<sha256>`; present exactly in tier `isolate`. */
  module?: string;
  timeout_ms: number;
  /** Names of the variables it may see. Provider keys never appear here. */
  env: string[];
  network: NetworkNeed;
  filesystem: boolean;
  side_effects: boolean;
  idempotent: boolean;
  /** As declared, or derived from the flags (`risk.ts`). */
  risk: Risk;
  /** Left out of tool panels and lists; models see it and may call it. */
  hidden: boolean;
  config: ConfigParam[];
  output_schema?: JsonObject;
  display?: ToolDisplay;
}

/** The plugin that a skill lies in. */
export interface PluginOfSkill {
  /** Of its plugin.json, else of marketplace.json, else the folder's. */
  name: string;
  /** The skill's folder in that of the plugin, `/` as separator; `""`: they are the same. */
  skill: string;
  /** The plugin's folder, with all that its skills share; absent: nothing in the skill's folder names the plugin's. */
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
  /** Markdown below the frontmatter: the system prompt of an llm skill, the documentation of any other. */
  body: string;
  files: BundledFile[];
  /** SHA-256 of the deterministic tar, KV `pack:<sha256>`; `null` in records of builds that packed only what runs. */
  pack: string | null;
  /** Its instructions can be followed only with workspace tools (`workspace-tools.ts`). */
  wants_workspace_tools?: true;
  /** The plugin that it lies in. Absent: it lies in none. */
  plugin?: PluginOfSkill;
  /** What tells it from a skill of the same name: the author's folder or the plugin; absent: it lies in neither. */
  namespace?: string;
  /** Present where the skill has a hook module. */
  hooks?: HookModule;
  /** Those of its tools.json, in the order of the file; absent where it has none. */
  tools?: SkillTool[];
  /** Those of its folder `workflows`, by name; absent where it has none. */
  workflows?: SkillWorkflow[];
  /** What the build found wrong with it, none of which keeps it from being served; `file` is relative to its folder. */
  diagnostics?: Diagnostic[];
  /** Whose signature holds, by the fingerprint of the key; absent: it has none. */
  signature?: { signer: string };
  /** The tenant that uploaded it. Absent: a folder of the deployment's own. Whoever reads the record sees whom to trust. */
  uploaded_by?: string;
  /** It is one that the tenant stored for requests to name. Absent: it has an address, and so a slug of its own. */
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
  /** It was uploaded, and is served to one tenant. */
  uploaded?: true;
  /** It declares a daemon. */
  daemon?: true;
  /** The fingerprint of the key whose signature it has. */
  signer?: string;
  /** Runs with it have the workspace tools, unless somebody says otherwise. */
  workspaceTools?: true;
  /** The author's folder or the plugin that it lies in. */
  namespace?: string;
  /** Its workflows, by name. */
  workflows?: Omit<SkillWorkflow, "graph">[];
}

/** KV `catalog:<sha256>`: what is served; cards sorted by slug (byte order). */
export interface Catalog {
  format: 1;
  cards: Card[];
  /** SHA-256 of the OpenAPI document of these skills, KV `openapi:<sha256>`. */
  openapi?: string;
  /** Names of the variables that proxy skills put into their calls, sorted; absent where there are none. */
  variables?: string[];
  /**
   * Skills that were loaded earlier and have a tool of the same name, by `slug/tool` of the one that takes their place;
   * absent where there is none.
   */
  overrides?: { [tool: string]: string[] };
}

/** KV `catalog:current`. */
export interface CatalogPointer {
  id: string;
  previous: string | null;
  /** RFC 3339. */
  published_at: string;
  /** The pinned catalog of the deployment that it was published to; absent where none is pinned. */
  pinned?: string;
  /** Catalogs that were served before, the last one first. */
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
