/** One operation of a fixed route, and the parts common to several of them. */
import type * as z from "zod/mini";
import type { OperationId, RouteScope } from "../skill/fixed-routes.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { answer, answerHeaders, inPath, problems, query, ref, TEXT } from "./openapi-parts.ts";
import { bodySchema } from "./shape-schema.ts";

/** Possible errors of every route that requires a key, before its own work begins. */
const GUARDED = [401, 403, 405, 429, 500, 503];

export interface Operation {
  tag: "skills" | "files" | "models" | "sessions" | "spending" | "operation" | "publishing";
  summary: string;
  parameters?: JsonObject[];
  body?: JsonObject;
  answers: { [status: string]: JsonObject };
  /** Statuses in addition to those of `GUARDED`. */
  faults?: number[];
  /** Whether errors have the shape of the client's dialect (docs/skills-api.md). */
  vendor?: true;
}

/** Operations by id. `src/skill/fixed-routes.ts` has their routes. */
export type Operations = { readonly [id in OperationId]?: Operation };

export const json = (schema: Json): JsonObject => ({ "application/json": { schema } });
export const schema = (name: string): ReturnType<typeof ref> => ref("schemas", name);
/**
 * A JSON body: the shape that reads it, or the schema of that shape.
 * @param said as in `bodySchema`
 */
export const body = (
  shape: z.core.$ZodType | JsonObject,
  said: { [member: string]: JsonObject } = {},
): JsonObject => ({ required: true, content: json(isShape(shape) ? bodySchema(shape, said) : shape) });
const isShape = (shape: z.core.$ZodType | JsonObject): shape is z.core.$ZodType => "_zod" in shape;
/** The same for a body that may be missing. */
export const maybeBody = (...of: Parameters<typeof body>): JsonObject => ({
  ...body(...of),
  required: false,
});
export const tagged = (...names: string[]): JsonObject => ({
  ...answerHeaders(),
  etag: ref("headers", "etag"),
  ...Object.fromEntries(names.map((name) => [name, ref("headers", name)])),
});
export const UNCHANGED = answer("Unchanged", null, tagged());
export const NO_MATCH = ref("parameters", "if-none-match");
export const slug = inPath("slug", { type: "string", pattern: "^[a-z0-9]+(-{1,2}[a-z0-9]+)*$" });
export const cursor = query("cursor", "Where the page before ended.", TEXT);

/** The Operation Object. */
export function render(
  id: string,
  scope: RouteScope,
  { tag, summary, parameters, body, answers, faults = [], vendor }: Operation,
): JsonObject {
  const statuses = scope === "open" ? [403, 405, 500, ...faults] : [...GUARDED, ...faults];
  const scopes = scope === "any" ? [] : [scope === "own" ? "invoke" : scope];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(parameters === undefined ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      ...(vendor === true ? { default: ref("responses", "VendorError") } : problems(statuses)),
      ...answers,
    },
    // Operations without a requirement of their own have the document's.
    ...(scopes[0] === "invoke" ? {} : { security: [{ bearer: scopes }, { apiKey: scopes }] }),
    ...(scope === "open" ? { security: [] } : {}),
  };
}
