/**
 * What a served skill is: the normalised manifest, the skill record and the catalog. The build writes these; the Worker
 * trusts them after one parse at the registry's boundary. A type follows from the shape with which that parse is done.
 */
import * as z from "zod/mini";
import { type Fields, MAX_MS, shapesOf, type Values } from "./field-kinds.ts";
import { WORKSPACE_TOOLS } from "./tool-names.ts";

export const MODES = ["script", "static-file", "proxy", "llm"] as const;
export type Mode = (typeof MODES)[number];

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
export const INPUTS = ["text", "file", "none"] as const;
export const OUTPUTS = ["text", "json", "file"] as const;

export const PARAMETER_TYPES = ["string", "number", "integer", "boolean", "array", "object"] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];
export const SCALAR_TYPES = ["string", "number", "integer", "boolean"] as const;

/** The effects that a tool may have on the world, from the weakest to the strongest. */
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

/** In rising order. */
export const RISKS = ["safe", "moderate", "dangerous", "critical"] as const;
export type Risk = (typeof RISKS)[number];

/** Where a tool's handler runs; `stub`: it has none, and its answer points to the skill's text. */
export const TIERS = ["isolate", "runner", "stub"] as const;

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

/** The reasoning efforts that other clients name, as the levels that providers know. */
export const EFFORTS = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
} as const;

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** The type of what a shape reads. Shapes are made on first use, so that starting the Worker does not pay for them. */
type Read<Shape extends () => z.core.$ZodType> = z.output<ReturnType<Shape>>;

/** With `exactOptionalPropertyTypes`: absent, never `undefined`. */
const maybe = z.exactOptional;

/** In hex. */
export const sha256 = () => z.string().check(z.regex(/^[0-9a-f]{64}$/));
/** `JSON.parse` reads everything here, so it is always JSON. */
const json = () => z.custom<Json>();
const jsonObject = (): z.ZodMiniType<JsonObject> => z.record(z.string(), json());
const count = () => z.int().check(z.positive());

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
export type ToolParameter = Values<typeof PARAMETER_FIELDS>;

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
export type CommandTool = Values<typeof COMMAND_TOOL_FIELDS>;
export type CommandAnnotations = NonNullable<CommandTool["annotations"]>;

export type ModelTarget = Read<typeof modelTarget>;
function modelTarget() {
  return z.object({
    /**
     * A provider of the deployment that serves the skill. It may differ from the deployment that the skill was built
     * for.
     */
    provider: z.string(),
    /** `null`: the provider's default model. */
    model: z.nullable(z.string()),
  });
}

/** A remote MCP server of an llm skill. */
export const MCP_SERVER_FIELDS = {
  url: { kind: "text", required: true },
  /** Values may contain `${VAR}`. */
  headers: { kind: "map", of: { kind: "text" }, default: {} },
  /** The server's own names of the tools to use; absent: all. */
  tools: { kind: "list", of: "names of the server's tools" },
  timeout_ms: { kind: "integer", min: 1, max: 600_000, default: 60_000 },
} as const satisfies Fields;
export type McpServer = Read<typeof mcpServer>;
function mcpServer() {
  return z.object({
    /** The prefix of its tools' names, with `_` for `-` and followed by `__`. */
    name: z.string(),
    ...shapesOf(MCP_SERVER_FIELDS),
  });
}

export const mcpServers = () => z.array(mcpServer());

export type ProxySettings = Read<typeof proxySettings>;
function proxySettings() {
  const text = z.string();
  return z.object({
    url: text,
    /** `null`: the caller's own method. */
    method: z.nullable(text),
    headers: z.record(text, text),
    forward_headers: z.array(text),
    return_headers: z.array(text),
  });
}

/** An agent that runs the skill as long as Hull serves it. */
export const DAEMON_FIELDS = {
  task: { kind: "text", required: true },
  /** Five fields, in the wall time of `time_zone` (IANA; absent: UTC). */
  cron: { kind: "text" },
  time_zone: { kind: "text" },
  wake_interval_ms: { kind: "integer", min: 1, max: MAX_MS },
  watch_paths: { kind: "list", of: "paths of files" },
  /** More options of its run. */
  options: { kind: "map" },
} as const satisfies Fields;
export type DaemonDeclaration = Values<typeof DAEMON_FIELDS>;

/**
 * When agent runs may activate a skill, who may do it, and how it runs: fields that plain Agent Skills may have too. An
 * absent member has no effect.
 */
export const ACTIVATION_FIELDS = {
  /** The tools that stay on offer while the skill is active, in the spelling of `allowed_tools`; absent: all of them. */
  tool_scope: { kind: "list", orText: true },
  /**
   * Whether a run with the skill has the workspace tools, or which of them; absent: `wants_workspace_tools` decides.
   */
  workspace_tools: {
    kind: "any",
    shape: () => z.union([z.boolean(), z.array(z.enum(WORKSPACE_TOOLS))]),
  },
  "when-to-use": { kind: "text", stored: "when_to_use" },
  /** Globs of the files that the skill handles. */
  paths: { kind: "list", orText: true },
  /** What a person types after `/name`; shown to people. */
  "argument-hint": { kind: "text", stored: "argument_hint", default: "", sparse: true },
  /** `fork`: the skill runs in a sub-agent's own context rather than in the conversation. */
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
  /** Names of the skill's own hooks, stored as `on_activate` and `on_deactivate`. */
  hooks: { kind: "map" },
} as const satisfies Fields;

export type Activation = Read<typeof activation>;
function activation() {
  const text = z.string();
  const { hooks: _, tool_scope: __, workspace_tools: ___, ...shapes } = shapesOf(ACTIVATION_FIELDS);
  return z.object({
    ...shapes,
    on_activate: maybe(text),
    on_deactivate: maybe(text),
    /** The model of a plain Agent Skill in the words of other clients: `opus`. */
    model: maybe(text),
  });
}

/** A normalised manifest. Durations in ms, sizes in bytes. Parts of a mode are present exactly in that mode. */
export type Manifest = Read<typeof manifest>;
function manifest() {
  const text = z.string();
  const texts = z.array(text);
  const limit = count();
  const { tool_scope, workspace_tools } = shapesOf(ACTIVATION_FIELDS);
  return z.object({
    name: text,
    slug: z.string().check(z.regex(/^[a-z0-9]+(-{1,2}[a-z0-9]+)*$/)),
    description: text,
    mode: z.enum(MODES),
    /** Exact path, e.g. `/skills/hello`. */
    route: z.string().check(z.startsWith("/")),
    method: z.enum(METHODS),
    input: z.enum(INPUTS),
    /** Accepted media types, `type/*` allowed; empty = any. */
    input_mime: texts,
    input_schema: maybe(jsonObject()),
    output: z.enum(OUTPUTS),
    output_mime: maybe(text),
    timeout_ms: limit,
    idle_timeout_ms: limit,
    deadline_ms: limit,
    max_input_bytes: maybe(limit),
    max_output_bytes: maybe(limit),
    concurrency: maybe(limit),
    /** Environment variables for tools and `run`. Provider keys never appear here. */
    tool_env: texts,
    run: maybe(argv()),
    serve: maybe(text),
    proxy: maybe(proxySettings()),
    llm: maybe(
      z.object({
        target: modelTarget(),
        fallback: z.array(modelTarget()),
        tools: z.array(z.object(shapesOf(COMMAND_TOOL_FIELDS))),
        max_tokens: limit,
        /** Absent: depends on the tools of a run. */
        max_tool_rounds: maybe(limit),
        max_tool_output_bytes: limit,
        /** Absent if it has none. */
        mcp_servers: maybe(mcpServers()),
      }),
    ),
    /** Only llm skills have one. */
    daemon: maybe(z.object(shapesOf(DAEMON_FIELDS))),
    license: maybe(text),
    compatibility: maybe(text),
    metadata: maybe(jsonObject()),
    /** Calls that need no approval while the skill is active, in the format's own spelling (`tool-names.ts`). */
    allowed_tools: maybe(texts),
    tool_scope,
    workspace_tools,
    activation: maybe(activation()),
    /** Unknown frontmatter keys, unchanged. */
    extra: jsonObject(),
  });
}

export type BundledFile = Read<typeof bundledFile>;
function bundledFile() {
  return z.object({
    path: z.string(),
    /** Bytes. */
    size: z.int().check(z.nonnegative()),
    mode: z.union([z.literal(0o644), z.literal(0o755)]),
    sha256: sha256(),
  });
}

/** The module made from a skill's `hooks.ts` or `hooks.js`. */
export type HookModule = Read<typeof hookModule>;
function hookModule() {
  return z.object({
    /** SHA-256 of one ES module, KV `module:<sha256>`. */
    module: sha256(),
    /** Names of its exports, sorted. */
    exports: z.array(z.string()),
  });
}

/** One configurable value of a tool. Its keys are those of the format, in camelCase. */
export const CONFIG_PARAM_FIELDS = {
  name: { kind: "text", required: true },
  displayName: { kind: "text" },
  description: { kind: "text" },
  type: { kind: "choice", of: CONFIG_TYPES, required: true, default: "string" },
  /** Absent: the parameter has no default, and a handler without a value sees no such key. */
  default: { kind: "any" },
  scope: { kind: "choice", of: CONFIG_SCOPES, default: "per_bot" },
  min: { kind: "number" },
  max: { kind: "number" },
  step: { kind: "number" },
  options: { kind: "list" },
  unit: { kind: "text" },
  placeholder: { kind: "text" },
  minItems: { kind: "number" },
  maxItems: { kind: "number" },
  rows: { kind: "number" },
  pathType: { kind: "text" },
  keyPlaceholder: { kind: "text" },
  valuePlaceholder: { kind: "text" },
  itemPlaceholder: { kind: "text" },
  language: { kind: "text" },
} as const satisfies Fields;
export type ConfigParam = Values<typeof CONFIG_PARAM_FIELDS>;

/** Which network a handler may reach: none, the named hosts (`api.example.com`, `*.example.com`), or any public one. */
export type NetworkNeed = Read<typeof networkNeed>;
function networkNeed() {
  return z.nullable(z.object({ hosts: z.nullable(z.array(z.string())) }));
}

/** Hull's own keys of a tool in tools.json; other runtimes ignore them. */
export const EXTENSION_FIELDS = {
  /** Names of the variables that it may see. Provider keys never appear here. */
  "x-env": { kind: "list", of: "variable names", stored: "env", default: [] },
  "x-timeout-ms": { kind: "integer", min: 1, max: MAX_MS, stored: "timeout_ms", default: 60_000 },
  /** What an author may request. */
  "x-tier": { kind: "choice", of: ["isolate", "runner"], stored: "tier" },
  "x-side-effects": { kind: "flag", stored: "side_effects", default: false },
  "x-idempotent": { kind: "flag", stored: "idempotent", default: false },
  "x-requires-network": { kind: "any", shape: networkNeed, stored: "network", default: null },
  "x-requires-filesystem": { kind: "flag", stored: "filesystem", default: false },
  "x-risk": { kind: "choice", of: ["auto", ...RISKS], anyCase: true, stored: "risk", default: "auto" },
  /** Absent from tool panels and lists; models see it and may call it. */
  "x-hidden": { kind: "flag", stored: "hidden", default: false },
  "x-config": { kind: "objects", fields: CONFIG_PARAM_FIELDS, stored: "config", default: [] },
  /** Stored as `parameters`. */
  "x-input-schema": { kind: "map", stored: "input_schema" },
  "x-output-schema": { kind: "map", stored: "output_schema" },
} as const satisfies Fields;

/** What a console shows of a tool; it never changes what the tool does. */
export const DISPLAY_FIELDS = {
  "x-display-name": { kind: "text", stored: "display_name" },
  "x-version": { kind: "text", stored: "version" },
  "x-category": { kind: "text", stored: "category" },
  "x-tags": { kind: "list", of: "texts", stored: "tags" },
  "x-icon": { kind: "text", stored: "icon" },
  "x-group": { kind: "text", stored: "group" },
  "x-deprecated": { kind: "any", shape: () => z.union([z.boolean(), z.string()]), stored: "deprecated" },
  "x-examples": { kind: "values", stored: "examples" },
  "x-estimated-latency-ms": { kind: "integer", min: 0, max: MAX_MS, stored: "estimated_latency_ms" },
} as const satisfies Fields;

/** A tool of a skill's tools.json. JSON-safe; members absent in `tools.json` have their defaults here. */
export type SkillTool = Read<typeof skillTool>;
function skillTool() {
  const text = z.string();
  const { input_schema: _, ...extensions } = shapesOf(EXTENSION_FIELDS);
  return z.object({
    ...extensions,
    /** `^[a-z][a-z0-9_]*$`, at most 64 characters. */
    name: text,
    description: text,
    /** JSON Schema of the arguments, an object with `required`. */
    parameters: jsonObject(),
    tier: z.enum(TIERS),
    /** Why the build chose the tier, for people; absent if there was no choice. */
    tier_reason: maybe(text),
    /** Path in the pack of the handler that a process starts; absent exactly for a stub. */
    script: maybe(text),
    /** The handler's path in the skill's folder, if the build made `script` from it. */
    source: maybe(text),
    /** SHA-256 of the handler bundled as one ES module, KV `module:<sha256>`; present exactly in tier `isolate`. */
    module: maybe(sha256()),
    /** As declared, or derived from the flags. */
    risk: z.enum(RISKS),
    display: maybe(z.object(shapesOf(DISPLAY_FIELDS))),
  });
}

/** The plugin of a skill. */
export type PluginOfSkill = Read<typeof pluginOfSkill>;
function pluginOfSkill() {
  return z.object({
    /** From its plugin.json, else from marketplace.json, else the folder's name. */
    name: z.string(),
    /** The skill's folder inside the plugin's, `/` as separator; `""`: they are the same. */
    skill: z.string(),
    /**
     * The plugin's folder, with everything that its skills share; absent: nothing in the skill's folder names it or
     * links to its files.
     */
    folder: maybe(
      z.object({
        /** SHA-256 of the deterministic tar, KV `pack:<sha256>`. */
        pack: sha256(),
        files: z.array(bundledFile()),
        /** The skill's text links to these files, so the skill's base directory is inside this folder. */
        linked: maybe(z.literal(true)),
      }),
    ),
  });
}

/** A graph of a skill's folder `workflows`. */
export type SkillWorkflow = Read<typeof skillWorkflow>;
function skillWorkflow() {
  return z.object({
    /** Of the file, without its ending. */
    name: z.string(),
    /** SHA-256 of the graph's canonical JSON. */
    digest: sha256(),
    graph: jsonObject(),
  });
}

/** One finding about a skill folder; the same shape everywhere. */
export type Diagnostic = Read<typeof diagnostic>;
export function diagnostic() {
  const text = z.string();
  return z.object({
    level: z.enum(["error", "warning", "info"]),
    /** Stable. */
    code: text,
    /** Folder name of the skill. */
    skill: text,
    /** Path relative to the root. */
    file: text,
    line: maybe(z.int()),
    column: maybe(z.int()),
    /** Dotted path of the field, e.g. `tools[0].parameters[1].type`. */
    field: maybe(text),
    /** The offending value as JSON text, at most 200 characters. */
    value: maybe(text),
    message: text,
    hint: maybe(text),
  });
}

/** KV `skill:<digest>`; the digest is the SHA-256 of its canonical JSON (`canonical.ts`). */
export type SkillRecord = z.output<typeof skillRecordShape>;
export const skillRecordShape = z.lazy(() =>
  z.object({
    format: z.literal(1),
    manifest: manifest(),
    /** Markdown below the frontmatter: the system prompt of an llm skill, the documentation of others. */
    body: z.string(),
    files: z.array(bundledFile()),
    /** SHA-256 of the deterministic tar, KV `pack:<sha256>`; `null` in records of builds that packed only what runs. */
    pack: z.nullable(sha256()),
    /** A model can follow its instructions only with workspace tools (`workspace-tools.ts`). */
    wants_workspace_tools: maybe(z.literal(true)),
    /** Its plugin. Absent: none. */
    plugin: maybe(pluginOfSkill()),
    /**
     * Distinguishes it from another skill of the same name: the author's folder or the plugin; absent: it has neither.
     */
    namespace: maybe(z.string()),
    /** Present if the skill has a hook module. */
    hooks: maybe(hookModule()),
    /** The tools of its tools.json, in the order of the file; absent if it has none. */
    tools: maybe(z.array(skillTool())),
    /** The workflows of its folder `workflows`, by name; absent if it has none. */
    workflows: maybe(z.array(skillWorkflow())),
    /** The build's findings, none of which stops Hull from serving it; `file` is relative to its folder. */
    diagnostics: maybe(z.array(diagnostic())),
    /** The signer of its valid signature, by the fingerprint of the key; absent: it has none. */
    signature: maybe(z.object({ signer: sha256() })),
    /**
     * The tenant that uploaded the skill. Absent: the skill is a folder of the deployment. A reader of the record
     * derives the trust in the skill from this.
     */
    uploaded_by: maybe(z.string()),
    /**
     * A tenant stored the skill, and requests name it by its id. Absent: the skill has an address, and so its own slug.
     */
    stored: maybe(z.literal(true)),
  }),
);

/** What `GET /skills` shows of a skill; `version` is the skill digest. */
export type Card = Read<typeof card>;
export function card() {
  const text = z.string();
  const texts = z.array(text);
  return z.object({
    name: text,
    slug: text,
    description: text,
    mode: z.enum(MODES),
    method: text,
    route: text,
    input: text,
    output: text,
    inputMime: maybe(texts),
    outputMime: maybe(text),
    tools: maybe(texts),
    version: sha256(),
    stale: maybe(z.literal(true)),
    /** It was uploaded, and only one tenant can use it. */
    uploaded: maybe(z.literal(true)),
    /** It declares a daemon. */
    daemon: maybe(z.literal(true)),
    /** The fingerprint of the key that signed it. */
    signer: maybe(sha256()),
    /** Runs with it have the workspace tools by default. */
    workspaceTools: maybe(z.literal(true)),
    /** Its author's folder or plugin. */
    namespace: maybe(text),
    /** Its workflows, by name. */
    workflows: maybe(z.array(z.pick(skillWorkflow(), { name: true, digest: true }))),
  });
}
export const cardShape = z.lazy(card);

/** KV `catalog:<sha256>`: what Hull serves; cards sorted by slug (byte order). */
export type Catalog = z.output<typeof catalogShape>;
export const catalogShape = z.lazy(() =>
  z.object({
    format: z.literal(1),
    cards: z.array(card()),
    /** SHA-256 of the OpenAPI document of these skills, KV `openapi:<sha256>`. */
    openapi: maybe(sha256()),
    /** Names of the variables that proxy skills put into their calls, sorted; absent if there are none. */
    variables: maybe(z.array(z.string())),
    /**
     * Tools of earlier loaded skills that a tool of the same name replaces, by the `slug/tool` of the replacing tool;
     * absent if there are none.
     */
    overrides: maybe(z.record(z.string(), z.array(z.string()))),
    /** What is wrong with the folders of stale skills, by slug; absent if none is stale. */
    faults: maybe(z.record(z.string(), z.array(diagnostic()))),
  }),
);

/** KV `catalog:current`. */
export type CatalogPointer = Read<typeof catalogPointer>;
export function catalogPointer() {
  return z.object({
    id: sha256(),
    previous: z.nullable(sha256()),
    /** RFC 3339. */
    published_at: z.string(),
    /** The pinned catalog of the deployment that it was published to; absent if none is pinned. */
    pinned: maybe(sha256()),
    /** Catalogs that were served before, the latest one first. */
    earlier: maybe(z.array(z.object({ id: sha256(), published_at: z.string() }))),
  });
}
export const catalogPointerShape = z.lazy(catalogPointer);
