/**
 * The keys of a tool in tools.json, declared once. The reader, the stored shape, the table of docs/tools.md and the JSON
 * Schema for editors follow from it.
 */
import * as z from "zod/mini";
import { type Fields, MAX_MS } from "../field-kinds.ts";

/** In rising order. */
export const RISKS = ["safe", "moderate", "dangerous", "critical"] as const;

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

const CONFIG_SCOPES = ["global", "per_bot", "per_call"] as const;

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

/** Which network a handler may reach: none, the named hosts (`api.example.com`, `*.example.com`), or any public one. */
export function networkNeed() {
  return z.nullable(z.object({ hosts: z.nullable(z.array(z.string())) }));
}

/** The keys of the format. */
export const FORMAT_FIELDS = {
  name: { kind: "text", required: true },
  description: { kind: "text", required: true },
  script: { kind: "text" },
  parameters: { kind: "map" },
} as const satisfies Fields;

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

export const TOOL_FIELDS = { ...FORMAT_FIELDS, ...EXTENSION_FIELDS, ...DISPLAY_FIELDS };
