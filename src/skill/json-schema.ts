/**
 * The meta-schema of JSON Schema 2020-12 (https://json-schema.org/draft/2020-12), keyword by keyword. With it the build
 * can check a skill's `input_schema` without generated code, and embed it in an OpenAPI document. Pure.
 */
import { percentDecoded } from "../bytes.ts";
import { isObject, own } from "./json.ts";
import type { Json, JsonObject } from "./manifest.ts";

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];

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
/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = new Set(
  words(
    "additionalProperties unevaluatedProperties items unevaluatedItems contains propertyNames not if then else contentSchema",
  ),
);
const MANY = new Set(words("allOf anyOf oneOf prefixItems"));
const NAMED = new Set(words("$defs definitions properties patternProperties dependentSchemas"));
/** Keywords that the document itself uses, or that belong to older versions of either format. */
const DROPPED = new Set(words("$schema $vocabulary dependencies discriminator xml externalDocs nullable"));

/** JSON pointers of the keywords whose value JSON Schema 2020-12 does not allow; empty: the schema is valid. */
export function schemaFaults(schema: Json): string[] {
  const faults: string[] = [];
  cleanSchema(schema, "", faults);
  return faults;
}

/**
 * The schema in a form for an OpenAPI document's `components`, or `null` if it is not JSON Schema 2020-12. References
 * to its own parts stay valid: a schema that has any becomes a separate resource named `id`.
 */
export function embeddedSchema(schema: JsonObject, id: string): JsonObject | null {
  const faults: string[] = [];
  const clean = cleanSchema(schema, "", faults);
  if (faults.length > 0 || !isObject(clean)) return null;
  const refers = /"\$(?:dynamicR|r)ef":/.test(JSON.stringify(clean));
  return refers && clean.$id === undefined ? { $id: id, ...clean } : clean;
}

/**
 * A keyword's value with other schemas in the place of those that it holds; `null`: it holds none.
 * @param map gets each schema, and its JSON pointer in the value
 */
export function withSchemas(
  keyword: string,
  value: Json,
  map: (schema: Json, at: string) => Json,
): Json | null {
  if (ONE.has(keyword)) return map(value, "");
  if (MANY.has(keyword) && Array.isArray(value)) {
    return value.map((schema, i) => map(schema, below("", String(i))));
  }
  if (!NAMED.has(keyword) || !isObject(value)) return null;
  const parts = Object.entries(value);
  return Object.fromEntries(parts.map(([name, schema]) => [name, map(schema, below("", name))]));
}

/** Every schema of a document, with itself. */
export function* everySchema(schema: Json): Generator<JsonObject> {
  if (!isObject(schema)) return;
  yield schema;
  for (const part of schemasIn(schema)) yield* everySchema(part);
}

/** The schemas directly in a schema; values in `enum`, `const` or `default` are not schemas. */
function schemasIn(schema: JsonObject): Json[] {
  const found: Json[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    withSchemas(keyword, value, (part) => {
      found.push(part);
      return part;
    });
  }
  return found;
}

/** A copy without the dropped keywords. Adds faults to `faults`. @param at JSON pointer of the schema */
function cleanSchema(schema: Json, at: string, faults: string[]): Json {
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema)) {
    faults.push(at);
    return true;
  }
  const kept = Object.entries(schema).filter(([keyword]) => !DROPPED.has(keyword));
  return Object.fromEntries(
    kept.map(([keyword, value]) => [keyword, cleanKeyword(keyword, value, below(at, keyword), faults)]),
  );
}

function cleanKeyword(keyword: string, value: Json, at: string, faults: string[]): Json {
  const clean = withSchemas(keyword, value, (schema, step) => cleanSchema(schema, at + step, faults));
  const isEmpty = MANY.has(keyword) && Array.isArray(value) && value.length === 0;
  const isOdd = clean === null && (MANY.has(keyword) || NAMED.has(keyword));
  if (isEmpty || isOdd || CHECKS.get(keyword)?.(value) === false) faults.push(at);
  return clean ?? value;
}

/** RFC 6901. */
function below(pointer: string, name: string): string {
  return `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/**
 * The part of a document to which a reference inside it leads: `#`, or `#` and a JSON pointer (RFC 6901 §6).
 * `undefined`: it leads nowhere.
 */
export function referredPart(reference: string, document: Json): Json | undefined {
  if (!/^#(?:\/|$)/.test(reference)) return undefined;
  let part: Json | undefined = document;
  for (const step of reference.split("/").slice(1)) {
    const name = percentDecoded(step)?.replaceAll("~1", "/").replaceAll("~0", "~");
    if (name === undefined) return undefined;
    if (Array.isArray(part)) part = /^(?:0|[1-9]\d*)$/.test(name) ? part[Number(name)] : undefined;
    else part = isObject(part) ? own(part, name) : undefined;
  }
  return part;
}
