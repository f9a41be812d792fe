/**
 * The schema of a tool's arguments as providers accept it. Anthropic and OpenAI refuse a schema with `oneOf`, `anyOf` or
 * `allOf` at its root, OpenAI also one without `type: object` or without `properties`; MCP servers and Skill Tools have such
 * schemas. The model gets one object that permits at least as much. Hull checks a call against the whole schema.
 */
import { isObject, objectOf, present, textsIn } from "../skill/json.ts";
import { referredPart } from "../skill/json-schema.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

/** Members that some provider refuses at the root. */
const COMBINED = ["$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const"] as const;
/** If the schemas of a property together exceed this many characters of JSON, the property may be anything. */
const MAX_PROPERTY = 32_768;

/** An object schema with `properties` and without combinators at its root; one that is so already is returned unchanged. */
export function rootObject(schema: JsonObject): JsonObject {
  const combines = COMBINED.some((name) => name in schema);
  if (!combines && schema.properties !== undefined) return schema;
  const whole = combines ? new Folding(schema).folded(schema) : schema;
  return { ...whole, type: "object", properties: whole.properties ?? {} };
}

/** Folds each schema below a root once: those that refer to each other come to an end. */
class Folding {
  readonly #root: JsonObject;
  readonly #done = new Map<JsonObject, JsonObject>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  folded(schema: JsonObject): JsonObject {
    const known = this.#done.get(schema);
    if (known !== undefined) return known;
    this.#done.set(schema, {});
    const { $ref, allOf, anyOf, oneOf, not: _, enum: __, const: ___, ...own } = schema;
    const referred = typeof $ref === "string" ? referredPart($ref, this.#root) : undefined;
    const parts = [own, ...this.#objects([referred ?? null]), ...this.#objects(allOf)];
    for (const alternatives of [this.#objects(anyOf), this.#objects(oneOf)]) {
      if (alternatives.length > 0) parts.push(eitherOf(alternatives));
    }
    const whole = allOfThem(parts);
    this.#done.set(schema, whole);
    return whole;
  }

  #objects(members: Json | undefined): JsonObject[] {
    return (Array.isArray(members) ? members : [])
      .filter(isObject)
      .filter(({ type }) => type === undefined || type === "object")
      .map((member) => this.folded(member));
  }
}

/** A schema that every value satisfies which satisfies all of these. Of members with one name, the first one counts. */
function allOfThem([first = {}, ...others]: readonly JsonObject[]): JsonObject {
  if (others.length === 0) return first;
  const whole: JsonObject = {};
  let open: Json | undefined;
  for (const { properties: _, required: __, additionalProperties, ...further } of others.toReversed()) {
    Object.assign(whole, further);
    // `false` refers only to the properties of its own schema, so it would refuse those of the other ones.
    if (additionalProperties !== false) open ??= additionalProperties;
  }
  const all = [first, ...others];
  const properties = merged(all, "allOf");
  const required = [...new Set(all.flatMap(requiredIn))];
  const own = present({ properties, required });
  return { ...whole, ...first, ...own, ...(open === undefined ? {} : { additionalProperties: open }) };
}

/** A schema that every value satisfies which satisfies one of these. */
function eitherOf(schemas: readonly JsonObject[]): JsonObject {
  const properties = merged(schemas, "anyOf");
  const [first = [], ...others] = schemas.map(requiredIn);
  const sets = others.map((names) => new Set(names));
  const required = first.filter((name) => sets.every((names) => names.has(name)));
  return present({ properties, required });
}

/** The properties of all schemas; `null`: none has any. @param how different schemas of one property combine */
function merged(schemas: readonly JsonObject[], how: "allOf" | "anyOf"): JsonObject | null {
  /** By name, each with its JSON. */
  const found = new Map<string, Map<string, Json>>();
  for (const { properties } of schemas) {
    for (const [name, schema] of Object.entries(objectOf(properties))) {
      const known = found.get(name) ?? new Map<string, Json>();
      const text = JSON.stringify(schema);
      if (!known.has(text)) found.set(name, known.set(text, schema));
    }
  }
  if (found.size === 0) return null;
  const one = (variants: Json[]): Json => {
    const [first = {}] = variants;
    if (variants.length <= 1) return first;
    return JSON.stringify(variants).length > MAX_PROPERTY ? {} : { [how]: variants };
  };
  return Object.fromEntries(Array.from(found, ([name, variants]) => [name, one([...variants.values()])]));
}

const requiredIn = ({ required }: JsonObject): string[] => textsIn(required) ?? [];
