/** zod shapes of the registry's objects: parsed once when read, trusted afterwards. */
import * as z from "zod/mini";
import {
  type BundledFile,
  type Card,
  type Catalog,
  type CatalogPointer,
  CONFIG_SCOPES,
  CONFIG_TYPES,
  type Diagnostic,
  type Json,
  type JsonObject,
  type Manifest,
  MODES,
  PARAMETER_TYPES,
  RISKS,
  SIDE_EFFECT_LEVELS,
  type SkillRecord,
  type SkillTool,
  TIERS,
  TOOL_KINDS,
} from "../skill/manifest.ts";
import { WORKSPACE_TOOLS } from "../skill/tool-names.ts";

/** Larger objects, in bytes, are kept in R2 under the same key; a KV value is limited to 25 MiB. */
export const MAX_KV_BYTES = 24 * 1024 * 1024;

/** With `exactOptionalPropertyTypes`: absent, never `undefined`. */
const maybe = z.exactOptional;

/** In hex. */
export const sha256 = () => z.string().check(z.regex(/^[0-9a-f]{64}$/));
/** `JSON.parse` reads everything here, so it is always JSON. */
const json = () => z.custom<Json>();

const target = () => z.object({ provider: z.string(), model: z.nullable(z.string()) });

function tool() {
  const text = z.string();
  const parameter = z.object({
    name: text,
    description: text,
    required: z.boolean(),
    type: z.enum(PARAMETER_TYPES),
    enum: maybe(z.array(json())),
    items: maybe(z.enum(["string", "number", "integer", "boolean"])),
  });
  return z.object({
    name: text,
    description: text,
    command: z.array(text).check(z.minLength(1)),
    parameters: z.array(parameter),
    annotations: maybe(
      z.object({
        kind: maybe(z.enum(TOOL_KINDS)),
        side_effect_level: maybe(z.enum(SIDE_EFFECT_LEVELS)),
        capabilities: maybe(z.record(text, z.array(text))),
        arg_schema: maybe(z.record(text, json())),
      }),
    ),
    idempotent: maybe(z.boolean()),
  });
}

function manifest(): z.ZodMiniType<Manifest> {
  const text = z.string();
  const texts = z.array(text);
  const count = z.int().check(z.positive());
  const jsonObject: z.ZodMiniType<JsonObject> = z.record(text, json());
  return z.object({
    name: text,
    slug: z.string().check(z.regex(/^[a-z0-9]+(-{1,2}[a-z0-9]+)*$/)),
    description: text,
    mode: z.enum(MODES),
    route: z.string().check(z.startsWith("/")),
    method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    input: z.enum(["text", "file", "none"]),
    input_mime: texts,
    input_schema: maybe(jsonObject),
    output: z.enum(["text", "json", "file"]),
    output_mime: maybe(text),
    timeout_ms: count,
    idle_timeout_ms: count,
    deadline_ms: count,
    max_input_bytes: maybe(count),
    max_output_bytes: maybe(count),
    concurrency: maybe(count),
    tool_env: texts,
    run: maybe(texts.check(z.minLength(1))),
    serve: maybe(text),
    proxy: maybe(
      z.object({
        url: text,
        method: z.nullable(text),
        headers: z.record(text, text),
        forward_headers: texts,
        return_headers: texts,
      }),
    ),
    llm: maybe(
      z.object({
        target: target(),
        fallback: z.array(target()),
        tools: z.array(tool()),
        max_tokens: count,
        max_tool_rounds: maybe(count),
        max_tool_output_bytes: count,
        mcp_servers: maybe(
          z.array(
            z.object({
              name: text,
              url: text,
              headers: z.record(text, text),
              tools: maybe(texts),
              timeout_ms: count,
            }),
          ),
        ),
      }),
    ),
    daemon: maybe(
      z.object({
        task: text,
        cron: maybe(text),
        time_zone: maybe(text),
        wake_interval_ms: maybe(count),
        watch_paths: maybe(texts),
        options: maybe(jsonObject),
      }),
    ),
    license: maybe(text),
    compatibility: maybe(text),
    metadata: maybe(jsonObject),
    allowed_tools: maybe(texts),
    tool_scope: maybe(texts),
    workspace_tools: maybe(z.union([z.boolean(), z.array(z.enum(WORKSPACE_TOOLS))])),
    activation: maybe(
      z.object({
        when_to_use: maybe(text),
        paths: maybe(texts),
        disable_model_invocation: maybe(z.literal(true)),
        user_invocable: maybe(z.literal(false)),
        mcp: maybe(texts),
        require_signature: maybe(z.literal(true)),
        trusted_signers: maybe(texts),
        on_activate: maybe(text),
        on_deactivate: maybe(text),
        argument_hint: maybe(text),
        context: maybe(z.literal("fork")),
        agent: maybe(text),
        model: maybe(text),
        effort: maybe(text),
        shell: maybe(text),
      }),
    ),
    extra: jsonObject,
  });
}

function configParam() {
  const text = z.string();
  const number = z.number();
  return z.object({
    name: text,
    displayName: maybe(text),
    description: maybe(text),
    type: z.enum(CONFIG_TYPES),
    default: maybe(json()),
    scope: z.enum(CONFIG_SCOPES),
    min: maybe(number),
    max: maybe(number),
    step: maybe(number),
    options: maybe(z.array(text)),
    unit: maybe(text),
    placeholder: maybe(text),
    minItems: maybe(number),
    maxItems: maybe(number),
    rows: maybe(number),
    pathType: maybe(text),
    keyPlaceholder: maybe(text),
    valuePlaceholder: maybe(text),
    itemPlaceholder: maybe(text),
    language: maybe(text),
  });
}

function toolDisplay() {
  const text = z.string();
  return z.object({
    version: maybe(text),
    category: maybe(text),
    tags: maybe(z.array(text)),
    icon: maybe(text),
    display_name: maybe(text),
    deprecated: maybe(z.union([z.boolean(), text])),
    examples: maybe(z.array(json())),
    group: maybe(text),
    estimated_latency_ms: maybe(z.number()),
  });
}

function skillTool(): z.ZodMiniType<SkillTool> {
  const text = z.string();
  const jsonObject: z.ZodMiniType<JsonObject> = z.record(text, json());
  return z.object({
    name: text,
    description: text,
    parameters: jsonObject,
    tier: z.enum(TIERS),
    tier_reason: maybe(text),
    script: maybe(text),
    source: maybe(text),
    module: maybe(sha256()),
    timeout_ms: z.int().check(z.positive()),
    env: z.array(text),
    network: z.nullable(z.object({ hosts: z.nullable(z.array(text)) })),
    filesystem: z.boolean(),
    side_effects: z.boolean(),
    idempotent: z.boolean(),
    risk: z.enum(RISKS),
    hidden: z.boolean(),
    config: z.array(configParam()),
    output_schema: maybe(jsonObject),
    display: maybe(toolDisplay()),
  });
}

function diagnostic(): z.ZodMiniType<Diagnostic> {
  const text = z.string();
  return z.object({
    level: z.enum(["error", "warning", "info"]),
    code: text,
    skill: text,
    file: text,
    line: maybe(z.int()),
    column: maybe(z.int()),
    field: maybe(text),
    value: maybe(text),
    message: text,
    hint: maybe(text),
  });
}

function bundledFile(): z.ZodMiniType<BundledFile> {
  return z.object({
    path: z.string(),
    size: z.int().check(z.nonnegative()),
    mode: z.union([z.literal(0o644), z.literal(0o755)]),
    sha256: sha256(),
  });
}

export const skillRecord: z.ZodMiniType<SkillRecord> = z.lazy(() =>
  z.object({
    format: z.literal(1),
    manifest: manifest(),
    body: z.string(),
    files: z.array(bundledFile()),
    pack: z.nullable(sha256()),
    wants_workspace_tools: maybe(z.literal(true)),
    plugin: maybe(
      z.object({
        name: z.string(),
        skill: z.string(),
        folder: maybe(z.object({ pack: sha256(), files: z.array(bundledFile()) })),
      }),
    ),
    namespace: maybe(z.string()),
    hooks: maybe(z.object({ module: sha256(), exports: z.array(z.string()) })),
    tools: maybe(z.array(skillTool())),
    workflows: maybe(
      z.array(z.object({ name: z.string(), digest: sha256(), graph: z.record(z.string(), json()) })),
    ),
    diagnostics: maybe(z.array(diagnostic())),
    signature: maybe(z.object({ signer: sha256() })),
    uploaded_by: maybe(z.string()),
    stored: maybe(z.literal(true)),
  }),
);

function card(): z.ZodMiniType<Card> {
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
    uploaded: maybe(z.literal(true)),
    daemon: maybe(z.literal(true)),
    signer: maybe(sha256()),
    workspaceTools: maybe(z.literal(true)),
    namespace: maybe(text),
    workflows: maybe(z.array(z.object({ name: text, digest: sha256() }))),
  });
}

export const cardSchema: z.ZodMiniType<Card> = z.lazy(() => card());

export const catalogSchema: z.ZodMiniType<Catalog> = z.lazy(() =>
  z.object({
    format: z.literal(1),
    cards: z.array(card()),
    openapi: maybe(sha256()),
    variables: maybe(z.array(z.string())),
    overrides: maybe(z.record(z.string(), z.array(z.string()))),
  }),
);

/** The minimal shape of a stored OpenAPI document. */
export const openapiSchema = z.lazy(() => z.looseObject({ openapi: z.string().check(z.startsWith("3.1.")) }));

export const pointerSchema: z.ZodMiniType<CatalogPointer> = z.lazy(() =>
  z.object({
    id: sha256(),
    previous: z.nullable(sha256()),
    published_at: z.string(),
    pinned: maybe(sha256()),
    earlier: maybe(z.array(z.object({ id: sha256(), published_at: z.string() }))),
  }),
);
