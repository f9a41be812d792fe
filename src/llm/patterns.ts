/**
 * Patterns of a schema. The validator gives them to the platform's own engine, which backtracks and cannot be stopped.
 * So patterns that might run too long on a value's texts are left out.
 */
import { stepsToMatch } from "../engine/regex/cost.ts";
import { memo } from "../memo.ts";
import { isObject, objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

/** The most steps of all patterns on all texts together: a fraction of a second. */
const MAX_STEPS = 100_000_000;

/** The patterns of a schema, including duplicates. */
const sourcesOf = memo((schema: JsonObject): readonly string[] => [...patternsOf(schema)]);

/** The patterns of a schema that might take too long with this value. */
export function costlyPatterns(schema: JsonObject, value: Json): ReadonlySet<string> {
  const sources = sourcesOf(schema);
  const costly = new Set<string>();
  if (sources.length === 0) return costly;
  const sizes = sizesOf(value);
  const costs = sources
    .map((source) => ({
      source,
      steps: Array.from(sizes, ([length, count]) => count * stepsToMatch(source, length)).reduce(add, 0),
    }))
    .sort((a, b) => a.steps - b.steps);
  let left = MAX_STEPS;
  for (const { source, steps } of costs) {
    left -= steps;
    if (!(left >= 0)) costly.add(source);
  }
  return costly;
}

const add = (a: number, b: number): number => a + b;

/** The schema without these patterns; unchanged if there are none. */
export function withoutPatterns(schema: JsonObject, costly: ReadonlySet<string>): JsonObject {
  if (costly.size === 0) return schema;
  const left = without(schema, costly);
  return objectOf(left);
}

/** Finds patterns anywhere in the schema, since a reference may turn any part into a schema. */
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
  // Without the pattern nobody knows which properties are additional.
  const gone = unnamed ? ["patternProperties", "additionalProperties", "unevaluatedProperties"] : [];
  const left = Object.entries(value).filter(
    ([key, item]) =>
      !gone.includes(key) && !(key === "pattern" && typeof item === "string" && costly.has(item)),
  );
  return Object.fromEntries(left.map(([key, item]) => [key, without(item, costly)]));
}

/** How many texts and names a value contains, by length in UTF-16 units, rounded up to a power of two. */
function sizesOf(value: Json, sizes = new Map<number, number>()): Map<number, number> {
  const count = (text: string): void => {
    const size = text.length === 0 ? 0 : 2 ** Math.ceil(Math.log2(text.length));
    sizes.set(size, (sizes.get(size) ?? 0) + 1);
  };
  if (typeof value === "string") count(value);
  else if (Array.isArray(value)) for (const item of value) sizesOf(item, sizes);
  else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      count(key);
      sizesOf(item, sizes);
    }
  }
  return sizes;
}
