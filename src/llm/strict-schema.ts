/**
 * Whether OpenAI takes a schema with `strict: true`; otherwise it refuses the request. Without `strict` it takes any schema.
 * Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
import { isObject, objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

/** Keywords that hold no schemas. Those that OpenAI may not take are missing. */
const PLAIN = new Set(
  "$schema $ref type title description enum const required pattern format multipleOf maximum minimum exclusiveMaximum exclusiveMinimum minItems maxItems".split(
    " ",
  ),
);

/** Every object in it requires all its members and allows no others. */
export const isStrict = (schema: JsonObject): boolean => schema.type === "object" && fits(schema);

function fits(schema: Json): boolean {
  if (!isObject(schema)) return false;
  const { properties, additionalProperties, items, anyOf = [], $defs, definitions, ...rest } = schema;
  const { required = [] } = rest;
  if (properties !== undefined || [rest.type].flat().includes("object")) {
    const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
    if (additionalProperties !== false || !Object.keys(objectOf(properties)).every(isRequired)) return false;
  }
  const named = [properties, $defs, definitions].flatMap((map) => Object.values(objectOf(map)));
  const below = [...named, ...[anyOf].flat(), ...(items === undefined ? [] : [items])];
  return Object.keys(rest).every((keyword) => PLAIN.has(keyword)) && below.every(fits);
}
