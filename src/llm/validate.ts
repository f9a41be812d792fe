/**
 * The one validator of JSON Schema 2020-12: of answers, of arguments and results of tools, and of what skills are given. It
 * interprets: Workers refuse generated code. Whoever wrote schema and value, it ends soon.
 */

import { Validator } from "@cfworker/json-schema";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { costlyPatterns, withoutPatterns } from "./patterns.ts";

const MAX_ERRORS = 10;
/** Most times that a schema is looked at, for parts of a value and by references: about a second. */
const MAX_LOOKS = 1_000_000;
/** So many members of a schema's keywords, e.g. the values of an `enum`, take as long as one look. */
const MEMBERS_A_LOOK = 4;
/** Most parts of items that are compared with each other, over all lists: about a second. */
const MAX_COMPARED = 25_000_000;
/** To compare two objects takes as long as so many pairs of numbers. */
const OBJECT_PARTS = 10;
const MAX_MESSAGE = 300;

interface Finding {
  /** JSON pointer to the part of the value. */
  pointer: string;
  keyword: string;
  message: string;
}

/** What is wrong with a value; or why that cannot be told, a clause. */
type Verdict = { findings: Finding[] } | { refused: string };

/**
 * Checks a value.
 * @param strict whether a pattern that may take too long is a reason to refuse; otherwise it is not applied
 */
export function validate(schema: JsonObject, value: Json, strict: boolean): Verdict {
  const costly = costlyPatterns(schema, value);
  const [pattern] = costly;
  if (strict && pattern !== undefined) {
    return { refused: `the value's texts are too long for the schema's pattern ${pattern.slice(0, 100)}` };
  }
  if (comparesItems(schema) && sizeOf(value).compared > MAX_COMPARED) {
    return { refused: "the value's lists are too long to be checked for uniqueItems" };
  }
  try {
    const counted = countingLooks(withoutPatterns(schema, costly));
    const { errors } = new Validator(counted, "2020-12", false).validate(value);
    const findings = errors.map(({ instanceLocation, keyword, error }) => {
      return { pointer: instanceLocation.replace(/^#/, ""), keyword, message: error };
    });
    return { findings };
  } catch (error) {
    // A value that nests deep takes much stack; a pattern of the schema may not be a regular expression.
    if (error instanceof RangeError)
      return { refused: "the value nests deeper, or has more parts, than the schema can be followed" };
    return {
      refused: `the schema cannot be applied: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

/** What is wrong with an answer, arguments or a result, most telling first; none: it matches. `schema` comes from `readSchema`. */
export function schemaErrors(schema: JsonObject, value: Json): string[] {
  const verdict = validate(schema, value, false);
  if ("refused" in verdict) return [verdict.refused];
  const own = verdict.findings.filter(({ keyword }) => !CONTAINERS.has(keyword));
  const messages = (own.length > 0 ? own : verdict.findings).map(({ pointer, message }) => {
    const path = pointer.replace(/^\//, "").replaceAll("/", ".");
    return `${path === "" ? "" : `${path}: `}${message}`.slice(0, MAX_MESSAGE);
  });
  return [...new Set(messages)].slice(0, MAX_ERRORS);
}

/** Keywords that only repeat that a part of theirs failed. */
const CONTAINERS = new Set(["properties", "items", "prefixItems", "allOf", "$ref", "additionalProperties"]);

/**
 * A copy that throws a RangeError once its parts were looked at too often; a wide one counts more often. Each look of the validator at a schema reads all
 * keywords that it knows, among them `$recursiveAnchor`, which 2020-12 does not have.
 */
function countingLooks(schema: JsonObject): JsonObject {
  let looks = 0;
  const look = (cost: number): undefined => {
    looks += cost;
    if (looks > MAX_LOOKS) throw new RangeError("too many looks");
  };
  const copy = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(copy);
    if (!isObject(value)) return value;
    const members = Object.entries(value).map(([key, item]): [string, Json] => [key, copy(item)]);
    const cost = 1 + membersOf(value) / MEMBERS_A_LOOK;
    // Not enumerable: what stands in const and enum is compared as it is.
    return Object.defineProperty(Object.fromEntries(members), "$recursiveAnchor", {
      get: () => look(cost),
    });
  };
  const counted = copy(schema);
  return isObject(counted) ? counted : {};
}

/** Whether some list's items must differ. */
function comparesItems(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some(comparesItems);
  if (!isObject(schema)) return false;
  return schema.uniqueItems === true || Object.values(schema).some(comparesItems);
}

/** What each look at a schema goes through: members of its keywords, and all that `enum` and `const` hold. */
function membersOf(schema: JsonObject): number {
  let members = 0;
  for (const [keyword, item] of Object.entries(schema)) {
    if (keyword === "enum" || keyword === "const") members += sizeOf(item).parts;
    // Each name of `required` that is missing is an error of its own.
    else if (Array.isArray(item)) members += 2 * item.length;
    else if (isObject(item)) members += Object.keys(item).length;
  }
  return members;
}

/** The parts of a value, and how many are compared where every list's items must differ. */
function sizeOf(value: Json): { parts: number; compared: number } {
  const list = Array.isArray(value);
  if (!list && !isObject(value)) return { parts: 1, compared: 0 };
  let inner = 0;
  let compared = 0;
  for (const item of Object.values(value)) {
    const size = sizeOf(item);
    inner += size.parts;
    compared += size.compared;
  }
  return { parts: inner + OBJECT_PARTS, compared: list ? compared + value.length * inner : compared };
}
