/** One operation of a fixed route, and the parts common to several of them. */
import type * as z from "zod/mini";
import type { OperationId, RouteScope } from "../skill/fixed-routes.ts";
import { defined, objectOf } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, answerHeaders, problems, query, ref, TEXT } from "./openapi-parts.ts";
import { bodySchema } from "./shape-schema.ts";

/** Possible errors of every route that requires a key, before its own work begins. */
const GUARDED = [401, 403, 405, 429, 500, 503];
/** Possible errors of reading a body. */
const BODY = [400, 408, 413, 422];

export interface Operation {
  tag: "skills" | "files" | "models" | "sessions" | "spending" | "operation" | "publishing";
  summary: string;
  /** Without those of the path (`path-parameters.ts`). */
  parameters?: JsonObject[];
  body?: JsonObject;
  answers: { [status: string]: JsonObject };
  /** Statuses in addition to those that follow from its scope, parameters and body. */
  faults?: number[];
  /** Statuses that follow from these, but that it cannot answer. */
  never?: number[];
  /** Whether errors have the shape of the client's dialect (docs/skills-api.md). */
  vendor?: true;
}
type Further = Partial<Operation>;

/** Operations by id. `src/skill/fixed-routes.ts` has their routes. */
export type Operations = { readonly [id in OperationId]?: Operation };

export const schema = (name: string): ReturnType<typeof ref> => ref("schemas", name);
/** A schema, or the name of one of `components/schemas`. */
export type Schema = JsonObject | string;
export const json = (of: Schema): JsonObject => ({
  "application/json": { schema: typeof of === "string" ? schema(of) : of },
});
/**
 * A JSON body: the shape that reads it, or the schema of that shape.
 * @param meanings as in `bodySchema`
 */
export const body = (
  shape: z.core.$ZodType | Schema,
  meanings: { [member: string]: JsonObject } = {},
): JsonObject => ({ required: true, content: json(isShape(shape) ? bodySchema(shape, meanings) : shape) });
const isShape = (shape: z.core.$ZodType | Schema): shape is z.core.$ZodType =>
  typeof shape !== "string" && "_zod" in shape;
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
/** The parameters of a file that can be read in ranges. */
export const RANGED = [NO_MATCH, ref("parameters", "range"), ref("parameters", "if-range")];
export const KEY = ref("parameters", "idempotency-key");
/** In which form a request that runs something is answered, and again under its key. */
export const ANSWERED = ["idempotency-key", "prefer", "stream", "last-event-id"].map((name) =>
  ref("parameters", name),
);
export const CURSOR = query("cursor", "Where the page before ended.", TEXT);
/** The parameters of a list. @param usual items per page */
export const paged = (usual = 20): JsonObject[] => [
  query("limit", "Items per page.", { type: "integer", minimum: 1, maximum: 1000, default: usual }),
  CURSOR,
];
export const EVENTS: JsonObject = { "text/event-stream": { schema: schema("Events") } };

/** An operation that answers with JSON. @param outcome what the answer is */
export const reads = (
  tag: Operation["tag"],
  summary: string,
  shape: Schema,
  { outcome = "The answer", ...more }: Further & { outcome?: string } = {},
): Operation => ({ tag, summary, answers: { 200: answer(outcome, json(shape)) }, ...more });

/** An operation that answers with a page of a list. @param shape of the page @param usual items per page */
export const lists = (
  tag: Operation["tag"],
  summary: string,
  shape: Schema,
  { parameters = [], usual, ...more }: Further & { usual?: number } = {},
): Operation =>
  reads(tag, summary, shape, { outcome: "The page", parameters: [...paged(usual), ...parameters], ...more });

/** An operation that follows events. */
export const follows = (tag: Operation["tag"], summary: string): Operation => ({
  tag,
  summary,
  parameters: [ref("parameters", "last-event-id"), ref("parameters", "after")],
  answers: { 200: answer("Events", EVENTS) },
  faults: [400],
});

/** An operation that removes something. @param outcome what is so afterwards */
export const removes = (
  tag: Operation["tag"],
  summary: string,
  { outcome = "It is removed", ...more }: Further & { outcome?: string } = {},
): Operation => ({ tag, summary, answers: { 204: answer(outcome, null) }, ...more });

/** The answers with a file, whole or a range of it. @param names of further headers */
export const fileAnswers = (...names: string[]): Operation["answers"] => ({
  200: answer("The file", { "*/*": {} }, tagged(...names)),
  206: answer("A range of the file", { "*/*": {} }, tagged(...names)),
  304: UNCHANGED,
});

/** The Operation Object. */
export function render(id: string, scope: RouteScope, operation: Operation): JsonObject {
  const { tag, summary, parameters, body, answers, vendor } = operation;
  const scopes = scope === "any" ? [] : [scope === "own" ? "invoke" : scope];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...defined({ parameters, requestBody: body }),
    responses: {
      ...(vendor === true
        ? { default: ref("responses", "VendorError") }
        : problems(faultsOf(scope, operation))),
      ...answers,
    },
    // Operations without a requirement of their own have the document's.
    ...(scopes[0] === "invoke" ? {} : { security: [{ bearer: scopes }, { apiKey: scopes }] }),
    ...(scope === "open" ? { security: [] } : {}),
  };
}

/** A parameter of the query may be wrong, and what the path names may not exist. */
function faultsOf(scope: RouteScope, operation: Operation): number[] {
  const { parameters = [], body, faults = [], never = [] } = operation;
  const takes = (place: string): boolean => parameters.some((parameter) => parameter.in === place);
  const all = [
    ...(scope === "open" ? [403, 405, 500] : GUARDED),
    ...(takes("query") ? [400] : []),
    ...(takes("path") ? [404] : []),
    ...(body === undefined ? [] : BODY),
    ...(body !== undefined && isText(body) ? [415] : []),
    ...faults,
  ];
  return all.filter((status) => !never.includes(status));
}

/** Whether Hull reads a body's text, for which it must not be compressed. */
const isText = ({ content = {} }: JsonObject): boolean =>
  Object.keys(objectOf(content)).some((type) => /json|toml/.test(type));
