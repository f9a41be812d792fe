/**
 * The keys of a tool in tools.json, declared once. The reader, the table of docs/tools.md and the JSON Schema for
 * editors follow from it.
 */
import { MAX_MS } from "../field-kinds.ts";
import { RISKS } from "../manifest.ts";
import type { Field } from "../manifest-fields.ts";

export const TOOL_FIELDS = {
  name: { kind: "text" },
  description: { kind: "text" },
  script: { kind: "text" },
  parameters: { kind: "map" },
  "x-env": { kind: "list" },
  "x-timeout-ms": { kind: "integer", min: 1, max: MAX_MS, default: 60_000 },
  /** What an author may request. */
  "x-tier": { kind: "choice", of: ["isolate", "runner"] },
  "x-requires-network": { kind: "any" },
  "x-requires-filesystem": { kind: "flag", default: false },
  "x-side-effects": { kind: "flag", default: false },
  "x-idempotent": { kind: "flag", default: false },
  "x-risk": { kind: "choice", of: ["auto", ...RISKS], anyCase: true, default: "auto" },
  "x-hidden": { kind: "flag", default: false },
  "x-config": { kind: "any" },
  "x-input-schema": { kind: "map" },
  "x-output-schema": { kind: "map" },
  "x-display-name": { kind: "text" },
  "x-version": { kind: "text" },
  "x-category": { kind: "text" },
  "x-tags": { kind: "list" },
  "x-icon": { kind: "text" },
  "x-group": { kind: "text" },
  "x-deprecated": { kind: "any" },
  "x-examples": { kind: "any" },
  "x-estimated-latency-ms": { kind: "integer", min: 0, max: MAX_MS },
} as const satisfies Record<string, Field>;

const NAMES = Object.keys(TOOL_FIELDS);
/** Hull's own keys; other runtimes ignore them. */
export const EXTENSION_KEYS: readonly string[] = NAMES.filter((name) => name.startsWith("x-"));
/** The keys of the format. */
export const FORMAT_KEYS: readonly string[] = NAMES.filter((name) => !name.startsWith("x-"));
