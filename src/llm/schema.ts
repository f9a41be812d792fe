/**
 * Schemas of structured answers. JSON Schema, OpenAPI Schema Objects and the Harn dialect become JSON Schema 2020-12.
 * Schemas that could keep a validator busy for ever are refused first.
 */

import { firstOf } from "../cut.ts";
import { InputInvalid } from "../errors/request.ts";
import { isObject, present } from "../skill/json.ts";
import { everySchema, referredPart, schemaFaults } from "../skill/json-schema.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { wrong } from "./members.ts";

const MAX_DEPTH = 64;
const MAX_NODES = 10_000;
const MAX_CHARACTERS = 1024 * 1024;
/** The most schemas that may apply to one value, including references. */
const MAX_APPLIED = 10_000;

/** Types of the Harn dialect that have other names in JSON Schema. */
const DIALECT = new Map([
  ["dict", "object"],
  ["list", "array"],
  ["int", "integer"],
  ["float", "number"],
  ["bool", "boolean"],
  ["nil", "null"],
]);

/** Keywords that fail each value if their own value is not allowed. The check ignores other keywords with such a value. */
const DECISIVE = new Set(["type", "enum", "allOf", "anyOf", "oneOf", "multipleOf"]);
/** Keywords that apply to the same value, not to a part of it. */
const IN_PLACE = new Set(["not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas"]);

/**
 * The schema as JSON Schema 2020-12.
 * @throws InvalidRequest for a schema that is too deep or too large, or whose references form a cycle
 */
export function readSchema(schema: JsonObject, option: string): JsonObject {
  const refuse: Refuse = (reason) => wrong(option, `the schema ${reason}`);
  const size = { nodes: 0, characters: 0 };
  const clean = translated(schema, 0, size, refuse);
  if (!isObject(clean)) throw refuse("is not an object");
  checkReferences(clean, refuse);
  return clean;
}

/**
 * Refuses a schema that no answer can match, because a keyword has a value that JSON Schema 2020-12 does not allow. A
 * stored run may still have one.
 * @param schema as `readSchema` returns it
 * @param path of the schema in the request
 * @throws InputInvalid
 */
export function checkSchema(schema: JsonObject, path: string): void {
  const fault = schemaFaults(schema).find((at) => DECISIVE.has(at.slice(at.lastIndexOf("/") + 1)));
  if (fault === undefined) return;
  const message = `No answer can match ${path}: JSON Schema 2020-12 does not allow the value at ${firstOf(fault, 200)}.`;
  throw new InputInvalid({ reason: message, errors: [{ path, message }] });
}

type Refuse = (reason: string) => ReturnType<typeof wrong>;

function translated(
  value: Json,
  depth: number,
  size: { nodes: number; characters: number },
  refuse: Refuse,
): Json {
  size.nodes++;
  if (typeof value === "string") size.characters += value.length;
  if (depth > MAX_DEPTH) throw refuse(`nests more than ${MAX_DEPTH} levels deep`);
  if (size.nodes > MAX_NODES) throw refuse(`has more than ${MAX_NODES} parts`);
  if (size.characters > MAX_CHARACTERS) throw refuse(`is longer than ${MAX_CHARACTERS} characters`);
  if (Array.isArray(value)) return value.map((item) => translated(item, depth + 1, size, refuse));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]): [string, Json] => {
    size.characters += key.length;
    const below = translated(item, depth + 1, size, refuse);
    return [key, key === "type" ? jsonType(below) : below];
  });
  return nullable(Object.fromEntries(entries));
}

function jsonType(type: Json): Json {
  if (typeof type === "string") return DIALECT.get(type) ?? type;
  return Array.isArray(type) ? type.map(jsonType) : type;
}

/** Translates OpenAPI's `nullable` and `exclusiveMinimum: true` to JSON Schema. */
function nullable(schema: JsonObject): JsonObject {
  const { nullable: nil, ...rest } = schema;
  if (typeof nil !== "boolean") return exclusive(schema);
  if (!nil) return exclusive(rest);
  const withNull = exclusive(rest);
  if (typeof withNull.type !== "string") {
    // References are resolved from the outermost schema.
    const { $defs, definitions, ...own } = withNull;
    return { ...present({ $defs, definitions }), anyOf: [own, { type: "null" }] };
  }
  const members = Array.isArray(withNull.enum) ? { enum: [...withNull.enum, null] } : {};
  return { ...withNull, type: [withNull.type, "null"], ...members };
}

function exclusive(schema: JsonObject): JsonObject {
  const out = { ...schema };
  for (const bound of ["minimum", "maximum"] as const) {
    const word = bound === "minimum" ? "exclusiveMinimum" : "exclusiveMaximum";
    if (typeof out[word] !== "boolean") continue;
    const strict = out[word];
    delete out[word];
    const limit = out[bound];
    if (!strict || limit === undefined) continue;
    delete out[bound];
    out[word] = limit;
  }
  return out;
}

/**
 * Checks all schemas that apply to one value. A schema that refers back to itself without a step into the value, or
 * that multiplies through references, would keep the validator busy without end.
 */
function checkReferences(root: JsonObject, refuse: Refuse): void {
  const costs = new Map<JsonObject, number>();
  const open = new Set<JsonObject>();
  const cost = (schema: Json): number => {
    if (!isObject(schema)) return 1;
    const known = costs.get(schema);
    if (known !== undefined) return known;
    if (open.has(schema)) throw refuse("refers to itself without a step into the value");
    open.add(schema);
    let sum = 1;
    for (const part of inPlace(schema, root, refuse)) sum += cost(part);
    if (sum > MAX_APPLIED) throw refuse(`applies more than ${MAX_APPLIED} schemas to one value`);
    open.delete(schema);
    costs.set(schema, sum);
    return sum;
  };
  for (const schema of everySchema(root)) cost(schema);
}

function inPlace(schema: JsonObject, root: JsonObject, refuse: Refuse): Json[] {
  const parts: Json[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "$ref" && typeof value === "string") parts.push(target(value, root, refuse));
    if (!IN_PLACE.has(keyword)) continue;
    if (Array.isArray(value)) parts.push(...value);
    else if (keyword === "dependentSchemas" && isObject(value)) parts.push(...Object.values(value));
    else parts.push(value);
  }
  return parts;
}

/** The target of a reference inside the document. Hull refuses others, since it fetches nothing. */
function target(reference: string, root: JsonObject, refuse: Refuse): Json {
  if (!reference.startsWith("#")) throw refuse(`refers to ${firstOf(reference, 100)}, outside of itself`);
  const part = referredPart(reference, root);
  if (part === undefined) throw refuse(`refers to ${firstOf(reference, 100)}, which it does not hold`);
  return part;
}
