/** The input of a skill, as the body of a call. */
import { type Bytes, type Call, isBytes, NOT_ACCEPTED } from "./transport.ts";

/** Text, bytes and forms are sent unchanged. Any other value is JSON: `{input: value}`. `object` takes interfaces, too. */
export type SkillInput = string | Bytes | object | number | boolean | null | undefined;

/**
 * @param files ids of stored files for the run
 * @throws TypeError for files together with bytes or a form, which Hull could not take, and for what is neither of these
 *   nor JSON, such as a stream or a `Map`
 */
export function inputBody(
  input: SkillInput,
  files: readonly string[] = [],
): Pick<Call, "json" | "body" | "headers"> {
  if (files.length === 0 && isBytes(input)) return { body: input };
  checkJson(input);
  const given = input === undefined ? {} : { input };
  if (files.length > 0) return { json: { ...given, files } };
  if (typeof input === "string")
    return { body: input, headers: { "content-type": "text/plain; charset=utf-8" } };
  return input === undefined ? {} : { json: given };
}

/** The same for a route that answers GET, which takes neither bytes nor files. */
export function inputQuery(
  input: SkillInput,
  files: readonly string[] = [],
): Pick<Call, "query" | "headers"> {
  if (files.length > 0) throw new TypeError("A call with the method GET takes no stored files.");
  checkJson(input);
  if (!isObject(input) || Array.isArray(input)) return { query: { input: text(input) } };
  return { query: Object.fromEntries(Object.entries(input).map(([name, value]) => [name, text(value)])) };
}

/** @throws TypeError for a value that JSON would lose */
function checkJson(input: SkillInput): void {
  if (isBytes(input)) {
    throw new TypeError(
      "Stored files and the method GET go with text or a JSON value, not with bytes or a form.",
    );
  }
  const isJson =
    typeof input !== "function" &&
    (!isObject(input) ||
      Array.isArray(input) ||
      !(input instanceof Promise || Symbol.iterator in input || Symbol.asyncIterator in input));
  if (!isJson) throw new TypeError(NOT_ACCEPTED);
}

const text = (value: unknown): string | undefined =>
  value === undefined || typeof value === "string" ? value : JSON.stringify(value);

const isObject = (input: SkillInput): input is object => typeof input === "object" && input !== null;
