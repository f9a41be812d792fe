/** What is asked of JSON values everywhere. Pure. */
import type { JsonObject } from "./manifest.ts";

/** Whether a value, parsed from JSON, is an object: neither `null` nor a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The object itself; anything else counts as one without members. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
