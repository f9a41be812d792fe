/** The input of a skill, as the body of a call. */
import type { Body, Call } from "./transport.ts";

/** Text, bytes and forms are sent unchanged. Any other value is JSON: `{input: value}`. `object` takes interfaces, too. */
export type SkillInput =
  | string
  | Blob
  | FormData
  | ArrayBuffer
  | ArrayBufferView<ArrayBuffer>
  | object
  | number
  | boolean
  | null
  | undefined;

/**
 * @param files ids of stored files for the run
 * @throws TypeError for files together with bytes or a form, which Hull could not take, and for what is neither of these
 *   nor JSON, such as a stream or a `Map`
 */
export function inputBody(
  input: SkillInput,
  files: readonly string[] = [],
): Pick<Call, "json" | "body" | "headers"> {
  const given = input === undefined ? {} : { input };
  if (files.length > 0) {
    if (isBytes(input))
      throw new TypeError("Stored files go with text or a JSON value, not with bytes or a form.");
    return { json: { ...given, files } };
  }
  if (typeof input === "string")
    return { body: input, headers: { "content-type": "text/plain; charset=utf-8" } };
  if (isBytes(input)) return { body: input };
  if (
    isObject(input) &&
    !Array.isArray(input) &&
    (Symbol.iterator in input || Symbol.asyncIterator in input)
  ) {
    throw new TypeError(
      "Pass text, bytes, a form or a JSON value; a stream, a Map or the like is not accepted.",
    );
  }
  return input === undefined ? {} : { json: given };
}

/** The same for a route that answers GET. */
export function inputQuery(input: SkillInput): Pick<Call, "query" | "headers"> {
  if (!isObject(input) || Array.isArray(input)) return { query: { input: text(input) } };
  return { query: Object.fromEntries(Object.entries(input).map(([name, value]) => [name, text(value)])) };
}

const text = (value: unknown): string | undefined =>
  value === undefined || typeof value === "string" ? value : JSON.stringify(value);

const isObject = (input: SkillInput): input is object => typeof input === "object" && input !== null;

const isBytes = (input: SkillInput): input is Exclude<Body, string> =>
  input instanceof Blob ||
  input instanceof FormData ||
  input instanceof ArrayBuffer ||
  ArrayBuffer.isView(input);
