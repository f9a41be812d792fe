/**
 * The one validator of JSON Schema 2020-12, for answers, for arguments and results of tools, and for inputs of skills.
 * It interprets: Workers refuse generated code. It ends soon, whatever the schema and value.
 */

import { Validator } from "@cfworker/json-schema";
import { firstOf, firstWords } from "../cut.ts";
import { isObject, objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { costlyPatterns, withoutPatterns } from "./patterns.ts";

const MAX_ERRORS = 10;
/** The most visits of schemas, for parts of a value and by references: about a second. */
const MAX_LOOKS = 1_000_000;
/** This many members of a schema's keywords, e.g. the values of an `enum`, take as long as one visit. */
const MEMBERS_A_LOOK = 4;
/** The most comparisons between parts of items, over all lists: about a second. */
const MAX_COMPARED = 25_000_000;
/** One comparison of objects takes as long as this many comparisons of numbers. */
const OBJECT_PARTS = 10;
const MAX_MESSAGE = 300;

interface Finding {
  /** JSON pointer to the part of the value. */
  pointer: string;
  keyword: string;
  message: string;
}

/**
 * What is wrong with a value; or a clause that says why this cannot be decided. Findings that only repeat that a part
 * failed are left out if there are others.
 */
type Verdict = { findings: Finding[] } | { refused: string };

/** Checks a value. Nothing is decided if a pattern may take too long. */
export function validate(schema: JsonObject, value: Json): Verdict {
  const costly = costlyPatterns(schema, value);
  const [pattern] = costly;
  if (pattern === undefined) return verdictWithout(costly, schema, value);
  return { refused: `the value's strings are too long for the schema's pattern ${firstOf(pattern, 100)}` };
}

/** The verdict of a schema without these patterns. */
function verdictWithout(costly: ReadonlySet<string>, schema: JsonObject, value: Json): Verdict {
  if (comparesItems(schema) && sizeOf(value).compared > MAX_COMPARED) {
    return { refused: "the value's lists are too long to be checked for uniqueItems" };
  }
  try {
    const counted = countingLooks(withoutPatterns(schema, costly));
    const { errors } = new Validator(counted, "2020-12", false).validate(value);
    const findings = errors.map(({ instanceLocation, keyword, error }) => {
      const message = keyword === "false" ? "the schema allows nothing here" : error.replace(/\.$/, "");
      return { pointer: instanceLocation.replace(/^#/, ""), keyword, message };
    });
    const own = findings.filter(({ keyword }) => !CONTAINERS.has(keyword));
    return { findings: own.length > 0 ? own : findings };
  } catch (error) {
    // A deeply nested value takes much stack; a pattern of the schema may not be a regular expression.
    if (error instanceof RangeError)
      return { refused: "the value nests deeper, or has more parts, than the schema can be followed" };
    return {
      refused: `the schema cannot be applied: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

/**
 * What is wrong with an answer, arguments or a result, most telling first; empty: it matches. A pattern that may take
 * too long is ignored. `schema` comes from `readSchema`.
 */
export function schemaErrors(schema: JsonObject, value: Json): string[] {
  const verdict = verdictWithout(costlyPatterns(schema, value), schema, value);
  if ("refused" in verdict) return [verdict.refused];
  const messages = verdict.findings.map(({ pointer, message }) => {
    const path = pointer.replace(/^\//, "").replaceAll("/", ".");
    return firstWords(`${path === "" ? "" : `${path}: `}${message}`, MAX_MESSAGE);
  });
  return [...new Set(messages)].slice(0, MAX_ERRORS);
}

/** Keywords whose errors only repeat that a part failed. */
const CONTAINERS = new Set(["properties", "items", "prefixItems", "allOf", "$ref", "additionalProperties"]);

/**
 * A copy that throws a RangeError after too many visits; a wide schema counts more often. At each visit the validator
 * reads all keywords that it knows, among them `$recursiveAnchor`, which 2020-12 does not have.
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
    // Not enumerable: the content of const and enum is compared unchanged.
    return Object.defineProperty(Object.fromEntries(members), "$recursiveAnchor", { get: () => look(cost) });
  };
  const counted = copy(schema);
  return objectOf(counted);
}

/** Whether some list in the schema must have different items. */
function comparesItems(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some(comparesItems);
  if (!isObject(schema)) return false;
  return schema.uniqueItems === true || Object.values(schema).some(comparesItems);
}

/** What each visit of a schema goes through: members of its keywords, and all values in `enum` and `const`. */
function membersOf(schema: JsonObject): number {
  let members = 0;
  for (const [keyword, item] of Object.entries(schema)) {
    if (keyword === "enum" || keyword === "const") members += sizeOf(item).parts;
    // Each missing name of `required` is an error of its own.
    else if (Array.isArray(item)) members += 2 * item.length;
    else if (isObject(item)) members += Object.keys(item).length;
  }
  return members;
}

/** The parts of a value, and how many comparisons there are if every list's items must differ. */
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
