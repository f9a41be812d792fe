/** JSON text whose numbers survive being read: a double holds some 16 digits, ids in JSON often have more. Pure. */
import type { Json } from "../skill/manifest.ts";

/** Only a text with such a run can hold a number that a double changes. */
const MAY_LOSE = /[\d.]{16}|[eE][-+]?\d{3}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/**
 * A part of a JSON text as compact JSON, as `JSON.stringify` writes it, except for numbers that a double would change:
 * those stay as they were sent.
 * @param text valid JSON
 * @param part the part, as parsed
 * @param pick finds it in the parsed text
 */
export function compactPart(text: string, part: Json, pick: (value: Json) => Json): string {
  const compact = JSON.stringify(part);
  if (!MAY_LOSE.test(text)) return compact;
  // Such a number passes through the parser as a string that begins as no other string does.
  const mark = "#".repeat(longestRun(compact) + 1);
  const marked = outsideStrings(text, (between) =>
    between.replace(NUMBER, (number) => (isKept(number) ? number : `"${mark}${number}"`)),
  );
  return JSON.stringify(pick(JSON.parse(marked))).replace(new RegExp(`"${mark}([^"]*)"`, "g"), "$1");
}

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
