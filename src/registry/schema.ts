/** zod shapes of what the registry stores (serving.md §1); parsed once when read, trusted afterwards. */
import * as z from "zod";
import {
  type Card,
  type Catalog,
  type CatalogPointer,
  type Json,
  type JsonObject,
  type Manifest,
  MODES,
  PARAMETER_TYPES,
  PROVIDERS,
  type SkillRecord,
} from "../skill/manifest.ts";

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const json: z.ZodType<Json> = z.json();
const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), json);
const count = z.int().positive();

/** With `exactOptionalPropertyTypes`: absent, never `undefined`. */
const maybe = <T extends z.ZodType>(schema: T) => z.exactOptional(schema);

const target = z.object({ provider: z.enum(PROVIDERS), model: z.string().nullable() });

const tool = z.object({
  name: z.string(),
  description: z.string(),
  command: z.array(z.string()).min(1),
  parameters: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      required: z.boolean(),
      type: z.enum(PARAMETER_TYPES),
      enum: maybe(z.array(json)),
      items: maybe(z.enum(["string", "number", "integer", "boolean"])),
    }),
  ),
});

const manifest: z.ZodType<Manifest> = z.object({
  name: z.string(),
  slug: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/),
  description: z.string(),
  mode: z.enum(MODES),
  route: z.string().startsWith("/"),
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]),
  input: z.enum(["text", "file", "none"]),
  input_mime: z.array(z.string()),
  input_schema: maybe(jsonObject),
  output: z.enum(["text", "json", "file"]),
  output_mime: maybe(z.string()),
  timeout_ms: count,
  idle_timeout_ms: count,
  deadline_ms: count,
  max_input_bytes: maybe(count),
  max_output_bytes: maybe(count),
  concurrency: maybe(count),
  tool_env: z.array(z.string()),
  run: maybe(z.array(z.string()).min(1)),
  serve: maybe(z.string()),
  proxy: maybe(
    z.object({
      url: z.string(),
      method: z.string().nullable(),
      headers: z.record(z.string(), z.string()),
      forward_headers: z.array(z.string()),
      return_headers: z.array(z.string()),
    }),
  ),
  llm: maybe(
    z.object({
      target,
      fallback: z.array(target),
      tools: z.array(tool),
      max_tokens: count,
      max_tool_rounds: count,
      max_tool_output_bytes: count,
    }),
  ),
  license: maybe(z.string()),
  compatibility: maybe(z.string()),
  metadata: maybe(jsonObject),
  allowed_tools: maybe(z.array(z.string())),
  extra: jsonObject,
});

export const skillRecord: z.ZodType<SkillRecord> = z.object({
  format: z.literal(1),
  manifest,
  body: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      size: z.int().nonnegative(),
      mode: z.union([z.literal(0o644), z.literal(0o755)]),
      sha256: digest,
    }),
  ),
  pack: digest.nullable(),
});

const card: z.ZodType<Card> = z.object({
  name: z.string(),
  slug: z.string(),
  description: z.string(),
  mode: z.enum(MODES),
  method: z.string(),
  route: z.string(),
  input: z.string(),
  output: z.string(),
  inputMime: maybe(z.array(z.string())),
  outputMime: maybe(z.string()),
  tools: maybe(z.array(z.string())),
  version: digest,
  stale: maybe(z.literal(true)),
});

export const catalogSchema: z.ZodType<Catalog> = z.object({ format: z.literal(1), cards: z.array(card) });

export const pointerSchema: z.ZodType<CatalogPointer> = z.object({
  id: digest,
  previous: digest.nullable(),
  published_at: z.string(),
});
