/** Questions about JSON values that many files ask. Pure. */
import type { Json, JsonObject } from "./manifest.ts";

/** Whether a value, parsed from JSON, is an object: neither `null` nor a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An object without its `null` members. Deeper objects stay unchanged. */
export const withoutNullMembers = (given: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(given).filter(([, member]) => member !== null));

/** The same for any value; for a list, for each of its objects. */
export function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? withoutNullMembers(item) : item));
  return isObject(value) ? withoutNullMembers(value) : value;
}

/** The members that are set: neither `undefined` nor `null`, no empty text and no empty list. */
export function present<T extends object>(members: T): { [N in keyof T]?: NonNullable<T[N]> } {
  const set: unknown[][] = Object.entries(members).filter(([, value]) => !isEmpty(value));
  return Object.fromEntries(set);
}

const isEmpty = (value: unknown): boolean =>
  value == null || value === "" || (Array.isArray(value) && value.length === 0);

/** The members that are set: types in which a member may be absent do not take `undefined` in its place. */
export function defined<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> };
export function defined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** The object itself; anything else becomes an object without members. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** The text itself; anything else becomes the empty text. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

export const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** The texts in a list from outside; `null`: it is not a list. */
export const textsIn = (value: unknown): string[] | null =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : null;

/** The member of a record under a name from outside, which may also be that of a member that every object inherits. */
export const own = <T>(record: { readonly [name: string]: T }, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/**
 * A value in the form in which JSON holds it: a copy without `undefined`. The compiler does not accept an interface as
 * JSON, since other files could add members to it.
 */
export const asJson = <T extends Json = JsonObject>(value: unknown): T => JSON.parse(JSON.stringify(value));

/**
 * A copy of JSON with the type that Hull wrote it with, or whose shape has been checked: the types inside are trusted.
 */
export const fromJson = <T>(value: unknown): T => JSON.parse(JSON.stringify(value));
