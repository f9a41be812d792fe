/** Shapes of members that requests of several vendors have, and the reader of such requests. */
import * as z from "zod/mini";
import { checked } from "../engine/fault.ts";
import { InvalidRequest } from "../errors/llm.ts";
import { isObject, objectOf } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

/**
 * Reads a value in a vendor's shape.
 * @param path of the value in the request; empty: it is the body
 * @throws InvalidRequest for its first fault
 */
export function readShape<T>(shape: z.ZodMiniType<T>, value: unknown, path = ""): T {
  const parsed = checked(shape, value);
  if (parsed.success) return parsed.data;
  const [fault] = parsed.error.issues.map(faultOf);
  const within = fault?.path.map(String) ?? [];
  throw wrong([path, ...within].filter((part) => part !== "").join("."), fault?.message ?? "");
}

/** A union without words of its own has the fault of its last member, which is the one with members. */
function faultOf(issue: z.core.$ZodIssue): { path: PropertyKey[]; message: string } {
  const last =
    issue.code === "invalid_union" && issue.message === "Invalid input"
      ? issue.errors.at(-1)?.[0]
      : undefined;
  if (last === undefined) return issue;
  const { path, message } = faultOf(last);
  return { path: [...issue.path, ...path], message };
}

/** A member that counts as absent if it has another type. */
export const lenient = <T>(shape: z.ZodMiniType<T>) => z.catch(z.nullish(shape), undefined);
/** A list, or none. */
export const listOf = <T>(item: z.ZodMiniType<T>) => z.nullish(z.array(item, "a list is expected"));
/** An object of this shape; a value of another type counts as an empty object. */
export const loosely = <T>(shape: z.ZodMiniType<T>) =>
  z.pipe(
    z.transform((value): unknown => objectOf(value)),
    shape,
  );
/** An object, not copied. @param words what the error says for a value of another type */
export const object = (words: string) => z.custom<JsonObject>(isObject, words);
/** A required string. @param words what the error says if it is missing */
export const requiredText = (words = "a string is required") => z.string(words);
/** A text, or none. */
export const text = () => z.nullish(z.string("a string is expected"));
/** A number, or none. */
export const number = () => z.nullish(z.number("a number is expected"));
/** A boolean, or none. */
export const flag = () => z.nullish(z.boolean("true or false is expected"));
/** A text or several, or none. */
export const texts = () =>
  z.nullish(z.union([z.string(), z.array(z.string())], "a string or a list of strings is expected"));

/** The name of the model. */
export function modelName() {
  const words = "the name of a model is required";
  return z.string(words).check(z.minLength(1, words));
}

/** The messages of a request as they came: the reader of their conversation reads each. */
export function messageList() {
  const words = "a list with at least one message is required";
  return z.array(z.custom<Json>(), words).check(z.minLength(1, words));
}

/** A limit of output tokens. */
export function tokens() {
  const words = "a whole number above 0 is required";
  return z.int(words).check(z.positive(words));
}

/** Whether the shape of a body has a member of this name. */
export const hasMember = (shape: z.ZodMiniLazy<z.ZodMiniObject>, name: string): boolean =>
  Object.hasOwn(shape._zod.innerType.shape, name);

/** @param option e.g. `messages.0.content`. @param what a phrase without its full stop */
export const wrong = (option: string, what: string): InstanceType<typeof InvalidRequest> =>
  new InvalidRequest({ option, detail: `${option}: ${what}.` });

/** @throws InvalidRequest if the member is not a text */
export function textMember(of: JsonObject, name: string, path: string): string {
  const value = of[name];
  if (typeof value === "string") return value;
  throw wrong(`${path}.${name}`, "a string is required");
}
