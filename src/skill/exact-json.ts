/**
 * Reads and writes JSON text without changing its numbers: a double holds some 16 digits, and ids in JSON often have
 * more. Pure.
 */
import { wellFormedJson } from "../bytes.ts";
import { isObject, objectOf } from "./json.ts";
import { parsedJson } from "./json-depth.ts";
import type { Json, JsonObject } from "./manifest.ts";

declare global {
  interface JSON {
    /** What `JSON.stringify` writes as this text. TypeScript does not know the function yet. */
    rawJSON(text: string): JsonObject;
    isRawJSON(value: unknown): boolean;
  }
}

/**
 * Only a text with so many digits in a row can hold a number that a double changes. What stands before a number keeps out
 * Base64, which has them by chance.
 */
const MAY_LOSE = /(?:^|[\s:,["])-?(?:[\d.]{16}|[\d.]+[eE][-+]?\d{3})/;
const ONE_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/**
 * A part of a JSON text as compact JSON, as `JSON.stringify` writes it, except that numbers which a double would change
 * keep their digits.
 * @param text valid JSON
 * @param part the part, as parsed
 * @param pick finds it in the parsed text
 */
export function compactPart(text: string, part: Json, pick: (value: Json) => Json): string {
  return JSON.stringify(MAY_LOSE.test(text) ? pick(JSON.parse(text, withDigits)) : part);
}

/**
 * A value as compact JSON. A number is written as in `text` if the text has the same number in the same place and a
 * double would change it. Half a surrogate pair becomes U+FFFD.
 * @param text JSON from which the value was made, perhaps with changes; anything else counts as none
 * @param pick finds the value's place in the parsed text
 */
export function exactJson(
  value: Json,
  text: string,
  pick: (sent: Json) => Json | undefined = (sent) => sent,
): string {
  return wellFormedJson(withSentDigits(value, text, pick));
}

/** The same as a value that `JSON.stringify` writes so. */
export function withSentDigits<T extends Json>(
  value: T,
  text: string,
  pick?: (sent: Json) => Json | undefined,
): T;
export function withSentDigits(
  value: Json,
  text: string,
  pick: (sent: Json) => Json | undefined = (sent) => sent,
): Json {
  const sent = MAY_LOSE.test(text) ? parsedJson(text, withDigits) : undefined;
  return sent === undefined ? value : asSent(value, pick(sent));
}

/** A reviver for `JSON.parse`, which passes the source of a number: one that a double would change keeps it. */
function withDigits(...[, value, context]: unknown[]): unknown {
  const { source } = objectOf(context);
  return typeof value === "number" && typeof source === "string" && !isKept(source)
    ? JSON.rawJSON(source)
    : value;
}

/** The value with the numbers that were sent. */
function asSent(value: Json, sent: Json | undefined): Json {
  if (typeof value === "number" || value === null) {
    // A number may have been sent as a text, and JSON has `null` for one that is too large for a double.
    const digits = isObject(sent) ? sent.rawJSON : sent;
    if (typeof digits !== "string" || !ONE_NUMBER.test(digits) || isKept(digits)) return value;
    return JSON.stringify(Number(digits)) === JSON.stringify(value) ? JSON.rawJSON(digits) : value;
  }
  if (Array.isArray(value)) {
    return Array.isArray(sent) ? value.map((item, n) => asSent(item, sent[n])) : value;
  }
  if (!isObject(value) || !isObject(sent)) return value;
  const own = (name: string): Json | undefined => (Object.hasOwn(sent, name) ? sent[name] : undefined);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, asSent(item, own(name))]));
}

/** Whether a number of a JSON text has the same value as a double. */
function isKept(number: string): boolean {
  const value = Number(number);
  return Number.isFinite(value) && decimal(String(value)) === decimal(number);
}

/** The digits of a number without zeros around them, and the power of ten that they count; without its sign. */
function decimal(number: string): string {
  const [, whole = "", fraction = "", exponent = "0"] =
    /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  let end = digits.length;
  while (digits[end - 1] === "0") end--;
  return end === 0
    ? "0"
    : `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
