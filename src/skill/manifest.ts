/**
 * What a served skill is: the normalised manifest, the skill record and the catalog. The build writes these; the Worker
 * trusts them after one parse at the registry's boundary. A type follows from the shape with which that parse is done.
 */
import * as z from "zod/mini";
import { shapesOf, type Values } from "./field-kinds.ts";
import {
  ACTIVATION_FIELDS,
  CARRIED_FIELDS,
  type COMMAND_TOOL_FIELDS,
  COMMON_FIELDS,
  type DAEMON_FIELDS,
  INPUTS,
  LLM_FIELDS,
  METHODS,
  MODES,
  type mcpProcess,
  type mcpServer,
  OUTPUTS,
  type PARAMETER_FIELDS,
  type PARAMETER_TYPES,
  PROXY_FIELDS,
  type SIDE_EFFECT_LEVELS,
  TOOLSET_FIELDS,
} from "./manifest-fields.ts";
import {
  type CONFIG_PARAM_FIELDS,
  type CONFIG_TYPES,
  DISPLAY_FIELDS,
  EXTENSION_FIELDS,
  type networkNeed,
  RISKS,
} from "./tools-json/tool-fields.ts";

export type Mode = (typeof MODES)[number];
export type ParameterType = (typeof PARAMETER_TYPES)[number];
export type SideEffectLevel = (typeof SIDE_EFFECT_LEVELS)[number];
export type Risk = (typeof RISKS)[number];
export type ConfigType = (typeof CONFIG_TYPES)[number];

/** Where a tool's handler runs; `stub`: it has none, and its answer points to the skill's text. */
export const TIERS = ["isolate", "runner", "stub"] as const;

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

/** One declared argument of a tool, in declaration order. */
export type ToolParameter = Values<typeof PARAMETER_FIELDS>;
/** A tool of an llm skill: a command that the runner starts. */
export type CommandTool = Values<typeof COMMAND_TOOL_FIELDS>;
export type CommandAnnotations = NonNullable<CommandTool["annotations"]>;
/** A remote MCP server of an llm skill. */
export type McpServer = Read<typeof mcpServer>;
/** One that the runner starts. */
export type McpProcess = Read<typeof mcpProcess>;
/** An agent that runs the skill as long as Hull serves it. */
export type DaemonDeclaration = Values<typeof DAEMON_FIELDS>;

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

export type ProxySettings = Read<typeof proxySettings>;
function proxySettings() {
  const text = z.string();
  return z.object({
    ...shapesOf(PROXY_FIELDS),
    url: text,
    /** `null`: the caller's own method. */
    method: z.nullable(text),
  });
}

function llmSettings() {
  const { provider: _, model: __, ...shapes } = shapesOf(LLM_FIELDS);
  return z.object({ ...shapes, target: modelTarget(), fallback: z.array(modelTarget()) });
}

/** The events of other clients at which Hull runs commands. */
export const HOOK_EVENTS = [
  "PreToolUse",
  "PostToolUse",
  "PostToolUseFailure",
  "UserPromptSubmit",
  "Stop",
] as const;

/** A command of a skill that runs at an event of a run. */
export type CommandHook = Read<typeof commandHook>;
function commandHook() {
  return z.object({
    event: z.enum(HOOK_EVENTS),
    /** The tools, of an event of their calls: see `watches`. */
    matcher: z.string(),
    command: z.string(),
    timeout_ms: count(),
    /** It runs for the first such event of a run only. */
    once: maybe(z.literal(true)),
  });
}

export type Activation = Read<typeof activation>;
function activation() {
  const text = z.string();
  const { hooks: _, ...shapes } = shapesOf(ACTIVATION_FIELDS);
  return z.object({
    ...shapes,
    on_activate: maybe(text),
    on_deactivate: maybe(text),
    command_hooks: maybe(z.array(commandHook())),
    /** The model of a plain Agent Skill in the words of other clients: `opus`. */
    model: maybe(text),
  });
}

/**
 * A normalised manifest. Durations in ms, sizes in bytes. `run`, `serve`, `proxy` and `llm` are present exactly in the
 * mode that they belong to.
 */
export type Manifest = Read<typeof manifest>;
function manifest() {
  const text = z.string();
  return z.object({
    ...shapesOf(COMMON_FIELDS),
    ...shapesOf(CARRIED_FIELDS),
    ...shapesOf(TOOLSET_FIELDS),
    name: text,
    slug: z.string().check(z.regex(/^[a-z0-9]+(-{1,2}[a-z0-9]+)*$/)),
    description: text,
    mode: z.enum(MODES),
    route: z.string().check(z.startsWith("/")),
    method: z.enum(METHODS),
    input: z.enum(INPUTS),
    output: z.enum(OUTPUTS),
    deadline_ms: count(),
    /** The manifest names `deadline_ms`, which is the one that it would have anyway. */
    deadline_named: maybe(z.boolean()),
    proxy: maybe(proxySettings()),
    llm: maybe(llmSettings()),
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

/** One configurable value of a tool. */
export type ConfigParam = Values<typeof CONFIG_PARAM_FIELDS>;

/** Which network a handler may reach: none, the named hosts (`api.example.com`, `*.example.com`), or any public one. */
export type NetworkNeed = Read<typeof networkNeed>;

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

export type PluginOfSkill = Read<typeof pluginOfSkill>;
function pluginOfSkill() {
  return z.object({
    /** From its plugin.json, else from marketplace.json, else the folder's name. */
    name: z.string(),
    /** The skill's folder inside the plugin's, `/` as separator; `""`: they are the same. */
    skill: z.string(),
    /** Names of the MCP servers that it expects, in the form of hull.toml; absent: none. */
    mcp_servers: maybe(z.array(z.string())),
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
    /** It is an agent: runs hand work to it, and no model loads it. */
    agent: maybe(z.literal(true)),
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
    /** Id of the key that published it; absent if it needed none. */
    published_by: maybe(z.string()),
    /** The pinned catalog of the deployment that it was published to; absent if none is pinned. */
    pinned: maybe(sha256()),
    /** Catalogs that were served before, the latest one first. */
    earlier: maybe(z.array(z.object({ id: sha256(), published_at: z.string() }))),
  });
}
export const catalogPointerShape = z.lazy(catalogPointer);
