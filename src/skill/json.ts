/** What is asked of JSON values everywhere. Pure. */
import type { Json, JsonObject } from "./manifest.ts";

/** Whether a value, parsed from JSON, is an object: neither `null` nor a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An object without the members that are `null`; of a list the same for each of its objects. Deeper ones are left as they are. */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? withoutNulls(item) : item));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

/** The object itself; anything else counts as one without members. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
