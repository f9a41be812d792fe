/**
 * Reads and writes JSON text without changing its numbers: a double holds some 16 digits, and ids in JSON often have
 * more. Pure.
 */
import { isObject } from "./json.ts";
import { parsedJson } from "./json-depth.ts";
import type { Json } from "./manifest.ts";

/** Only a text with so many digits in a row can hold a number that a double changes. */
const MAY_LOSE = /[\d.]{16}|[eE][-+]?\d{3}/;
const ONE_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/**
 * A part of a JSON text as compact JSON, as `JSON.stringify` writes it, except that numbers which a double would change
 * keep their digits.
 * @param text valid JSON
 * @param part the part, as parsed
 * @param pick finds it in the parsed text
 */
export function compactPart(text: string, part: Json, pick: (value: Json) => Json): string {
  const compact = JSON.stringify(part);
  if (!MAY_LOSE.test(text)) return compact;
  const mark = markFor(compact);
  return unmarked(JSON.stringify(pick(JSON.parse(marked(text, mark)))), mark);
}

/**
 * A value as compact JSON. A number is written as in `text` if the text has the same number in the same place and a
 * double would change it.
 * @param text JSON from which the value was made, perhaps with changes; anything else counts as none
 * @param pick finds the value's place in the parsed text
 */
export function exactJson(
  value: Json,
  text: string,
  pick: (sent: Json) => Json | undefined = (sent) => sent,
): string {
  const compact = JSON.stringify(value);
  if (!MAY_LOSE.test(text)) return compact;
  const mark = markFor(compact + text);
  const sent = parsedJson(marked(text, mark));
  const place = sent === undefined ? undefined : pick(sent);
  return place === undefined ? compact : unmarked(JSON.stringify(asSent(value, place, mark)), mark);
}

/** The value with the marked numbers that were sent. */
function asSent(value: Json, sent: Json | undefined, mark: string): Json {
  if (typeof value === "number") {
    // A number may have been sent as a text.
    const digits = typeof sent !== "string" ? "" : sent.startsWith(mark) ? sent.slice(mark.length) : sent;
    const same = ONE_NUMBER.test(digits) && Number(digits) === value && !isKept(digits);
    return same ? mark + digits : value;
  }
  if (Array.isArray(value)) {
    return Array.isArray(sent) ? value.map((item, n) => asSent(item, sent[n], mark)) : value;
  }
  if (!isObject(value) || !isObject(sent)) return value;
  const own = (name: string): Json | undefined => (Object.hasOwn(sent, name) ? sent[name] : undefined);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, asSent(item, own(name), mark)]),
  );
}

/** The beginning of a string that holds a number: no string of the text begins with it. */
const markFor = (text: string): string => "#".repeat(longestRun(text) + 1);

/** The text with each number that a double would change as a string. */
const marked = (text: string, mark: string): string =>
  outsideStrings(text, (between) =>
    between.replace(NUMBER, (number) => (isKept(number) ? number : `"${mark}${number}"`)),
  );

const unmarked = (text: string, mark: string): string =>
  text.replace(new RegExp(`"${mark}([^"]*)"`, "g"), "$1");

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/#+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/** Changes the parts of a JSON text between its strings. */
function outsideStrings(text: string, change: (between: string) => string): string {
  const parts: string[] = [];
  let at = 0;
  for (;;) {
    const opens = text.indexOf('"', at);
    parts.push(change(text.slice(at, opens < 0 ? undefined : opens)));
    if (opens < 0) return parts.join("");
    at = opens + 1;
    while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    at++;
    parts.push(text.slice(opens, at));
  }
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
