/** Checks an answer against its schema, interpreted: Workers refuse generated code. */

import { Validator } from "@cfworker/json-schema";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { affordable } from "./patterns.ts";
import { recursionFactor } from "./schema.ts";

const MAX_ERRORS = 10;
/** Most looks at one value's parts that a schema that refers to itself may cause. */
const MAX_LOOKS = 1_000_000;
const MAX_MESSAGE = 300;

/** What is wrong with a value, most telling first; none: it matches. `schema` comes from `readSchema`. */
export function schemaErrors(schema: JsonObject, value: Json): string[] {
  const looks = recursionFactor(schema) ** depthOf(value);
  if (looks > MAX_LOOKS) return ["the value nests deeper than the schema can be followed"];
  try {
    const { errors } = new Validator(affordable(schema, value), "2020-12", false).validate(value);
    const own = errors.filter(({ keyword }) => !CONTAINERS.has(keyword));
    const messages = (own.length > 0 ? own : errors).map(({ instanceLocation, error }) => {
      const path = instanceLocation.replace(/^#\/?/, "").replaceAll("/", ".");
      return `${path === "" ? "" : `${path}: `}${error}`.slice(0, MAX_MESSAGE);
    });
    return [...new Set(messages)].slice(0, MAX_ERRORS);
  } catch (error) {
    // A value that nests deep takes much stack; a pattern of the schema may not be a regular expression.
    return [`the schema cannot be applied: ${error instanceof Error ? error.message : String(error)}`];
  }
}

/** Keywords that only repeat that a part of theirs failed. */
const CONTAINERS = new Set(["properties", "items", "prefixItems", "allOf", "$ref", "additionalProperties"]);

function depthOf(value: Json): number {
  if (Array.isArray(value)) return 1 + value.reduce<number>((most, item) => Math.max(most, depthOf(item)), 0);
  if (!isObject(value)) return 0;
  return 1 + Object.values(value).reduce<number>((most, item) => Math.max(most, depthOf(item)), 0);
}
