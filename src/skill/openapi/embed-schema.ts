/**
 * A skill's `input_schema` inside the OpenAPI document. Authors write what they like into it, and one bad keyword would
 * make the whole document invalid, so it is checked against JSON Schema 2020-12's meta-schema, keyword by keyword.
 */
import type { Json, JsonObject } from "../manifest.ts";

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];

const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: Json): boolean => typeof value === "string";
const isNumber = (value: Json): boolean => typeof value === "number";
const isCount = (value: Json): boolean => Number.isInteger(value) && Number(value) >= 0;
const isFlag = (value: Json): boolean => typeof value === "boolean";
const isTexts = (value: Json): boolean =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;
const isName = (value: Json): boolean =>
  typeof value === "string" && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value);
const isType = (value: Json): boolean => typeof value === "string" && TYPES.includes(value);

function isPattern(value: Json): boolean {
  if (typeof value !== "string") return false;
  try {
    return new RegExp(value, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

const words = (text: string): string[] => text.split(" ");
const CHECKS = new Map<string, (value: Json) => boolean>([
  ...words("$ref $dynamicRef $comment title description format contentEncoding contentMediaType").map(
    (keyword) => [keyword, isText] as const,
  ),
  ...words("maximum exclusiveMaximum minimum exclusiveMinimum").map(
    (keyword) => [keyword, isNumber] as const,
  ),
  ...words("maxLength minLength maxItems minItems maxContains minContains maxProperties minProperties").map(
    (keyword) => [keyword, isCount] as const,
  ),
  ...words("uniqueItems deprecated readOnly writeOnly").map((keyword) => [keyword, isFlag] as const),
  ...words("enum examples").map((keyword) => [keyword, Array.isArray] as const),
  ...words("$anchor $dynamicAnchor").map((keyword) => [keyword, isName] as const),
  ["$id", (value) => typeof value === "string" && /^[^#]*#?$/.test(value)],
  ["pattern", isPattern],
  ["multipleOf", (value) => Number(value) > 0 && isNumber(value)],
  ["required", isTexts],
  [
    "type",
    (value) =>
      isType(value) || (Array.isArray(value) && value.every(isType) && isTexts(value) && value.length > 0),
  ],
  ["dependentRequired", (value) => isObject(value) && Object.values(value).every(isTexts)],
]);
const ONE = new Set(
  words(
    "additionalProperties unevaluatedProperties items unevaluatedItems contains propertyNames not if then else contentSchema",
  ),
);
const MANY = new Set(words("allOf anyOf oneOf prefixItems"));
const NAMED = new Set(words("$defs definitions properties patternProperties dependentSchemas"));
/** Words that the document itself gives a meaning, or that belong to older versions of either format. */
const DROPPED = new Set(words("$schema $vocabulary dependencies discriminator xml externalDocs nullable"));

/**
 * The schema as it can stand under `components`, or `null` where it is no JSON Schema 2020-12. References to its own
 * parts stay valid: a schema that has any becomes a resource of its own, named by `id`.
 */
export function embedSchema(schema: JsonObject, id: string): JsonObject | null {
  const clean = cleanSchema(schema);
  if (clean === null || !isObject(clean)) return null;
  const refers = /"\$(?:dynamicR|r)ef":/.test(JSON.stringify(clean));
  return refers && clean.$id === undefined ? { $id: id, ...clean } : clean;
}

/** A copy without the dropped keywords; `null` where a keyword has a value that it cannot have. */
function cleanSchema(schema: Json): Json | null {
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema)) return null;
  const clean: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (DROPPED.has(keyword)) continue;
    const kept = cleanKeyword(keyword, value);
    if (kept === null && value !== null) return null;
    clean[keyword] = kept;
  }
  return clean;
}

function cleanKeyword(keyword: string, value: Json): Json | null {
  if (ONE.has(keyword)) return cleanSchema(value);
  if (MANY.has(keyword)) return Array.isArray(value) && value.length > 0 ? cleanAll(value) : null;
  if (NAMED.has(keyword)) {
    if (!isObject(value)) return null;
    const parts = cleanAll(Object.values(value));
    return parts && Object.fromEntries(Object.keys(value).map((name, i) => [name, parts[i] ?? true]));
  }
  return (CHECKS.get(keyword)?.(value) ?? true) ? value : null;
}

function cleanAll(schemas: readonly Json[]): Json[] | null {
  const clean: Json[] = [];
  for (const schema of schemas) {
    const part = cleanSchema(schema);
    if (part === null) return null;
    clean.push(part);
  }
  return clean;
}
