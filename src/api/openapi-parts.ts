/** Small building blocks of the OpenAPI document (https://spec.openapis.org/oas/v3.1.1.html). */
import { objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

type ComponentKind = "schemas" | "responses" | "parameters" | "headers" | "requestBodies";

/** A Reference Object. `name` contains only `A-Z a-z 0-9 . _ -`, so it needs no escaping. */
export function ref(kind: ComponentKind, name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** The schema of an object with these properties; all are required except those of `optional`. */
export function object(properties: JsonObject, optional: string[] = []): JsonObject {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", required, properties };
}

/** A schema for each member of a type. */
export type Members<T> = { readonly [K in keyof T]-?: JsonObject };
type Optional<T> = { [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? K : never }[keyof T];

/**
 * The schema of an answer of this type. The compiler requires exactly the members of the type, and checks which are
 * optional.
 */
export const view =
  <T>() =>
  (properties: Members<T>, optional: { readonly [K in Optional<T>]: true }): JsonObject =>
    object(objectOf(properties), Object.keys(optional));

/** The schema of a page of a list. */
export function pageOf(items: JsonObject): JsonObject {
  return object({ data: { type: "array", items }, next_cursor: MAYBE_TEXT });
}

export const TEXT: JsonObject = { type: "string" };
export const TEXTS: JsonObject = { type: "array", items: TEXT };
/** Objects that another page describes. */
export const OBJECTS: JsonObject = { type: "array", items: { type: "object" } };
export const MAYBE_TEXT: JsonObject = { type: ["string", "null"] };
export const COUNT: JsonObject = { type: "integer", minimum: 0 };
export const MAYBE_COUNT: JsonObject = { ...COUNT, type: ["integer", "null"] };
export const TIME: JsonObject = { type: "string", format: "date-time" };
export const MAYBE_TIME: JsonObject = { type: ["string", "null"], format: "date-time" };
export const BINARY: JsonObject = { type: "string", contentMediaType: "application/octet-stream" };
/** Ids of stored files. */
export const FILE_IDS: JsonObject = {
  type: "array",
  maxItems: 100,
  items: { type: "string", pattern: "^file_[0-9a-f]{32}$" },
};

/** The headers of every answer that differ between answers. */
export function answerHeaders(): JsonObject {
  const names = ["x-request-id", "server-timing", "x-hull-duration-ms"];
  return Object.fromEntries(names.map((name) => [name, ref("headers", name)]));
}

/** The headers of an answer that names a place. */
export const LOCATED: JsonObject = {
  ...answerHeaders(),
  Location: { schema: { type: "string", format: "uri-reference" } },
};

/** The headers of a run, with the named ones added. */
export function runHeaders(...more: string[]): JsonObject {
  const names = ["x-hull-execution-id", "x-hull-skill", "x-hull-stale", "cache-control", ...more];
  return { ...answerHeaders(), ...Object.fromEntries(names.map((name) => [name, ref("headers", name)])) };
}

/** A Response Object. */
export function answer(
  description: string,
  content: { [mediaType: string]: Json } | null,
  headers: JsonObject = answerHeaders(),
): JsonObject {
  return { description, headers, ...(content === null ? {} : { content }) };
}

/** The error answers of an operation. @param statuses must be statuses of the error vocabulary */
export function problems(statuses: readonly number[]): { [status: string]: Json } {
  return Object.fromEntries(statuses.map((status) => [String(status), ref("responses", String(status))]));
}

/** A query parameter. */
export function query(name: string, description: string, schema: JsonObject): JsonObject {
  return { name, in: "query", description, schema };
}

/** A parameter that is a header. */
export function header(name: string, description: string): JsonObject {
  return { name, in: "header", description, schema: TEXT };
}

/** Shared headers; every operation refers to them. */
export function headerComponents(): JsonObject {
  const header = (description: string, schema: JsonObject, required = false): JsonObject => ({
    description,
    ...(required ? { required } : {}),
    schema,
  });
  return {
    "x-request-id": header("The client's own id where it is sane, else a new one.", TEXT, true),
    "server-timing": header("Total and the known parts, in ms.", TEXT, true),
    "x-hull-duration-ms": header(
      "Until the first byte of the answer.",
      { type: "integer", minimum: 0 },
      true,
    ),
    "x-hull-execution-id": header("Names the run in events and logs.", { type: "string", pattern: "^ex_" }),
    "x-hull-skill": header("`<slug>@<first 12 characters of the digest>`", TEXT),
    "x-hull-stale": header("The folder is broken; its last good version answered.", { const: "1" }),
    "x-hull-finish-reason": header("Why the model stopped.", {
      type: "string",
      enum: ["stop", "length", "refusal", "content_filter", "other"],
    }),
    "x-hull-usage": header("`input=<n>;output=<n>;rounds=<n>;tools=<n>`, over all rounds.", TEXT),
    "x-hull-warnings": header("Codes of the answer's warnings, with commas between them.", TEXT),
    "x-hull-files": header(
      'The files that are new or changed: `<id>;path="…";size=<n>;type="…";sha256="…"`, with commas between them.',
      TEXT,
    ),
    "x-hull-note": header("What the script printed in addition to its file, percent-encoded.", TEXT),
    "cache-control": header("`no-store`, unless a file or an upstream says otherwise.", TEXT),
    "content-disposition": header(
      "Last part of the file's name, and `attachment` for what a browser would execute.",
      TEXT,
    ),
    etag: header("Validator for `If-None-Match`.", TEXT),
    "retry-after": header("Seconds; present where waiting helps.", { type: "integer", minimum: 0 }),
  };
}
