/**
 * How deep JSON from outside may nest: code that walks or prints a deeper value would exhaust the stack (RFC 8259 §9).
 */
import { unmarkedUtf8 } from "../bytes.ts";
import { isObject } from "./json.ts";
import type { Json, JsonObject } from "./manifest.ts";

/** Arrays and objects inside one another. */
export const MAX_JSON_DEPTH = 256;

/** Whether a value nests deeper than `MAX_JSON_DEPTH`. Level by level, without recursion. */
export function nestsTooDeep(value: Json): boolean {
  let level = nested([value]);
  for (let depth = 0; depth < MAX_JSON_DEPTH && level.length > 0; depth++) {
    level = level.flatMap((outer) => nested(Object.values(outer)));
  }
  return level.length > 0;
}

const nested = (members: readonly Json[]) => members.filter((m) => typeof m === "object" && m !== null);

/** Parses JSON text; `undefined` if it is not JSON, or nests too deep. @param reviver as for `JSON.parse` */
export function parsedJson(text: string, reviver?: (...given: unknown[]) => unknown): Json | undefined {
  try {
    const value: Json = JSON.parse(text, reviver);
    // A shorter text cannot hold so many brackets and their ends.
    return text.length > 2 * MAX_JSON_DEPTH && nestsTooDeep(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** The same for a file: UTF-8, with or without a byte order mark. */
export function parsedFile(bytes: Uint8Array): Json | undefined {
  const text = unmarkedUtf8(bytes);
  return text === null ? undefined : parsedJson(text);
}

/** `parsedJson` for an object; `null` for anything else. */
export function parsedObject(text: string): JsonObject | null {
  const value = parsedJson(text);
  return isObject(value) ? value : null;
}

/** The value of a JSON text, any other text itself. */
export function jsonOrText(text: string): Json {
  const value = parsedJson(text);
  return value === undefined ? text : value;
}
