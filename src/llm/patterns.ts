/**
 * Patterns of a schema, which the validator gives to the platform's own engine: it goes back and tries again, and nobody can stop
 * it. Those that might keep it busy with a value's texts are left out.
 */
import { waysToMatch } from "../engine/regex/cost.ts";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

/** A fraction of a second. */
const MAX_WAYS = 1_000_000;

/** Schemas without a pattern, and what was found of the others. */
const known = new WeakMap<JsonObject, readonly string[]>();

/** The schema without the patterns that are not to be applied to this value: itself where that is none. */
export function affordable(schema: JsonObject, value: Json): JsonObject {
  const sources = known.get(schema) ?? [...patternsOf(schema)];
  known.set(schema, sources);
  if (sources.length === 0) return schema;
  const length = longestText(value);
  const costly = new Set(sources.filter((source) => waysToMatch(source, length) > MAX_WAYS));
  if (costly.size === 0) return schema;
  const left = without(schema, costly);
  return isObject(left) ? left : {};
}

/** Wherever they stand: a reference may make a schema of anything. */
function* patternsOf(value: Json): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* patternsOf(item);
  if (!isObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (key === "pattern" && typeof item === "string") yield item;
    if (key === "patternProperties" && isObject(item)) yield* Object.keys(item);
    yield* patternsOf(item);
  }
}

function without(value: Json, costly: ReadonlySet<string>): Json {
  if (Array.isArray(value)) return value.map((item) => without(item, costly));
  if (!isObject(value)) return value;
  const { patternProperties: named } = value;
  const unnamed = isObject(named) && Object.keys(named).some((source) => costly.has(source));
  // Nobody can tell which properties are further ones then.
  const gone = unnamed ? ["patternProperties", "additionalProperties", "unevaluatedProperties"] : [];
  const left = Object.entries(value).filter(
    ([key, item]) =>
      !gone.includes(key) && !(key === "pattern" && typeof item === "string" && costly.has(item)),
  );
  return Object.fromEntries(left.map(([key, item]) => [key, without(item, costly)]));
}

/** Of the texts and names in a value, in UTF-16 units. */
function longestText(value: Json): number {
  if (typeof value === "string") return value.length;
  if (Array.isArray(value)) return value.reduce<number>((most, item) => Math.max(most, longestText(item)), 0);
  if (!isObject(value)) return 0;
  return Object.entries(value).reduce(
    (most, [key, item]) => Math.max(most, key.length, longestText(item)),
    0,
  );
}
